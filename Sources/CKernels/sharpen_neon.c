#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "families.h"

/// 8 samples.
static inline uint8x8_t block(const uint8_t *above, const uint8_t *row, const uint8_t *below, int16_t amount) {
    const int16x8_t limit = vdupq_n_s16(BURNISH_SHARPEN_LIMIT);
    const uint8x8_t centre = vld1_u8(row);
    const uint16x8_t around = vaddq_u16(vaddl_u8(vld1_u8(row - 1), vld1_u8(row + 1)),
                                        vaddl_u8(vld1_u8(above), vld1_u8(below)));
    const int16x8_t difference = vreinterpretq_s16_u16(vsubq_u16(vshll_n_u8(centre, 2), around));
    const int16x8_t change = vrshrq_n_s16(vmulq_n_s16(difference, amount), 6);
    const int16x8_t limited = vminq_s16(vmaxq_s16(change, vnegq_s16(limit)), limit);
    return vqmovun_s16(vaddq_s16(vreinterpretq_s16_u16(vmovl_u8(centre)), limited));
}

static void row(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, int amount) {
    int x = 0;
    for (; x + 8 <= width; x += 8) vst1_u8(out + x, block(above + x, row + x, below + x, (int16_t)amount));
    if (x == width) return;
    // The caller's rows may be read only to their end, so copy the rest before reading it as a vector.
    const size_t left = (size_t)(width - x);
    uint8_t ends[3][10] = {{0}}, last[8];
    memcpy(ends[0], above + x, left);
    memcpy(ends[1], row + x - 1, left + 2);
    memcpy(ends[2], below + x, left);
    vst1_u8(last, block(ends[0], ends[1] + 1, ends[2], (int16_t)amount));
    memcpy(out + x, last, left);
}

void burnish_sharpen_init_neon(burnish_sharpen_kernels *kernels) { kernels->row = row; }
#endif
