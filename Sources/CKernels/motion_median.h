// Medians of vectors, four at a time: x and y separately.
#pragma once

#include <string.h>

#include "motion.h"

/// Four vectors' x and y in turn.
typedef int16_t burnish_motion_four __attribute__((vector_size(16)));

static inline burnish_motion_four burnish_motion_load_four(const burnish_motion_vector *vectors) {
    burnish_motion_four v;
    memcpy(&v, vectors, sizeof v);
    return v;
}

static inline void burnish_motion_order(burnish_motion_four *a, burnish_motion_four *b) {
    const burnish_motion_four low = __builtin_elementwise_min(*a, *b);
    *b = __builtin_elementwise_max(*a, *b);
    *a = low;
}

/// The medians of the 3x3 neighbourhoods of four vectors that follow each other, by 19 exchanges (Smith, Implementing median filters
/// in XC4000E FPGAs, 1996).
/// - rows: three rows, each from the first one's left neighbour on. Six vectors of each are read.
static inline void burnish_motion_medians(burnish_motion_vector *out, const burnish_motion_vector *const *rows) {
    burnish_motion_four v[9];
    for (int i = 0; i < 9; i++) v[i] = burnish_motion_load_four(rows[i / 3] + i % 3);
    static const uint8_t exchanges[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2},
                                             {4, 5}, {7, 8}, {0, 3}, {5, 8}, {4, 7}, {3, 6}, {1, 4},
                                             {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
#pragma clang loop unroll(full)
    for (int i = 0; i < 19; i++) burnish_motion_order(v + exchanges[i][0], v + exchanges[i][1]);
    memcpy(out, v + 4, sizeof v[4]);
}
