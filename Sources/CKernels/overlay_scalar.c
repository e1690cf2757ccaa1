#include "families.h"

static void row(uint8_t *out, const uint8_t *light, const uint8_t *rest, int width) {
    for (int x = 0; x < width; x++) {
        // Rounded division by 255: exact for all products of two bytes.
        const uint32_t product = (uint32_t)out[x] * rest[x] + 128;
        const uint32_t sum = light[x] + ((product + (product >> 8)) >> 8);
        out[x] = (uint8_t)(sum < 255 ? sum : 255);
    }
}

void burnish_overlay_init_scalar(burnish_overlay_kernels *kernels) { kernels->row = row; }
