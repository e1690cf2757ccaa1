#if defined(__x86_64__)
#include <immintrin.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

/// 16 products of bytes, divided by 255.
static inline __m256i part(__m256i samples, __m256i rest) {
    const __m256i product = _mm256_add_epi16(_mm256_mullo_epi16(samples, rest), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(product, _mm256_srli_epi16(product, 8)), 8);
}

static void row(uint8_t *out, const uint8_t *light, const uint8_t *rest, int width) {
    const __m256i zero = _mm256_setzero_si256();
    int x = 0;
    for (; x + 32 <= width; x += 32) {
        const __m256i samples = _mm256_loadu_si256((const __m256i *)(out + x));
        const __m256i stays = _mm256_loadu_si256((const __m256i *)(rest + x));
        const __m256i low = part(_mm256_unpacklo_epi8(samples, zero), _mm256_unpacklo_epi8(stays, zero));
        const __m256i high = part(_mm256_unpackhi_epi8(samples, zero), _mm256_unpackhi_epi8(stays, zero));
        const __m256i over = _mm256_loadu_si256((const __m256i *)(light + x));
        _mm256_storeu_si256((__m256i *)(out + x), _mm256_adds_epu8(over, _mm256_packus_epi16(low, high)));
    }
    for (; x < width; x++) {
        const uint32_t product = (uint32_t)out[x] * rest[x] + 128;
        const uint32_t sum = light[x] + ((product + (product >> 8)) >> 8);
        out[x] = (uint8_t)(sum < 255 ? sum : 255);
    }
}

void burnish_overlay_init_avx2(burnish_overlay_kernels *kernels) { kernels->row = row; }

BURNISH_TARGET_END
#endif
