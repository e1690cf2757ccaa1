#include <stdlib.h>
#include <string.h>

#include "motion_place.h"

/// Catmull-Rom at a phase in 1/64; the taps sum to 16384.
static void cubic(int f, int *taps) {
    int f2 = f * f, f3 = f2 * f;
    taps[0] = (-f3 + 2 * 64 * f2 - 64 * 64 * f) >> 5;
    taps[2] = (-3 * f3 + 4 * 64 * f2 + 64 * 64 * f) >> 5;
    taps[3] = (f3 - 64 * f2) >> 5;
    taps[1] = 16384 - taps[0] - taps[2] - taps[3];
}

void burnish_motion_make_taps(burnish_motion_taps *table, int weight) {
    for (int f = 0; f < 64; f++) {
        int taps[4], nearest = f < 32 ? 1 : 2, rest = 64;
        cubic(f, taps);
        for (int i = 0; i < 4; i++) {
            table->horizontal[f][i] = (int8_t)((taps[i] + 128) >> 8);
            rest -= table->horizontal[f][i];
        }
        table->horizontal[f][nearest] += rest;
        for (int p = 0; p < 2; p++) {
            int share = p ? weight : 256 - weight;
            rest = 64 * share;
            for (int i = 0; i < 4; i++) {
                table->vertical[p][f][i] = (int16_t)((taps[i] * share + 128) >> 8);
                rest -= table->vertical[p][f][i];
            }
            table->vertical[p][f][nearest] += rest;
        }
    }
}

void burnish_motion_make_windows(int16_t *windows, int size) {
    int columns = size < 8 ? 1 : size / 8;
    for (int set = 0; set < BURNISH_MOTION_WINDOWS; set++)
        for (int column = 0; column < columns; column++)
            for (int y = 0; y < size; y++)
                for (int x = 0; x < 8; x++) {
                    int fx = 2 * (8 * column + x) + 1, fy = 2 * y + 1, sum = 0;
                    if (fx > 2 * size) fx = 2 * size;
                    for (int corner = 0; corner < 4; corner++)
                        if (set >> corner & 1)
                            sum += (corner & 1 ? fx : 2 * size - fx) * (corner & 2 ? fy : 2 * size - fy);
                    sum = sum * (8192 / size) / size;
                    *windows++ = (int16_t)(sum > 32767 ? 32767 : sum);
                }
}

static int scaled(int v, int shift) { return shift < 0 ? v >> -shift : v * (1 << shift); }

/// Writes one block from the cells at its corners. Cells with nearly the same motion count as one.
static void synthesise(const burnish_motion_synthesis *s, int column, int row, int x, int y, int width, int height) {
    int left = burnish_clamp(column - 1, 0, s->columns - 1), right = burnish_clamp(column, 0, s->columns - 1);
    int upper = burnish_clamp(row - 1, 0, s->rows - 1), lower = burnish_clamp(row, 0, s->rows - 1);
    const burnish_motion_cell *corners[4] = {
        s->cells + upper * s->columns + left, s->cells + upper * s->columns + right,
        s->cells + lower * s->columns + left, s->cells + lower * s->columns + right};
    burnish_motion_vector vectors[4], bends[4];
    int sets[4], count = 0;
    // Nearly the same: less than 1/8 of this plane's samples apart.
    const int alike = s->shift > 0 ? 8 >> s->shift : 8;
    for (int k = 0; k < 4; k++) {
        burnish_motion_vector v = corners[k]->vector, b = corners[k]->bend;
        int i = 0;
        while (i < count && (abs(vectors[i].x - v.x) >= alike || abs(vectors[i].y - v.y) >= alike ||
                             abs(bends[i].x - b.x) >= alike || abs(bends[i].y - b.y) >= alike))
            i++;
        if (i == count) vectors[count] = v, bends[count] = b, sets[count] = 0, count++;
        sets[i] |= 1 << k;
    }

    const int columns = (width + 7) / 8, span = (s->size < 8 ? 8 : s->size) * s->size;
    int16_t predictions[4][BURNISH_MOTION_BLOCK * BURNISH_MOTION_BLOCK];
    for (int k = 0; k < count; k++) {
        int vx = scaled(vectors[k].x, s->shift), vy = scaled(vectors[k].y, s->shift);
        int ax = ((vx * s->phase + 128) >> 8) - scaled(bends[k].x, s->shift);
        int ay = ((vy * s->phase + 128) >> 8) - scaled(bends[k].y, s->shift);
        for (int c = 0; c < columns; c++) {
            burnish_motion_block block;
            for (int p = 0; p < 2; p++) {
                int px = (x + 8 * c - 1) * 64 + (p ? vx - ax : -ax), py = (y - 1) * 64 + (p ? vy - ay : -ay);
                burnish_motion_place place = burnish_motion_find(&s->planes[p], px, py, height + 3);
                block.at[p] = place.at;
                block.stride[p] = s->planes[p].stride;
                memcpy(block.horizontal[p], s->taps->horizontal[place.x], sizeof block.horizontal[p]);
                memcpy(block.vertical[p], s->taps->vertical[p][place.y], sizeof block.vertical[p]);
            }
            s->kernels->predict(predictions[k] + c * 8 * s->size, &block, height);
        }
    }
    for (int c = 0; c < columns; c++) {
        const int16_t *sources[4], *windows[4];
        for (int k = 0; k < count; k++) {
            sources[k] = predictions[k] + c * 8 * s->size;
            windows[k] = s->windows + sets[k] * span + c * 8 * s->size;
        }
        int rest = width - 8 * c;
        s->kernels->blend(s->out + y * s->out_stride + x + 8 * c, s->out_stride, sources, windows, count,
                          rest < 8 ? rest : 8, height);
    }
}

void burnish_motion_synthesise_rows(const burnish_motion_synthesis *s, int first, int last) {
    const int width = s->planes[0].width, height = s->planes[0].height;
    for (int row = first; row < last; row++) {
        int y = row * s->size - s->size / 2, end = y + s->size;
        y = y < 0 ? 0 : y, end = end > height ? height : end;
        if (y >= end) continue;
        for (int column = 0; column <= s->columns; column++) {
            int x = column * s->size - s->size / 2, stop = x + s->size;
            x = x < 0 ? 0 : x, stop = stop > width ? width : stop;
            if (x < stop) synthesise(s, column, row, x, y, stop - x, end - y);
        }
    }
}
