// Where samples are read for a place that may lie outside of its plane.
#pragma once

#include "motion.h"

static inline int burnish_clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

/// A place in a plane: a pointer to the sample, and the fraction in 1/64.
typedef struct {
    const uint8_t *at;
    int x, y;
} burnish_motion_place;

/// The place x, y (in 1/64) of a block of `height` rows of 16 samples, moved toward the plane until all of it lies
/// within the margin. Its samples stay nearly the same, because everything that far out repeats the edge.
static inline burnish_motion_place burnish_motion_find(const burnish_motion_plane *plane, int x, int y, int height) {
    const int margin = BURNISH_MOTION_MARGIN;
    x = burnish_clamp(x, -margin * 64, (plane->width + margin - 16) * 64);
    y = burnish_clamp(y, -margin * 64, (plane->height + margin - height) * 64);
    burnish_motion_place place = {plane->origin + (y >> 6) * plane->stride + (x >> 6), x & 63, y & 63};
    return place;
}
