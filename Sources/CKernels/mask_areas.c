#include "mask.h"

/// Values between samples are times this: 12 bits of samples, twice these 8, and the sign fit into 32.
enum { ONE = 256, FINE = 4096 };

int burnish_mask_blocks(int length, int block) { return length < 2 * block ? 1 : length / block; }

/// How long a block is.
static inline int span(int index, int count, int block, int length) {
    return index + 1 == count ? length - index * block : block;
}

/// Twice the place of a block's middle.
static inline int middle(int index, int count, int block, int length) {
    return 2 * index * block + span(index, count, block, length) - 1;
}

#define SAMPLE uint8_t
#define NAME(function) function##8
#include "mask_samples.h"
#undef SAMPLE
#undef NAME

#define SAMPLE uint16_t
#define NAME(function) function##16
#include "mask_samples.h"
