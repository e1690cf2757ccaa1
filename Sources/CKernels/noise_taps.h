// The constants of the noise filter's transform and windows, in 1/32768.
#pragma once

#include "noise.h"

enum {
    /// Forward, columns: half of the orthonormal transform.
    NOISE_C0 = 5793, // 1 / (2 sqrt 8)
    NOISE_C1 = 8035,
    NOISE_C2 = 7568,
    NOISE_C3 = 6811,
    NOISE_C5 = 4551,
    NOISE_C6 = 3135,
    NOISE_C7 = 1598,
    /// The slope of shrinkage above the threshold, less 1.
    NOISE_SLOPE = 29318,
    NOISE_LEAST_SAMPLE = -2048,
    NOISE_LARGEST_SAMPLE = 255 * 16 - 2048,
};

/// Catmull-Rom at each 16th of a sample. The largest stands for 1.
extern const int16_t burnish_noise_taps[BURNISH_NOISE_PHASES][4];
/// The squared sine over the block, across and down.
extern const int16_t burnish_noise_window[64];
