// The lookup of one colour, and of rows sample by sample: the reference, and what is left of a row behind whole vectors.
#pragma once

#include "CKernels.h"

enum { COLOR_U = BURNISH_COLOR_NODES, COLOR_V = COLOR_U * COLOR_U, COLOR_STEP = BURNISH_COLOR_STEP };

/// Where a colour lies: the node below it, the two nodes between that and the one above on the way through the tetrahedron, and the
/// weights of the four, which add up to a step.
typedef struct {
    int node[4], weight[4];
} burnish_color_place;

static inline burnish_color_place burnish_color_find(int y, int u, int v) {
    const int fy = y % COLOR_STEP, fu = u % COLOR_STEP, fv = v % COLOR_STEP;
    const int base = y / COLOR_STEP + COLOR_U * (u / COLOR_STEP) + COLOR_V * (v / COLOR_STEP);
    const int most = fy > fu ? (fy > fv ? fy : fv) : (fu > fv ? fu : fv);
    const int least = fy < fu ? (fy < fv ? fy : fv) : (fu < fv ? fu : fv);
    const int middle = fy + fu + fv - most - least;
    // The axis with the largest fraction goes first, the one with the least last. Of equal ones Y goes before U, and U before V.
    const int first = fy == most ? 1 : fu == most ? COLOR_U : COLOR_V;
    const int last = fv == least ? COLOR_V : fu == least ? COLOR_U : 1;
    const int all = base + 1 + COLOR_U + COLOR_V;
    return (burnish_color_place){{base, base + first, all - last, all},
                                 {COLOR_STEP - most, most - middle, middle - least, least}};
}

static inline uint8_t burnish_color_narrow(int32_t sum, int dither) {
    const int32_t value = (sum / COLOR_STEP + dither) / BURNISH_COLOR_ONE;
    return (uint8_t)(value > 255 ? 255 : value);
}

static inline int burnish_color_sample(const void *row, int x, int is_deep) {
    if (!is_deep) return 4 * ((const uint8_t *)row)[x];
    const int value = ((const uint16_t *)row)[x];
    return value > 1023 ? 1023 : value;
}

static inline uint8_t burnish_color_luma(const burnish_color_table *table, int y, int u, int v, int dither) {
    const burnish_color_place at = burnish_color_find(y, u, v);
    int32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += at.weight[i] * table->y[at.node[i]];
    return burnish_color_narrow(sum, dither);
}

/// Looks up two rows, from an even column on.
static inline void burnish_color_rows_from(const burnish_color_table *table, burnish_color_rows rows, int x, int width,
                                           int is_deep) {
    for (; x < width; x += 2) {
        const int right = x + 1 < width ? x + 1 : x;
        const int u = burnish_color_sample(rows.from_u, x / 2, is_deep),
                  v = burnish_color_sample(rows.from_v, x / 2, is_deep);
        const int y[4] = {
            burnish_color_sample(rows.from_y0, x, is_deep),
            burnish_color_sample(rows.from_y0, right, is_deep),
            burnish_color_sample(rows.from_y1, x, is_deep),
            burnish_color_sample(rows.from_y1, right, is_deep),
        };
        const burnish_color_place at = burnish_color_find((y[0] + y[1] + y[2] + y[3] + 2) / 4, u, v);
        int32_t sum_u = 0, sum_v = 0;
        for (int i = 0; i < 4; i++) {
            sum_u += at.weight[i] * (int32_t)(table->uv[at.node[i]] & 0xffff);
            sum_v += at.weight[i] * (int32_t)(table->uv[at.node[i]] >> 16);
        }
        rows.y0[x] = burnish_color_luma(table, y[0], u, v, rows.dither0[x % 8]);
        rows.y1[x] = burnish_color_luma(table, y[2], u, v, rows.dither1[x % 8]);
        if (right > x) {
            rows.y0[right] = burnish_color_luma(table, y[1], u, v, rows.dither0[right % 8]);
            rows.y1[right] = burnish_color_luma(table, y[3], u, v, rows.dither1[right % 8]);
        }
        rows.u[x / 2] = burnish_color_narrow(sum_u, rows.dither0[x / 2 % 8]);
        rows.v[x / 2] = burnish_color_narrow(sum_v, rows.dither0[x / 2 % 8]);
    }
}
