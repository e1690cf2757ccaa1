#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX512

/// Samples in a block of each pass.
enum { VERTICAL_BLOCK = 64, HORIZONTAL_BLOCK = 32 };

/// Two neighbouring coefficients in every 32-bit lane, for vpdpwssd.
static inline __m512i pair(const int16_t *c) {
    int32_t both;
    memcpy(&both, c, 4);
    return _mm512_set1_epi32(both);
}

/// Four neighbouring coefficients in every 32-bit lane, for vpdpbusd: each is 256 times a signed byte of `high` plus
/// one of `low`.
typedef struct {
    __m512i high, low;
} four;

static inline four split(const int16_t *c) {
    const __m128i v = _mm_loadl_epi64((const __m128i *)c);
    const __m128i high = _mm_srai_epi16(_mm_add_epi16(v, _mm_set1_epi16(128)), 8);
    const __m128i low = _mm_and_si128(v, _mm_set1_epi16(255));
    return (four){_mm512_set1_epi32(_mm_cvtsi128_si32(_mm_packs_epi16(high, high))),
                  _mm512_set1_epi32(_mm_cvtsi128_si32(_mm_packus_epi16(low, low)))};
}

/// Four rows' samples of one column in every 32-bit lane; in each quarter, part p has columns 4p ... 4p + 3 of 16.
static inline void columns(__m512i parts[4], const uint8_t *const *rows, int x) {
    const __m512i a = _mm512_loadu_si512(rows[0] + x), b = _mm512_loadu_si512(rows[1] + x);
    const __m512i c = _mm512_loadu_si512(rows[2] + x), d = _mm512_loadu_si512(rows[3] + x);
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
    parts[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    parts[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    parts[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    parts[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
}

/// One vpdpbusd does four taps with half of each coefficient. The sums of the lower halves are shifted before those of
/// the upper halves, which need no shift, are added.
static inline __attribute__((always_inline)) void vertical_block(int16_t *out, const uint8_t *const *rows,
                                                                 const four *c, int fours, int x) {
    __m512i parts[2][4], sums[4];
    // Unrolled, because otherwise the parts would go through memory.
#pragma clang loop unroll(full)
    for (int k = 0; k < fours; k++) columns(parts[k], rows + 4 * k, x);
    for (int p = 0; p < 4; p++) {
        __m512i sum = _mm512_set1_epi32(128);
        for (int k = 0; k < fours; k++) sum = _mm512_dpbusd_epi32(sum, parts[k][p], c[k].low);
        sum = _mm512_srai_epi32(sum, 8);
        for (int k = 0; k < fours; k++) sum = _mm512_dpbusd_epi32(sum, parts[k][p], c[k].high);
        sums[p] = sum;
    }
    const __m512i first = _mm512_packs_epi32(sums[0], sums[1]), second = _mm512_packs_epi32(sums[2], sums[3]);
    const __m512i lower = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i upper = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_storeu_si512(out + x, _mm512_permutex2var_epi64(first, lower, second));
    _mm512_storeu_si512(out + x + 32, _mm512_permutex2var_epi64(first, upper, second));
}

static inline __attribute__((always_inline)) void vertical_row(int16_t *out, const uint8_t *const *rows,
                                                               const int16_t *coefficients, int fours, int width) {
    four c[2];
    for (int k = 0; k < fours; k++) c[k] = split(coefficients + 4 * k);
    int x = 0;
    for (; x + VERTICAL_BLOCK <= width; x += VERTICAL_BLOCK) vertical_block(out, rows, c, fours, x);
    if (x == width) return;
    if (width >= VERTICAL_BLOCK) {
        // The last block overlaps the one before, so that nothing outside of the row is read or written.
        vertical_block(out, rows, c, fours, width - VERTICAL_BLOCK);
        return;
    }
    uint8_t copies[8][VERTICAL_BLOCK];
    const uint8_t *narrow[8];
    int16_t block[VERTICAL_BLOCK];
    for (int k = 0; k < 4 * fours; k++) {
        memset(copies[k], 0, VERTICAL_BLOCK);
        memcpy(copies[k], rows[k], (size_t)width);
        narrow[k] = copies[k];
    }
    vertical_block(block, narrow, c, fours, 0);
    memcpy(out, block, (size_t)width * sizeof(int16_t));
}

static void vertical(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int taps, int width) {
    if (taps == 8) vertical_row(out, rows, coefficients, 2, width);
    else vertical_row(out, rows, coefficients, 1, width);
}

/// Does twice as many output samples. In memory a row's samples are already pairs in 32-bit lanes. So loads from
/// consecutive samples give the pairs of every second sample, for the even phase of one sample and the odd phase of the
/// one before.
static inline __attribute__((always_inline)) __m512i horizontal_block(const int16_t *in, const __m512i *even,
                                                                      const __m512i *odd, int pairs) {
    const __m512i round = _mm512_set1_epi32(1 << 19);
    // Both phases of the samples 0, 2, 4 ..., then of the samples 1, 3, 5 ....
    __m512i even_first = round, odd_first = round, even_second = round, odd_second = round;
    for (int k = 0; k < pairs; k++) {
        const int16_t *p = in - pairs + 2 * k;
        const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 1), c = _mm512_loadu_si512(p + 2);
        even_first = _mm512_dpwssd_epi32(even_first, a, even[k]);
        odd_first = _mm512_dpwssd_epi32(odd_first, b, odd[k]);
        even_second = _mm512_dpwssd_epi32(even_second, b, even[k]);
        odd_second = _mm512_dpwssd_epi32(odd_second, c, odd[k]);
    }
    const __m512i e = _mm512_packs_epi32(_mm512_srai_epi32(even_first, 20), _mm512_srai_epi32(even_second, 20));
    const __m512i o = _mm512_packs_epi32(_mm512_srai_epi32(odd_first, 20), _mm512_srai_epi32(odd_second, 20));
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15));
    return _mm512_shuffle_epi8(_mm512_packus_epi16(e, o), order);
}

static inline __attribute__((always_inline)) void horizontal_row(uint8_t *out, const int16_t *in,
                                                                 const burnish_scale_filter *filter, int pairs,
                                                                 int width) {
    __m512i even[4], odd[4];
    for (int k = 0; k < pairs; k++) {
        even[k] = pair(filter->horizontal[0] + 2 * k);
        odd[k] = pair(filter->horizontal[1] + 1 + 2 * k);
    }
    int x = 0;
    for (; x + HORIZONTAL_BLOCK <= width; x += HORIZONTAL_BLOCK)
        _mm512_storeu_si512(out + 2 * x, horizontal_block(in + x, even, odd, pairs));
    if (x == width) return;
    uint8_t block[2 * HORIZONTAL_BLOCK];
    _mm512_storeu_si512(block, horizontal_block(in + x, even, odd, pairs));
    memcpy(out + 2 * x, block, 2 * (size_t)(width - x));
}

static void horizontal(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width) {
    if (filter->taps == 8) horizontal_row(out, in, filter, 4, width);
    else horizontal_row(out, in, filter, 2, width);
}

void burnish_scale_init_avx512(burnish_scale_kernels *kernels) {
    kernels->vertical = vertical;
    kernels->horizontal = horizontal;
}

BURNISH_TARGET_END
#endif
