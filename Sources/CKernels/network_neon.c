#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_NEON

/// Pixels in a vector of 32-bit lanes.
enum { LANES = 4 };
/// Vectors in a block: four times as many sums, as many inputs and the weights use 25 of the 32 registers.
enum { BLOCK = 4 };

static void expand(uint8_t *out, const uint8_t *row, int width) {
    for (int x = 0; x < width; x += 16) {
        uint8x16x4_t v;
        for (int k = 0; k < 4; k++) v.val[k] = vld1q_u8(row + x + k);
        vst4q_u8(out + 4 * x, v);
    }
}

static void phases(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x += 8) {
        const uint16x8_t above = vreinterpretq_u16_u8(vld1q_u8(upper + 2 * x));
        const uint16x8_t below = vreinterpretq_u16_u8(vld1q_u8(lower + 2 * x));
        vst1q_u8(out + 4 * x, vreinterpretq_u8_u16(vzip1q_u16(above, below)));
        vst1q_u8(out + 4 * x + 16, vreinterpretq_u8_u16(vzip2q_u16(above, below)));
    }
}

/// sdot has signed inputs only, and those of a network are unsigned. So 128 is subtracted from each input, and 128
/// times the sum of an output's weights is added to its bias. Returns four outputs' biases with that sum.
static inline int32x4_t shifted_bias(const burnish_network_layer *layer, int group) {
    const int8_t *weights = layer->weights + (ptrdiff_t)group * layer->steps * 16;
    int32x4_t sum = vdupq_n_s32(0);
    for (int step = 0; step < layer->steps; step++) sum = vdotq_s32(sum, vld1q_s8(weights + 16 * step), vdupq_n_s8(1));
    return vmlaq_n_s32(vld1q_s32(layer->bias + 4 * group), sum, 128);
}

/// sums[v][c]: the four outputs of one group for BLOCK times four pixels.
static inline __attribute__((always_inline)) void convolve(int32x4_t sums[BLOCK][4], const uint8_t *const *taps,
                                                           ptrdiff_t at, const burnish_network_layer *layer, int group,
                                                           int32x4_t bias) {
    const int8_t *weights = layer->weights + (ptrdiff_t)group * layer->steps * 16;
    const uint8_t *order = layer->order + (ptrdiff_t)group * layer->steps;
    for (int v = 0; v < BLOCK; v++) {
        sums[v][0] = vdupq_laneq_s32(bias, 0);
        sums[v][1] = vdupq_laneq_s32(bias, 1);
        sums[v][2] = vdupq_laneq_s32(bias, 2);
        sums[v][3] = vdupq_laneq_s32(bias, 3);
    }
    for (int step = 0; step < layer->steps; step++) {
        const uint8_t *tap = taps[order[step]] + at;
        const int8x16_t w = vld1q_s8(weights + 16 * step);
        for (int v = 0; v < BLOCK; v++) {
            const int8x16_t in = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(tap + 4 * LANES * v), vdupq_n_u8(128)));
            sums[v][0] = vdotq_laneq_s32(sums[v][0], in, w, 0);
            sums[v][1] = vdotq_laneq_s32(sums[v][1], in, w, 1);
            sums[v][2] = vdotq_laneq_s32(sums[v][2], in, w, 2);
            sums[v][3] = vdotq_laneq_s32(sums[v][3], in, w, 3);
        }
    }
}

/// One channel's values of eight pixels before the last clamp, from their sums.
static inline int16x8_t requantise(int32x4_t low, int32x4_t high, int32x4_t shift, int16_t mult) {
    const int16x8_t t = vqmovn_high_s32(vqmovn_s32(vshlq_s32(low, shift)), vshlq_s32(high, shift));
    return vqrdmulhq_n_s16(t, mult);
}

static void layer(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                  const burnish_network_layer *layer) {
    const int32x4_t shift = vdupq_n_s32(-layer->shift);
    for (int group = 0; group < layer->groups; group++) {
        const int32x4_t bias = shifted_bias(layer, group);
        const int16_t *mult = layer->mult + 16 * group;
        for (int x = 0; x < width; x += LANES * BLOCK) {
            int32x4_t sums[BLOCK][4];
            convolve(sums, taps, 4 * (ptrdiff_t)x, layer, group, bias);
            uint8x16x4_t bytes;
            for (int c = 0; c < 4; c++)
                bytes.val[c] = vqmovun_high_s16(vqmovun_s16(requantise(sums[0][c], sums[1][c], shift, mult[4 * c])),
                                                requantise(sums[2][c], sums[3][c], shift, mult[4 * c]));
            vst4q_u8(out + plane * group + 4 * x, bytes);
        }
    }
}

