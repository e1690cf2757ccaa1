#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

/// Two neighbouring coefficients in every 32-bit lane, for vpmaddwd.
static inline __m256i pair(const int16_t *c) {
    int32_t both;
    memcpy(&both, c, 4);
    return _mm256_set1_epi32(both);
}

static inline __m256i widen(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }

/// Does 16 samples. Rows are interleaved in pairs, so that one vpmaddwd does two taps.
static inline void vertical_block(int16_t *out, const uint8_t *const *rows, const __m256i *c, int pairs, int x) {
    const __m256i round = _mm256_set1_epi32(128);
    __m256i low = round, high = round;
    for (int k = 0; k < pairs; k++) {
        const __m256i a = widen(rows[2 * k] + x), b = widen(rows[2 * k + 1] + x);
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), c[k]));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), c[k]));
    }
    _mm256_storeu_si256((__m256i *)(out + x),
                        _mm256_packs_epi32(_mm256_srai_epi32(low, 8), _mm256_srai_epi32(high, 8)));
}

static inline void vertical_row(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int pairs,
                                int width) {
    __m256i c[4];
    for (int k = 0; k < pairs; k++) c[k] = pair(coefficients + 2 * k);
    int x = 0;
    for (; x + 16 <= width; x += 16) vertical_block(out, rows, c, pairs, x);
    if (x == width) return;
    if (width >= 16) {
        // The last block overlaps the one before, so that nothing outside of the row is read or written.
        vertical_block(out, rows, c, pairs, width - 16);
        return;
    }
    uint8_t copies[8][16];
    const uint8_t *narrow[8];
    int16_t block[16];
    for (int k = 0; k < 2 * pairs; k++) {
        memset(copies[k], 0, 16);
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

/// Does 16 input samples, 32 output samples. In memory a row's samples are already pairs in 32-bit lanes. So loads from
/// consecutive samples give the pairs of every second sample, for the even phase of one sample and the odd phase of the
/// one before.
static inline __m256i horizontal_block(const int16_t *in, const __m256i *even, const __m256i *odd, int pairs) {
    const __m256i round = _mm256_set1_epi32(1 << 19);
    // Both phases of the samples 0, 2, 4 ..., then of the samples 1, 3, 5 ....
    __m256i even_first = round, odd_first = round, even_second = round, odd_second = round;
    for (int k = 0; k < pairs; k++) {
        const int16_t *p = in - pairs + 2 * k;
        const __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 1));
        const __m256i c = _mm256_loadu_si256((const __m256i *)(p + 2));
        even_first = _mm256_add_epi32(even_first, _mm256_madd_epi16(a, even[k]));
        odd_first = _mm256_add_epi32(odd_first, _mm256_madd_epi16(b, odd[k]));
        even_second = _mm256_add_epi32(even_second, _mm256_madd_epi16(b, even[k]));
        odd_second = _mm256_add_epi32(odd_second, _mm256_madd_epi16(c, odd[k]));
    }
    const __m256i e = _mm256_packs_epi32(_mm256_srai_epi32(even_first, 20), _mm256_srai_epi32(even_second, 20));
    const __m256i o = _mm256_packs_epi32(_mm256_srai_epi32(odd_first, 20), _mm256_srai_epi32(odd_second, 20));
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15));
    return _mm256_shuffle_epi8(_mm256_packus_epi16(e, o), order);
}

static inline void horizontal_row(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int pairs,
                                  int width) {
    __m256i even[4], odd[4];
    for (int k = 0; k < pairs; k++) {
        even[k] = pair(filter->horizontal[0] + 2 * k);
        odd[k] = pair(filter->horizontal[1] + 1 + 2 * k);
    }
    int x = 0;
    for (; x + 16 <= width; x += 16)
        _mm256_storeu_si256((__m256i *)(out + 2 * x), horizontal_block(in + x, even, odd, pairs));
    if (x == width) return;
    uint8_t block[32];
    _mm256_storeu_si256((__m256i *)block, horizontal_block(in + x, even, odd, pairs));
    memcpy(out + 2 * x, block, 2 * (size_t)(width - x));
}

static void horizontal(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width) {
    if (filter->taps == 8) horizontal_row(out, in, filter, 4, width);
    else horizontal_row(out, in, filter, 2, width);
}

/// The products of one new sample's taps in the lower half, and of another's in the upper half, summed in pairs.
static inline __m256i two(const int16_t *in, const int32_t *first, const int16_t *weights, int x, int other) {
    const __m256i samples = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(in + first[x]))),
        _mm_loadu_si128((const __m128i *)(in + first[other])), 1);
    const __m256i taps = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(weights + 8 * x))),
        _mm_loadu_si128((const __m128i *)(weights + 8 * other)), 1);
    return _mm256_madd_epi16(samples, taps);
}

/// 8 new samples.
static inline __m256i resample_block(const int16_t *in, const int32_t *first, const int16_t *weights, int x) {
    const __m256i a = _mm256_hadd_epi32(two(in, first, weights, x, x + 4), two(in, first, weights, x + 1, x + 5));
    const __m256i b = _mm256_hadd_epi32(two(in, first, weights, x + 2, x + 6), two(in, first, weights, x + 3, x + 7));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_hadd_epi32(a, b), _mm256_set1_epi32(1 << 19)), 20);
}

static inline void resample_eight(uint8_t *out, const int16_t *in, const int32_t *first, const int16_t *weights,
                                  int x) {
    const __m256i sums = resample_block(in, first, weights, x);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    _mm_storel_epi64((__m128i *)out, _mm_packus_epi16(words, words));
}

static void resample(uint8_t *out, const int16_t *in, const int32_t *first, const int16_t *weights, int width) {
    int x = 0;
    for (; x + 8 <= width; x += 8) resample_eight(out + x, in, first, weights, x);
    if (x == width) return;
    if (width >= 8) {
        // The last block overlaps the one before.
        resample_eight(out + width - 8, in, first, weights, width - 8);
        return;
    }
    int32_t places[8] = {0};
    int16_t taps[64] = {0};
    uint8_t block[8];
    memcpy(places, first, (size_t)width * sizeof *first);
    for (int k = width; k < 8; k++) places[k] = places[0];
    memcpy(taps, weights, (size_t)width * 8 * sizeof *weights);
    resample_eight(block, in, places, taps, 0);
    memcpy(out, block, (size_t)width);
}

void burnish_scale_init_avx2(burnish_scale_kernels *kernels) {
    kernels->vertical = vertical;
    kernels->horizontal = horizontal;
    kernels->resample = resample;
}

BURNISH_TARGET_END
#endif
