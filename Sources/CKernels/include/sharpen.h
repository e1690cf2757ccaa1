// Sharpening a plane: what it differs from the mean of its four neighbours is added to a sample in part, within bounds
// (unsharp masking with the smallest cross for a blur).
#pragma once

#include <stdint.h>

enum {
    /// `amount` at the strongest: the whole difference.
    BURNISH_SHARPEN_FULL = 16,
    /// No sample changes by more, so that edges get no wide halos.
    BURNISH_SHARPEN_LIMIT = 24,
};

typedef struct {
    /// out[x] = clamp(row[x] + clamp((amount · (4 row[x] − row[x − 1] − row[x + 1] − above[x] − below[x]) + 32) >> 6,
    /// −LIMIT, LIMIT)) for x < width; amount is 0 ... FULL. Reads one sample at each side of `row`; writes only `width`.
    /// `out` may be none of the others.
    void (*row)(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, int amount);
} burnish_sharpen_kernels;
