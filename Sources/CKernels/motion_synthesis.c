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

/// - shares: each plane's, in 1/256.
static void make_taps(burnish_motion_taps *table, const int *shares) {
    for (int f = 0; f < 64; f++) {
        int taps[4], nearest = f < 32 ? 1 : 2, rest = 64;
        cubic(f, taps);
        for (int i = 0; i < 4; i++) {
            table->horizontal[f][i] = (int8_t)((taps[i] + 128) >> 8);
            rest -= table->horizontal[f][i];
        }
        table->horizontal[f][nearest] += rest;
        for (int p = 0; p < 2; p++) {
            rest = 64 * shares[p];
            for (int i = 0; i < 4; i++) {
                table->vertical[p][f][i] = (int16_t)((taps[i] * shares[p] + 128) >> 8);
                rest -= table->vertical[p][f][i];
            }
            table->vertical[p][f][nearest] += rest;
        }
    }
}

void burnish_motion_make_taps(burnish_motion_taps *table, int weight) {
    make_taps(table, (const int[]){256 - weight, weight});
}

void burnish_motion_make_taps_of_each(burnish_motion_taps *table) { make_taps(table, (const int[]){256, 256}); }

static int scaled(int v, int shift) { return shift < 0 ? v >> -shift : v * (1 << shift); }

/// A motion: its vector, and its bend.
typedef int16_t motion __attribute__((vector_size(8)));

static motion motion_of(burnish_motion_vector vector, burnish_motion_vector bend) {
    const burnish_motion_vector both[2] = {vector, bend};
    motion m;
    memcpy(&m, both, sizeof m);
    return m;
}

/// The different motions of a block, each with its shares at the four corners.
typedef struct {
    int count;
    motion motion[BURNISH_MOTION_PREDICTIONS];
    int share[BURNISH_MOTION_PREDICTIONS][4];
} motions;

/// Whether two motions are less than `limit` apart, in all of their numbers.
static int is_alike(motion a, motion b, motion limit) {
    const motion apart = __builtin_elementwise_sub_sat(a, b), beyond = apart >= limit | apart <= -limit;
    uint64_t any;
    memcpy(&any, &beyond, sizeof any);
    return !any;
}

/// Adds a motion at a corner. One that is less than `alike` from another counts as that.
static void add(motions *m, burnish_motion_vector v, burnish_motion_vector bend, motion alike, int corner, int share) {
    if (!share) return;
    const motion new = motion_of(v, bend);
    int i = 0;
    while (i < m->count && !is_alike(m->motion[i], new, alike)) i++;
    if (i == m->count) {
        m->motion[i] = new;
        memset(m->share[i], 0, sizeof m->share[i]);
        m->count++;
    }
    m->share[i][corner] += share;
}

/// Collects the motions of the cells at a block's corners, the cells' own ones first.
static void collect(motions *m, const burnish_motion_cell *const *corners, const burnish_motion_synthesis *s) {
    static const burnish_motion_vector none = {0, 0};
    // Others count less.
    const int16_t least = (int16_t)(s->alike * (s->shift > 0 ? 16 >> s->shift : 16));
    const motion alike = {least, least, least, least}, roughly = 4 * alike;
    m->count = 0;
    for (int k = 0; k < 4; k++)
        add(m, corners[k]->vector, corners[k]->bend, alike, k,
            s->others ? corners[k]->share[0] : BURNISH_MOTION_SHARES);
    for (int k = 0; k < 4 && s->others; k++) {
        const burnish_motion_cell *cell = corners[k];
        for (int j = 0; j < 2; j++) add(m, cell->other[j], cell->bend, roughly, k, cell->share[1 + j]);
        add(m, none, none, roughly, k, cell->share[3]);
    }
}

/// The bilinear window of a motion's shares at the corners, for a column of 8 samples of a block.
static burnish_motion_window window(const int *share, int column, int size) {
    const int unit = 8192 / size / BURNISH_MOTION_SHARES, x = 16 * column + 1, rest = 2 * size - x;
    // Weights at the left and right corners, twice the distances, in the first row and from row to row.
    const int left = (2 * size - 1) * share[0] + share[2], right = (2 * size - 1) * share[1] + share[3];
    const int left_step = 2 * (share[2] - share[0]), right_step = 2 * (share[3] - share[1]);
    burnish_motion_window w = {(int16_t)(unit * (rest * left + x * right) / size),
                               (int16_t)(unit * 2 * (right - left) / size),
                               (int16_t)(unit * (rest * left_step + x * right_step) / size),
                               (int16_t)(unit * 2 * (right_step - left_step) / size)};
    return w;
}

