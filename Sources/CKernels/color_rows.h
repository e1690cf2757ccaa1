// The lookup of one colour, and of rows sample by sample: the reference.
#pragma once

#include "CKernels.h"

enum { COLOR_Y = 1, COLOR_U = 2, COLOR_V = 4, COLOR_STEP = BURNISH_COLOR_STEP, COLOR_NODES = BURNISH_COLOR_NODES };

/// Where a colour lies: its cell, the numbers of the corners on the way through the tetrahedron from the lowest to the highest, and their
/// weights, which add up to a step.
typedef struct {
    int cell, corner[4], weight[4];
} burnish_color_place;

static inline burnish_color_place burnish_color_find(int y, int u, int v) {
    const int fy = y % COLOR_STEP, fu = u % COLOR_STEP, fv = v % COLOR_STEP;
    const int cell = y / COLOR_STEP + 32 * (u / COLOR_STEP) + 1024 * (v / COLOR_STEP);
    const int most = fy > fu ? (fy > fv ? fy : fv) : (fu > fv ? fu : fv);
    const int least = fy < fu ? (fy < fv ? fy : fv) : (fu < fv ? fu : fv);
    const int middle = fy + fu + fv - most - least;
    // The axis with the largest fraction goes first, the one with the least last. Of equal ones Y goes before U, and U before V.
    const int first = fy == most ? COLOR_Y : fu == most ? COLOR_U : COLOR_V;
    const int last = fv == least ? COLOR_V : fu == least ? COLOR_U : COLOR_Y;
    return (burnish_color_place){
        cell, {0, first, 7 - last, 7}, {COLOR_STEP - most, most - middle, middle - least, least}};
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

/// Where a sample of chroma lies between the nodes.
static inline int burnish_color_chroma(const burnish_color_table *table, int sample) {
    const int distance = sample < 512 ? 512 - sample : sample - 512;
    const int inner = distance < table->knee ? distance : table->knee;
    const int place = (inner * table->inner + 2048) / 4096 + ((distance - inner) * table->outer + 2048) / 4096;
    return 512 + (sample < 512 ? -place : place);
}

static inline uint8_t burnish_color_value(const int16_t *cells, burnish_color_place at, int dither) {
    int32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += at.weight[i] * cells[8 * at.cell + at.corner[i]];
    return burnish_color_narrow(sum, dither);
}

static inline uint8_t burnish_color_luma(const burnish_color_table *table, int y, int u, int v, int dither) {
    return burnish_color_value(table->y, burnish_color_find(y, u, v), dither);
}

/// Looks up two rows.
static inline void burnish_color_rows_plain(const burnish_color_table *table, burnish_color_rows rows, int width,
                                            int is_deep) {
    for (int x = 0; x < width; x += 2) {
        const int right = x + 1 < width ? x + 1 : x;
        const int u = burnish_color_chroma(table, burnish_color_sample(rows.from_u, x / 2, is_deep)),
                  v = burnish_color_chroma(table, burnish_color_sample(rows.from_v, x / 2, is_deep));
        const int y[4] = {
            burnish_color_sample(rows.from_y0, x, is_deep),
            burnish_color_sample(rows.from_y0, right, is_deep),
            burnish_color_sample(rows.from_y1, x, is_deep),
            burnish_color_sample(rows.from_y1, right, is_deep),
        };
        const burnish_color_place at = burnish_color_find((y[0] + y[1] + y[2] + y[3] + 2) / 4, u, v);
        rows.y0[x] = burnish_color_luma(table, y[0], u, v, rows.dither0[x % 8]);
        rows.y1[x] = burnish_color_luma(table, y[2], u, v, rows.dither1[x % 8]);
        if (right > x) {
            rows.y0[right] = burnish_color_luma(table, y[1], u, v, rows.dither0[right % 8]);
            rows.y1[right] = burnish_color_luma(table, y[3], u, v, rows.dither1[right % 8]);
        }
        rows.u[x / 2] = burnish_color_value(table->u, at, rows.dither0[x / 2 % 8]);
        rows.v[x / 2] = burnish_color_value(table->v, at, rows.dither0[x / 2 % 8]);
    }
}
