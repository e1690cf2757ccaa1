#include "light.h"

void burnish_light_add(uint32_t *sum, const uint8_t *in, burnish_light_table table, int weight, int width) {
    for (int x = 0; x < width; x++) sum[x] += (uint32_t)weight * table.light[in[x]];
}

void burnish_light_mean(uint8_t *out, const uint32_t *sum, burnish_light_table table, int width) {
    for (int x = 0; x < width; x++) out[x] = table.code[(sum[x] + 128) >> 8];
}

/// The share of the luma at sample x of chroma. The last sample of an odd row stands for the one beyond it.
static inline int32_t share(burnish_light_luma luma, int x, burnish_light_table table) {
    const int left = 2 * x, right = left + (left + 1 < luma.width);
    return table.share[(luma.upper[left] + luma.upper[right] + luma.lower[left] + luma.lower[right] + 2) >> 2];
}

void burnish_light_add_chroma(int32_t *sum, const uint8_t *in, burnish_light_luma luma, burnish_light_table table,
                              int weight) {
    for (int x = 0; x < (luma.width + 1) / 2; x++) sum[x] += weight * share(luma, x, table) * (in[x] - 128);
}

void burnish_light_mean_chroma(uint8_t *out, const int32_t *sum, burnish_light_luma luma, burnish_light_table table) {
    for (int x = 0; x < (luma.width + 1) / 2; x++) {
        const int32_t whole = 256 * share(luma, x, table), half = sum[x] < 0 ? -whole / 2 : whole / 2;
        const int32_t value = 128 + (sum[x] + half) / whole;
        out[x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}
