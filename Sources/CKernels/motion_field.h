// Reading a field of vectors between its cells.
#pragma once

#include "motion_place.h"

/// The field at x, y in 1/256 cell: bilinear, and outside the nearest cell. A vector has the same length in 1/64 sample
/// as in 1/256 cell.
static inline burnish_motion_vector burnish_motion_at(const burnish_motion_vector *field, int columns, int rows, int x,
                                                      int y) {
    x = burnish_clamp(x, 0, (columns - 1) * 256), y = burnish_clamp(y, 0, (rows - 1) * 256);
    int column = x >> 8, row = y >> 8, fx = x & 255, fy = y & 255;
    const burnish_motion_vector *a = field + row * columns + column;
    const burnish_motion_vector *b = a + (fx ? 1 : 0), *c = a + (fy ? columns : 0), *d = c + (b - a);
    burnish_motion_vector v = {
        (int16_t)(((a->x * (256 - fx) + b->x * fx) * (256 - fy) + (c->x * (256 - fx) + d->x * fx) * fy + 32768) >> 16),
        (int16_t)(((a->y * (256 - fx) + b->y * fx) * (256 - fy) + (c->y * (256 - fx) + d->y * fx) * fy + 32768) >> 16)};
    return v;
}
