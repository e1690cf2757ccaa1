#include "CKernelChecks.h"
#include "cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "target.h"
#endif

static void scalar(int64_t iterations) {
    int32_t sums[4] = {0};
    for (int64_t i = 0; i < iterations; i++) {
        for (int k = 0; k < 4; k++) {
            int32_t value = k;
            __asm__ volatile("" : "+r"(value));
            sums[k] += value * value;
        }
    }
    __asm__ volatile("" : : "r"(sums) : "memory");
}

#if defined(__x86_64__)

BURNISH_TARGET_AVX2
/// vpmaddubsw and the vpaddw that goes with it, eight independent ones.
static void avx2(int64_t iterations) {
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), sums[8];
    for (int k = 0; k < 8; k++) sums[k] = _mm256_setzero_si256();
    for (int64_t i = 0; i < iterations; i++) {
        __asm__ volatile("" : "+x"(a), "+x"(b));
#pragma clang loop unroll(full)
        for (int k = 0; k < 8; k++) {
            // Opaque, or the compiler would see that all eight products are the same.
            __m256i product;
            __asm__ volatile("vpmaddubsw %2, %1, %0" : "=x"(product) : "x"(a), "x"(b));
            sums[k] = _mm256_add_epi16(sums[k], product);
        }
    }
    for (int k = 0; k < 8; k++) __asm__ volatile("" : : "x"(sums[k]));
}
BURNISH_TARGET_END

BURNISH_TARGET_AVX512
/// vpdpbusd, 16 independent ones.
static void avx512(int64_t iterations) {
    __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5), sums[16];
    for (int k = 0; k < 16; k++) sums[k] = _mm512_setzero_si512();
    for (int64_t i = 0; i < iterations; i++) {
        __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma clang loop unroll(full)
        for (int k = 0; k < 16; k++) sums[k] = _mm512_dpbusd_epi32(sums[k], a, b);
    }
    for (int k = 0; k < 16; k++) __asm__ volatile("" : : "v"(sums[k]));
}
BURNISH_TARGET_END
#endif

burnish_peak_loop burnish_peak(uint32_t features) {
#if defined(__x86_64__)
    if (features & BURNISH_CPU_AVX512) return (burnish_peak_loop){avx512, 16 * 64};
    if (features & BURNISH_CPU_AVX2) return (burnish_peak_loop){avx2, 8 * 32};
#endif
    (void)features;
    return (burnish_peak_loop){scalar, 4};
}