static void residual(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                     const burnish_network_layer *layer) {
    const int32x4_t shift = vdupq_n_s32(-layer->shift), bias = shifted_bias(layer, 0);
    for (int x = 0; x < width; x += LANES * BLOCK) {
        int32x4_t sums[BLOCK][4];
        convolve(sums, taps, 4 * (ptrdiff_t)x, layer, 0, bias);
        for (int v = 0; v < BLOCK; v += 2) {
            int16x8_t r[4];
            for (int c = 0; c < 4; c++) r[c] = requantise(sums[v][c], sums[v + 1][c], shift, layer->mult[4 * c]);
            const int16x8x2_t first = {{r[0], r[1]}}, second = {{r[2], r[3]}};
            vst2q_s16(upper + 2 * (x + LANES * v), first);
            vst2q_s16(lower + 2 * (x + LANES * v), second);
        }
    }
}

/// -3a + 29b + 111c - 9d, rounded and shifted by 3. The sum does not fit 16 bits, but the sum less 8192 does
/// (tools/train/README.md).
static inline int16x8_t cubic_sum(uint8x8_t a, uint8x8_t b, uint8x8_t c, uint8x8_t d) {
    uint16x8_t sum = vdupq_n_u16((uint16_t)(4 - 8192));
    sum = vmlal_u8(sum, c, vdup_n_u8(111));
    sum = vmlal_u8(sum, b, vdup_n_u8(29));
    sum = vmlsl_u8(sum, d, vdup_n_u8(9));
    sum = vmlsl_u8(sum, a, vdup_n_u8(3));
    return vaddq_s16(vshrq_n_s16(vreinterpretq_s16_u16(sum), 3), vdupq_n_s16(1024));
}

static void cubic(int16_t *out, const uint8_t *row, int width) {
    for (int x = 0; x < width; x += 8) {
        uint8x8_t at[5];
        for (int k = 0; k < 5; k++) at[k] = vld1_u8(row + x - 2 + k);
        const int16x8x2_t both = {{cubic_sum(at[0], at[1], at[2], at[3]), cubic_sum(at[4], at[3], at[2], at[1])}};
        vst2q_s16(out + 2 * x, both);
    }
}

static inline int16x4_t merge_sum(int16x4_t a, int16x4_t b, int16x4_t c, int16x4_t d, const int16_t *weights) {
    int32x4_t sum = vmull_n_s16(a, weights[0]);
    sum = vmlal_n_s16(sum, b, weights[1]);
    sum = vmlal_n_s16(sum, c, weights[2]);
    return vrshrn_n_s32(vmlal_n_s16(sum, d, weights[3]), 5);
}

/// 8 samples.
static inline uint8x8_t merge_block(const int16_t *const *rows, const int16_t *weights, const int16_t *residual,
                                    int x) {
    const int16x8_t a = vld1q_s16(rows[0] + x), b = vld1q_s16(rows[1] + x);
    const int16x8_t c = vld1q_s16(rows[2] + x), d = vld1q_s16(rows[3] + x);
    const int16x8_t v = vcombine_s16(
        merge_sum(vget_low_s16(a), vget_low_s16(b), vget_low_s16(c), vget_low_s16(d), weights),
        merge_sum(vget_high_s16(a), vget_high_s16(b), vget_high_s16(c), vget_high_s16(d), weights));
    return vqshrun_n_s16(vqaddq_s16(vaddq_s16(v, vdupq_n_s16(32)), vld1q_s16(residual + x)), 6);
}

static void merge(uint8_t *out, const int16_t *const *rows, const int16_t *weights, const int16_t *residual,
                  int width) {
    int x = 0;
    for (; x + 8 <= width; x += 8) vst1_u8(out + x, merge_block(rows, weights, residual, x));
    if (x == width) return;
    uint8_t block[8];
    vst1_u8(block, merge_block(rows, weights, residual, x));
    memcpy(out + x, block, (size_t)(width - x));
}

void burnish_network_init_neon(burnish_network_kernels *kernels) {
    *kernels = (burnish_network_kernels){expand, layer, residual, cubic, merge, phases};
}

BURNISH_TARGET_END
#endif
