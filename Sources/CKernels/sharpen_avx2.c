#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

static inline __m256i words(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }

/// 16 samples.
static inline __m128i block(const uint8_t *above, const uint8_t *row, const uint8_t *below, __m256i amount) {
    const __m256i limit = _mm256_set1_epi16(BURNISH_SHARPEN_LIMIT), centre = words(row);
    const __m256i around = _mm256_add_epi16(_mm256_add_epi16(words(row - 1), words(row + 1)),
                                            _mm256_add_epi16(words(above), words(below)));
    const __m256i difference = _mm256_sub_epi16(_mm256_slli_epi16(centre, 2), around);
    __m256i change = _mm256_mullo_epi16(difference, amount);
    change = _mm256_srai_epi16(_mm256_add_epi16(change, _mm256_set1_epi16(32)), 6);
    change = _mm256_min_epi16(_mm256_max_epi16(change, _mm256_sub_epi16(_mm256_setzero_si256(), limit)), limit);
    const __m256i v = _mm256_add_epi16(centre, change);
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static void row(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, int amount) {
    const __m256i wide = _mm256_set1_epi16((int16_t)amount);
    int x = 0;
    for (; x + 16 <= width; x += 16) _mm_storeu_si128((__m128i *)(out + x), block(above + x, row + x, below + x, wide));
    if (x == width) return;
    // The caller's rows may be read only to their end, so copy the rest before reading it as a vector.
    const size_t left = (size_t)(width - x);
    uint8_t ends[3][18] = {{0}}, last[16];
    memcpy(ends[0], above + x, left);
    memcpy(ends[1], row + x - 1, left + 2);
    memcpy(ends[2], below + x, left);
    _mm_storeu_si128((__m128i *)last, block(ends[0], ends[1] + 1, ends[2], wide));
    memcpy(out + x, last, left);
}

void burnish_sharpen_init_avx2(burnish_sharpen_kernels *kernels) { kernels->row = row; }

BURNISH_TARGET_END
#endif
