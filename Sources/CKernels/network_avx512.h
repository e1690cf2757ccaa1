// How sums become pixels, for the network kernels of AVX-512 and of AMX. Only these include it.
#pragma once

#include <immintrin.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX512

/// Pixels in a vector of 32-bit lanes.
enum { LANES = 16 };

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }
static inline void store(void *p, __m512i v) { _mm512_storeu_si512(p, v); }

/// Two channels' values before the last clamp, from their sums: in each quarter four of the first, then four of the
/// second.
static inline __m512i wide_values(__m512i first, __m512i second, __m512i shift, __m512i mult) {
    // A count for each lane is one operation; a common count in a register would be two.
    return _mm512_mulhrs_epi16(_mm512_packs_epi32(_mm512_srav_epi32(first, shift), _mm512_srav_epi32(second, shift)),
                               mult);
}

/// The same for values that are clamped to bytes next, where `narrow` allows it. It shifts unsigned 16-bit sums of two
/// channels at a time.
static inline __m512i narrow_values(__m512i first, __m512i second, __m512i shift, __m512i mult) {
    return _mm512_mulhrs_epi16(_mm512_srlv_epi16(_mm512_packus_epi32(first, second), shift), mult);
}

/// Four channels' values as bytes, four for each pixel.
static inline __m512i pixels(__m512i upper, __m512i lower) {
    const __m512i transpose = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm512_shuffle_epi8(_mm512_packus_epi16(upper, lower), transpose);
}

/// The vectors of a row in stripes, and for each lane the pixel that the first vector has there.
static inline int burnish_network_vectors(int width) { return (width + LANES - 1) / LANES; }
static inline __m512i stretches(int vectors) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_mullo_epi32(lanes, _mm512_set1_epi32(vectors));
}

BURNISH_TARGET_END

/// `layer` of burnish_network_kernels with AVX-512, which also does the first layer in stripes, and `residual` from
/// stripes.
void burnish_network_layer_avx512(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                                  const burnish_network_layer *layer);
void burnish_network_residual_striped_avx512(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                                             const burnish_network_layer *layer);
