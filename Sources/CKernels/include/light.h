// Sums of pictures in light, which coded samples are a curve of. Plain C: nearly all of it is tables, which vectors do not help with.
#pragma once

#include <stdint.h>

/// How much light each code of luma stands for, and back.
typedef struct {
    /// 256 amounts, which grow with each code.
    const uint16_t *light;
    /// 256 times light over luma of a code, where 8192 is that of white. More than 0, at most 16384.
    const uint16_t *share;
    /// The code that is nearest to each of 65536 amounts of light.
    const uint8_t *code;
} burnish_light_table;

/// sum[x] += weight · light of in[x] for x < width. The weights of a sum are at most 256 together.
void burnish_light_add(uint32_t *sum, const uint8_t *in, burnish_light_table table, int weight, int width);
/// out[x] = code of (sum[x] + 128) / 256 for x < width.
void burnish_light_mean(uint8_t *out, const uint32_t *sum, burnish_light_table table, int width);

/// The two rows of luma that a row of chroma belongs to; they are `width` long.
typedef struct {
    const uint8_t *upper, *lower;
    int width;
} burnish_light_luma;

/// sum[x] += weight · share · (in[x] - 128) for all samples of a row of chroma, where `share` is that of the mean of their luma.
void burnish_light_add_chroma(int32_t *sum, const uint8_t *in, burnish_light_luma luma, burnish_light_table table,
                              int weight);
/// out[x] = 128 + sum[x] / (256 · share), rounded and clamped, where `luma` is what came out.
void burnish_light_mean_chroma(uint8_t *out, const int32_t *sum, burnish_light_luma luma, burnish_light_table table);
