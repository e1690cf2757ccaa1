// What the AVX2 kernels of the fusion network share.
#pragma once

#include <immintrin.h>
#include <string.h>

#include "fusion.h"
#include "target.h"

BURNISH_TARGET_AVX2

static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline __m128i load_half(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline void store_half(void *p, __m128i v) { _mm_storeu_si128((__m128i *)p, v); }

/// Two neighbouring channels of a pixel, in every lane.
static inline __m256i pair(const int16_t *p) {
    int32_t both;
    memcpy(&both, p, sizeof both);
    return _mm256_set1_epi32(both);
}

/// Results of 8 or 16 outputs of a pixel.
static inline __m256i finish(__m256i v, const int16_t *added, int positive) {
    if (added) v = _mm256_adds_epi16(v, load(added));
    return positive ? _mm256_max_epi16(v, _mm256_setzero_si256()) : v;
}

BURNISH_TARGET_END

/// Like `pair` of up to 2 · BURNISH_FUSION_TILES pixels, by way of what is not zero alone.
/// - Returns: whether it was done: where little is zero it is not worth it.
int burnish_fusion_sparse_pair_avx2(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added,
                                    int positive, int width, const burnish_fusion_layer *layer, void *scratch);
/// Like `layer` of up to BURNISH_FUSION_TILES pixels, in the same way.
int burnish_fusion_sparse_layer_avx2(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive,
                                     int width, const burnish_fusion_layer *layer);
