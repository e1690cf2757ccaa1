#include "families.h"

static int32_t clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

static void row(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, int amount) {
    for (int x = 0; x < width; x++) {
        const int32_t difference = 4 * row[x] - row[x - 1] - row[x + 1] - above[x] - below[x];
        const int32_t change = (amount * difference + 32) >> 6;
        out[x] = (uint8_t)clamp(row[x] + clamp(change, -BURNISH_SHARPEN_LIMIT, BURNISH_SHARPEN_LIMIT), 0, 255);
    }
}

void burnish_sharpen_init_scalar(burnish_sharpen_kernels *kernels) { kernels->row = row; }
