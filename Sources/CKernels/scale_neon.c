#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "families.h"

/// 8 sums with 6 fractional bits.
static inline __attribute__((always_inline)) int16x8_t vertical_block(const uint8_t *const *rows,
                                                                      const int16_t *coefficients, int taps, int x) {
    int32x4_t low = vdupq_n_s32(0), high = low;
    for (int k = 0; k < taps; k++) {
        const int16x8_t v = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(rows[k] + x)));
        low = vmlal_n_s16(low, vget_low_s16(v), coefficients[k]);
        high = vmlal_n_s16(high, vget_high_s16(v), coefficients[k]);
    }
    return vcombine_s16(vrshrn_n_s32(low, 8), vrshrn_n_s32(high, 8));
}

static inline __attribute__((always_inline)) void vertical_row(int16_t *out, const uint8_t *const *rows,
                                                               const int16_t *coefficients, int taps, int width) {
    int x = 0;
    for (; x + 8 <= width; x += 8) vst1q_s16(out + x, vertical_block(rows, coefficients, taps, x));
    // The caller's rows may be read only to their end, so copy the rest before reading it as a vector.
    if (x == width) return;
    uint8_t ends[8][8] = {{0}};
    const uint8_t *copies[8];
    for (int k = 0; k < taps; k++) copies[k] = memcpy(ends[k], rows[k] + x, (size_t)(width - x));
    int16_t block[8];
    vst1q_s16(block, vertical_block(copies, coefficients, taps, 0));
    memcpy(out + x, block, (size_t)(width - x) * sizeof *out);
}

static void vertical(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int taps, int width) {
    if (taps == 4) vertical_row(out, rows, coefficients, 4, width);
    else vertical_row(out, rows, coefficients, 8, width);
}

/// One phase of 8 samples.
static inline __attribute__((always_inline)) uint8x8_t horizontal_block(const int16_t *in, const int16_t *coefficients,
                                                                        int taps) {
    int32x4_t low = vdupq_n_s32(0), high = low;
    for (int k = 0; k < taps; k++) {
        const int16x8_t v = vld1q_s16(in + k);
        low = vmlal_n_s16(low, vget_low_s16(v), coefficients[k]);
        high = vmlal_n_s16(high, vget_high_s16(v), coefficients[k]);
    }
    const int32x4_t round = vdupq_n_s32(1 << 19);
    const int32x4_t a = vshrq_n_s32(vaddq_s32(low, round), 20), b = vshrq_n_s32(vaddq_s32(high, round), 20);
    return vqmovun_s16(vcombine_s16(vmovn_s32(a), vmovn_s32(b)));
}

/// 8 samples to 16.
static inline __attribute__((always_inline)) uint8x8x2_t doubled_block(const int16_t *in,
                                                                       const burnish_scale_filter *filter, int taps) {
    const uint8x8x2_t both = {{horizontal_block(in - taps / 2, filter->horizontal[0], taps),
                               horizontal_block(in - taps / 2 + 1, filter->horizontal[1] + 1, taps)}};
    return both;
}

static inline __attribute__((always_inline)) void horizontal_row(uint8_t *out, const int16_t *in,
                                                                 const burnish_scale_filter *filter, int taps,
                                                                 int width) {
    int x = 0;
    for (; x + 8 <= width; x += 8) vst2_u8(out + 2 * x, doubled_block(in + x, filter, taps));
    if (x == width) return;
    uint8_t block[16];
    vst2_u8(block, doubled_block(in + x, filter, taps));
    memcpy(out + 2 * x, block, 2 * (size_t)(width - x));
}

static void horizontal(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width) {
    if (filter->taps == 4) horizontal_row(out, in, filter, 4, width);
    else horizontal_row(out, in, filter, 8, width);
}

void burnish_scale_init_neon(burnish_scale_kernels *kernels) {
    kernels->vertical = vertical;
    kernels->horizontal = horizontal;
}
#endif