/// Whether nothing moves in a block.
static int is_still(const motions *m) {
    uint64_t any;
    memcpy(&any, m->motion, sizeof any);
    return m->count == 1 && !any;
}

/// One row of both planes as they lie, by their shares: what prediction and blending come to where nothing moves.
static void blend_still(uint8_t *out, const uint8_t *a, const uint8_t *b, const burnish_motion_taps *taps, int width) {
    const int first = taps->vertical[0][0][1], second = taps->vertical[1][0][1];
    for (int x = 0; x < width; x++)
        out[x] = (uint8_t)((((64 * a[x] * first + 0x4000) >> 15) + ((64 * b[x] * second + 0x4000) >> 15) + 16) >> 5);
}

static void copy_still(const burnish_motion_synthesis *s, int x, int y, int width, int height) {
    for (int end = y + height; y < end; y++) {
        const uint8_t *a = s->planes[0].origin + y * s->planes[0].stride + x;
        const uint8_t *b = s->planes[1].origin + y * s->planes[1].stride + x;
        uint8_t *out = s->out + y * s->out_stride + x;
        if (!s->second) {
            blend_still(out, a, b, s->taps, width);
            continue;
        }
        memcpy(out, a, (size_t)width);
        memcpy(s->second + y * s->second_stride + x, b, (size_t)width);
    }
}

/// Writes one block from the cells at its corners.
static void synthesise(const burnish_motion_synthesis *s, int column, int row, int x, int y, int width, int height) {
    int left = burnish_clamp(column - 1, 0, s->columns - 1), right = burnish_clamp(column, 0, s->columns - 1);
    int upper = burnish_clamp(row - 1, 0, s->rows - 1), lower = burnish_clamp(row, 0, s->rows - 1);
    const burnish_motion_cell *corners[4] = {
        s->cells + upper * s->columns + left, s->cells + upper * s->columns + right,
        s->cells + lower * s->columns + left, s->cells + lower * s->columns + right};
    motions m;
    collect(&m, corners, s);
    if (is_still(&m)) {
        copy_still(s, x, y, width, height);
        return;
    }

    const int columns = (width + 7) / 8;
    // Of both planes together, or of each.
    int16_t predictions[2][BURNISH_MOTION_PREDICTIONS][BURNISH_MOTION_BLOCK * BURNISH_MOTION_BLOCK];
    for (int k = 0; k < m.count; k++) {
        int vx = scaled(m.motion[k][0], s->shift), vy = scaled(m.motion[k][1], s->shift);
        int ax = ((vx * s->phase + 128) >> 8) - scaled(m.motion[k][2], s->shift);
        int ay = ((vy * s->phase + 128) >> 8) - scaled(m.motion[k][3], s->shift);
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
            int16_t *out = predictions[0][k] + c * 8 * s->size, *second = predictions[1][k] + c * 8 * s->size;
            if (s->second) s->kernels->predict_each(out, second, &block, height);
            else s->kernels->predict(out, &block, height);
        }
    }
    for (int c = 0; c < columns; c++) {
        const int16_t *sources[2][BURNISH_MOTION_PREDICTIONS];
        burnish_motion_window windows[BURNISH_MOTION_PREDICTIONS];
        for (int k = 0; k < m.count; k++) {
            for (int p = 0; p < 2; p++) sources[p][k] = predictions[p][k] + c * 8 * s->size;
            if (m.count > 1) windows[k] = window(m.share[k], c, s->size);
        }
        int rest = width - 8 * c, count = rest < 8 ? rest : 8;
        s->kernels->blend(s->out + y * s->out_stride + x + 8 * c, s->out_stride, sources[0], windows, m.count, count,
                          height);
        if (s->second)
            s->kernels->blend(s->second + y * s->second_stride + x + 8 * c, s->second_stride, sources[1], windows,
                              m.count, count, height);
    }
}

/// Whether somebody needs some of these samples.
static int is_needed(const burnish_motion_synthesis *s, int x, int y, int stop, int end) {
    if (!s->numbers) return 1;
    for (int row = y >> 3; row <= (end - 1) >> 3; row++)
        for (int column = x >> 3; column <= (stop - 1) >> 3; column++)
            if (s->numbers[row * s->number_columns + column] <= s->most) return 1;
    return 0;
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
            if (x < stop && is_needed(s, x, y, stop, end)) synthesise(s, column, row, x, y, stop - x, end - y);
        }
    }
}
