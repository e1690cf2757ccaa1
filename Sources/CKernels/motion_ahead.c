#include <stdlib.h>

#include "motion_field.h"

/// The motion that leads to x, y (in 1/256 cell) at `distance` after the picture whose field to its predecessor this
/// is.
static burnish_motion_vector arriving(const burnish_motion_vector *field, int columns, int rows, int x, int y,
                                      int distance) {
    burnish_motion_vector v = burnish_motion_at(field, columns, rows, x, y);
    for (int step = 0; step < 3; step++) {
        burnish_motion_vector next = burnish_motion_at(field, columns, rows, x + ((v.x * distance + 128) >> 8),
                                                       y + ((v.y * distance + 128) >> 8));
        if (next.x == v.x && next.y == v.y) break;
        v = next;
    }
    return v;
}

/// The difference at a cell between the last picture and the one before it, moved by a vector.
static int difference(const burnish_motion_ahead *a, int column, int row, burnish_motion_vector v) {
    int x = (BURNISH_MOTION_STEP * column - 2) * 64, y = (BURNISH_MOTION_STEP * row - 2) * 64;
    burnish_motion_place p = burnish_motion_find(&a->planes[0], x + v.x, y + v.y, 9);
    burnish_motion_place q = burnish_motion_find(&a->planes[1], x, y, 9);
    return a->kernels->differ(p.at, a->planes[0].stride, p.x, p.y, q.at, a->planes[1].stride, q.x, q.y);
}

void burnish_motion_try_rows(const burnish_motion_ahead *a, int first, int last) {
    for (int row = first; row < last; row++) {
        for (int column = 0; column < a->columns; column++) {
            int32_t *trial = a->trials + 2 * (row * a->columns + column);
            burnish_motion_vector v = arriving(a->before, a->columns, a->rows, 256 * column, 256 * row, 256);
            burnish_motion_vector none = {0, 0};
            trial[0] = difference(a, column, row, v);
            trial[1] = difference(a, column, row, none);
        }
    }
}

/// How far around a cell trials count, in cells. The shorter the distance, the less harm a wrong vector does, and the
/// more harm different confidence in neighbours does.
static int reach(int distance) { return 1 + (((256 - distance) * 4 + 128) >> 8); }

/// The confidence in a cell's motion by the trials around it. 256 is full confidence.
static int confidence(const burnish_motion_ahead *a, int column, int row) {
    const int around = reach(a->distance);
    const int left = burnish_clamp(column - around, 0, a->columns),
              right = burnish_clamp(column + around + 1, 0, a->columns);
    const int upper = burnish_clamp(row - around, 0, a->rows), lower = burnish_clamp(row + around + 1, 0, a->rows);
    // The sums are of at most 121 patches of 64 samples, in 1/64 level.
    int32_t moved = 0, still = 0;
    for (int y = upper; y < lower; y++) {
        const int32_t *trials = a->trials + 2 * y * a->columns;
        for (int x = left; x < right; x++) moved += trials[2 * x], still += trials[2 * x + 1];
    }
    // Full confidence where motion lowers the difference by a third.
    int64_t gain = still - moved;
    return gain <= 0 ? 0 : gain * 3 >= still ? 256 : (int)(gain * 768 / still);
}

void burnish_motion_ahead_rows(const burnish_motion_ahead *a, int first, int last) {
    for (int row = first; row < last; row++) {
        for (int column = 0; column < a->columns; column++) {
            burnish_motion_vector v = arriving(a->last, a->columns, a->rows, 256 * column, 256 * row, a->distance);
            int x = (v.x * a->distance + 128) >> 8, y = (v.y * a->distance + 128) >> 8;
            // Read the confidence where the motion comes from.
            int trust = confidence(a, burnish_clamp(column + ((x + 128) >> 8), 0, a->columns - 1),
                                   burnish_clamp(row + ((y + 128) >> 8), 0, a->rows - 1));
            burnish_motion_cell cell = {{(int16_t)((-x * trust + 128) >> 8), (int16_t)((-y * trust + 128) >> 8)},
                                        0,
                                        (uint16_t)(256 - trust),
                                        {0, 0},
                                        {{0, 0}, {0, 0}},
                                        {BURNISH_MOTION_SHARES, 0, 0, 0}};
            a->cells[row * a->columns + column] = cell;
        }
    }
}
