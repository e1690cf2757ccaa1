// Sharpening a plane: each sample gets a part of its difference from the mean of its four neighbours, within bounds
// (unsharp masking; the blur is the smallest cross).
#pragma once

#include <stdint.h>

enum {
    /// The strongest `amount`: the whole difference.
    BURNISH_SHARPEN_FULL = 16,
    /// The most that a sample may change, so that edges get no wide halos.
    BURNISH_SHARPEN_LIMIT = 24,
};

typedef struct {
    /// out[x] = clamp(row[x] + clamp((amount · (4 row[x] − row[x − 1] − row[x + 1] − above[x] − below[x]) + 32) >> 6,
    /// −LIMIT, LIMIT)) for x < width; amount is 0 ... FULL. Reads one sample at each side of `row`; writes only
    /// `width`. `out` must not be one of the other rows.
    void (*row)(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, int amount);
} burnish_sharpen_kernels;
