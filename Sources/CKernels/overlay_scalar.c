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

void burnish_overlay_mix(uint8_t *out, const uint8_t *cover, uint8_t low, uint8_t high, int width) {
    for (int x = 0; x < width; x++) {
        const uint16_t sum = (uint16_t)(low * (255 - cover[x]) + high * cover[x]);
        const uint16_t rounded = (uint16_t)(sum + 128);
        out[x] = (uint8_t)((uint16_t)(rounded + (rounded >> 8)) >> 8);
    }
}

void burnish_overlay_halve(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x++) {
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
    }
}

void burnish_overlay_most(uint8_t *out, const uint8_t *other, int width) {
    for (int x = 0; x < width; x++) out[x] = out[x] > other[x] ? out[x] : other[x];
}
