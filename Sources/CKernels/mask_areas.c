#include <string.h>

#include "mask.h"

/// Bits behind the point: of values along a row while they are made, of a row's values, and of the way from one row to another. With 12
/// bits of samples, those of the last two fit into 32 together.
enum { STEP_BITS = 16, LINE_BITS = 6, WAY_BITS = 12 };

/// How many blocks lie side by side on a length.
static inline int blocks(int length, int block) { return length < 2 * block ? 1 : length / block; }

/// How long a block is.
static inline int span(int index, int count, int block, int length) {
    return index + 1 == count ? length - index * block : block;
}

/// Twice the place of a block's middle.
static inline int middle(int index, int count, int block, int length) {
    return 2 * index * block + span(index, count, block, length) - 1;
}

/// The rounded mean of a block, from the sums of its columns.
static inline int32_t mean(const uint32_t *sums, int width, int height) {
    uint32_t sum = 0;
    for (int x = 0; x < width; x++) sum += sums[x];
    const uint32_t count = (uint32_t)width * (uint32_t)height;
    return (int32_t)((sum + count / 2) / count);
}

/// Makes a row of values from the means of a row of blocks.
static void stretch(int32_t *line, const uint32_t *sums, int width, int height, int block) {
    const int columns = blocks(width, block);
    int32_t here = mean(sums, span(0, columns, block, width), height);
    int x = 0;
    for (; 2 * x < middle(0, columns, block, width); x++) line[x] = here << LINE_BITS;
    for (int c = 0; c + 1 < columns; c++) {
        const int32_t next = mean(sums + (c + 1) * block, span(c + 1, columns, block, width), height);
        const int from = middle(c, columns, block, width), to = middle(c + 1, columns, block, width);
        // Places are in halves of samples.
        const int32_t step = (next - here) * (1 << STEP_BITS) / (to - from);
        int32_t value = (here << STEP_BITS) + step * (2 * x - from);
        for (; 2 * x < to; x++, value += 2 * step) line[x] = value >> (STEP_BITS - LINE_BITS);
        here = next;
    }
    for (; x < width; x++) line[x] = here << LINE_BITS;
}

#define SAMPLE uint8_t
#define NAME(function) function##8
#include "mask_samples.h"
#undef SAMPLE
#undef NAME

#define SAMPLE uint16_t
#define NAME(function) function##16
#include "mask_samples.h"
