#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX512

/// Samples in a block.
enum { BLOCK = 32 };

/// Two neighbouring coefficients in every 32-bit lane, as vpdpwssd wants them.
static inline __m512i pair(const int16_t *c) {
    int32_t both;
    memcpy(&both, c, 4);
    return _mm512_set1_epi32(both);
}

static inline __m512i widen(const uint8_t *p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p));
}

/// Rows are interleaved in pairs so that one vpdpwssd does two taps.
static inline void vertical_block(int16_t *out, const uint8_t *const *rows, const __m512i *c, int pairs, int x) {
    __m512i low = _mm512_set1_epi32(128), high = low;
    for (int k = 0; k < pairs; k++) {
        const __m512i a = widen(rows[2 * k] + x), b = widen(rows[2 * k + 1] + x);
        low = _mm512_dpwssd_epi32(low, _mm512_unpacklo_epi16(a, b), c[k]);
        high = _mm512_dpwssd_epi32(high, _mm512_unpackhi_epi16(a, b), c[k]);
    }
    _mm512_storeu_si512(out + x, _mm512_packs_epi32(_mm512_srai_epi32(low, 8), _mm512_srai_epi32(high, 8)));
}

static inline __attribute__((always_inline)) void vertical_row(int16_t *out, const uint8_t *const *rows,
                                                               const int16_t *coefficients, int pairs, int width) {
    __m512i c[4];
    for (int k = 0; k < pairs; k++) c[k] = pair(coefficients + 2 * k);
    int x = 0;
    for (; x + BLOCK <= width; x += BLOCK) vertical_block(out, rows, c, pairs, x);
    if (x == width) return;
    if (width >= BLOCK) {
        // The last block overlaps the one before: nothing outside of the row is read or written.
        vertical_block(out, rows, c, pairs, width - BLOCK);
        return;
    }
    uint8_t copies[8][BLOCK];
    const uint8_t *narrow[8];
    int16_t block[BLOCK];
    for (int k = 0; k < 2 * pairs; k++) {
        memset(copies[k], 0, BLOCK);
        memcpy(copies[k], rows[k], (size_t)width);
        narrow[k] = copies[k];
    }
    vertical_block(block, narrow, c, pairs, 0);
    memcpy(out, block, (size_t)width * sizeof(int16_t));
}

static void vertical(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int taps, int width) {
    if (taps == 8) vertical_row(out, rows, coefficients, 4, width);
    else vertical_row(out, rows, coefficients, 2, width);
}

/// Twice as many output samples, both phases from the same loads.
static inline __m512i horizontal_block(const int16_t *in, const __m512i even[5], const __m512i odd[5], int pairs) {
    __m512i even_low = _mm512_set1_epi32(1 << 19), even_high = even_low, odd_low = even_low, odd_high = even_low;
    for (int k = 0; k < pairs; k++) {
        const int16_t *p = in - (pairs - 1) + 2 * k;
        const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 1);
        const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
        even_low = _mm512_dpwssd_epi32(even_low, low, even[k]);
        even_high = _mm512_dpwssd_epi32(even_high, high, even[k]);
        odd_low = _mm512_dpwssd_epi32(odd_low, low, odd[k]);
        odd_high = _mm512_dpwssd_epi32(odd_high, high, odd[k]);
    }
    const __m512i e = _mm512_packs_epi32(_mm512_srai_epi32(even_low, 20), _mm512_srai_epi32(even_high, 20));
    const __m512i o = _mm512_packs_epi32(_mm512_srai_epi32(odd_low, 20), _mm512_srai_epi32(odd_high, 20));
    return _mm512_unpacklo_epi8(_mm512_packus_epi16(e, e), _mm512_packus_epi16(o, o));
}

static inline __attribute__((always_inline)) void horizontal_row(uint8_t *out, const int16_t *in,
                                                                 const burnish_scale_filter *filter, int pairs,
                                                                 int width) {
    __m512i even[5], odd[5];
    for (int k = 0; k < pairs; k++) {
        even[k] = pair(filter->horizontal[0] + 2 * k);
        odd[k] = pair(filter->horizontal[1] + 2 * k);
    }
    int x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        _mm512_storeu_si512(out + 2 * x, horizontal_block(in + x, even, odd, pairs));
    if (x == width) return;
    uint8_t block[2 * BLOCK];
    _mm512_storeu_si512(block, horizontal_block(in + x, even, odd, pairs));
    memcpy(out + 2 * x, block, 2 * (size_t)(width - x));
}

static void horizontal(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width) {
    if (filter->taps == 8) horizontal_row(out, in, filter, 5, width);
    else horizontal_row(out, in, filter, 3, width);
}

void burnish_scale_init_avx512(burnish_scale_kernels *kernels) {
    kernels->vertical = vertical;
    kernels->horizontal = horizontal;
}

BURNISH_TARGET_END
#endif
