#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "deinterlace_taps.h"
#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

static inline __m256i words(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }
static inline __m256i distance(__m256i a, __m256i b) { return _mm256_abs_epi16(_mm256_sub_epi16(a, b)); }
static inline __m256i times(__m256i value, int tap) {
    return _mm256_mulhrs_epi16(_mm256_slli_epi16(value, 5), _mm256_set1_epi16((int16_t)tap));
}
static inline __m256i rounded(__m256i v) { return _mm256_srai_epi16(_mm256_add_epi16(v, _mm256_set1_epi16(16)), 5); }
static inline __m128i samples(__m256i v) {
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static inline __m256i alone(__m256i near, __m256i far) {
    return _mm256_sub_epi16(times(near, TAP_ALONE_1), times(far, TAP_ALONE_3));
}

/// 16 samples from `x` on.
static inline __m128i block(const burnish_deinterlace_rows *rows, ptrdiff_t x, __m128i shift) {
    const uint8_t *const *a = rows->near[0], *const *b = rows->near[1], *const *kept = rows->kept;
    const __m256i above = words(kept[1] + x), below = words(kept[2] + x);
    const __m256i change = distance(words(rows->change[0] + x), words(rows->change[1] + x));
    const __m256i beside = _mm256_srli_epi16(
        _mm256_add_epi16(distance(words(rows->before[0] + x), above), distance(words(rows->before[1] + x), below)), 1);
    const __m256i near0 = _mm256_add_epi16(words(a[2] + x), words(b[2] + x));
    const __m256i up2 = _mm256_add_epi16(words(a[1] + x), words(b[1] + x));
    const __m256i down2 = _mm256_add_epi16(words(a[3] + x), words(b[3] + x));
    const __m256i mean = _mm256_srli_epi16(near0, 1);

    const __m256i narrow = _mm256_max_epi16(_mm256_srl_epi16(change, shift), beside);
    const __m256i up = _mm256_sub_epi16(_mm256_srli_epi16(up2, 1), above);
    const __m256i down = _mm256_sub_epi16(_mm256_srli_epi16(down2, 1), below);
    const __m256i to_below = _mm256_sub_epi16(mean, below), to_above = _mm256_sub_epi16(mean, above);
    const __m256i highest = _mm256_max_epi16(_mm256_max_epi16(to_below, to_above), _mm256_min_epi16(up, down));
    const __m256i lowest = _mm256_min_epi16(_mm256_min_epi16(to_below, to_above), _mm256_max_epi16(up, down));
    const __m256i wide = _mm256_max_epi16(_mm256_max_epi16(narrow, lowest),
                                          _mm256_sub_epi16(_mm256_setzero_si256(), highest));
    const __m256i limit = _mm256_andnot_si256(_mm256_cmpeq_epi16(narrow, _mm256_setzero_si256()), wide);

    const __m256i kept1 = _mm256_add_epi16(above, below);
    const __m256i kept3 = _mm256_add_epi16(words(kept[0] + x), words(kept[3] + x));
    const __m256i near4 = _mm256_add_epi16(_mm256_add_epi16(words(a[0] + x), words(b[0] + x)),
                                           _mm256_add_epi16(words(a[4] + x), words(b[4] + x)));
    __m256i both = _mm256_sub_epi16(times(near0, TAP_NEAR_0), times(_mm256_add_epi16(up2, down2), TAP_NEAR_2));
    both = _mm256_add_epi16(both, times(near4, TAP_NEAR_4));
    both = _mm256_add_epi16(both, times(kept1, TAP_KEPT_1));
    both = _mm256_sub_epi16(both, times(kept3, TAP_KEPT_3));
    const __m256i uses_both = _mm256_cmpgt_epi16(distance(above, below), change);
    __m256i v = rounded(_mm256_blendv_epi8(alone(kept1, kept3), both, uses_both));
    v = _mm256_min_epi16(v, _mm256_add_epi16(mean, limit));
    v = _mm256_max_epi16(v, _mm256_sub_epi16(mean, limit));
    return samples(v);
}

static void row(uint8_t *out, const burnish_deinterlace_rows *rows, int width) {
    const __m128i shift = _mm_cvtsi32_si128(rows->shift);
    int x = 0;
    for (; x + 16 <= width; x += 16) _mm_storeu_si128((__m128i *)(out + x), block(rows, x, shift));
    if (x == width) return;
    // The caller's rows may be read only to their end, so copy the rest before reading it as a vector.
    const size_t left = (size_t)(width - x);
    uint8_t ends[18][16] = {{0}}, last[16];
    burnish_deinterlace_rows rest = {.shift = rows->shift};
    int end = 0;
    for (int i = 0; i < 4; i++) rest.kept[i] = memcpy(ends[end++], rows->kept[i] + x, left);
    for (int i = 0; i < 2; i++) {
        rest.before[i] = memcpy(ends[end++], rows->before[i] + x, left);
        rest.change[i] = memcpy(ends[end++], rows->change[i] + x, left);
        for (int j = 0; j < 5; j++) rest.near[i][j] = memcpy(ends[end++], rows->near[i][j] + x, left);
    }
    _mm_storeu_si128((__m128i *)last, block(&rest, 0, shift));
    memcpy(out + x, last, left);
}

static inline __m128i block_alone(const uint8_t *const *kept, ptrdiff_t x) {
    const __m256i near = _mm256_add_epi16(words(kept[1] + x), words(kept[2] + x));
    const __m256i far = _mm256_add_epi16(words(kept[0] + x), words(kept[3] + x));
    return samples(rounded(alone(near, far)));
}

static void row_alone(uint8_t *out, const uint8_t *const *kept, int width) {
    int x = 0;
    for (; x + 16 <= width; x += 16) _mm_storeu_si128((__m128i *)(out + x), block_alone(kept, x));
    if (x == width) return;
    const size_t left = (size_t)(width - x);
    uint8_t ends[4][16] = {{0}}, last[16];
    const uint8_t *rest[4];
    for (int i = 0; i < 4; i++) rest[i] = memcpy(ends[i], kept[i] + x, left);
    _mm_storeu_si128((__m128i *)last, block_alone(rest, 0));
    memcpy(out + x, last, left);
}

static inline uint32_t total(__m128i sums) {
    return (uint32_t)_mm_cvtsi128_si32(sums) + (uint32_t)_mm_extract_epi32(sums, 2);
}

static void combs(burnish_comb_sums *out, const uint8_t *row, ptrdiff_t stride, const uint8_t *before,
                  ptrdiff_t before_stride, int blocks) {
    for (int block = 0; block < blocks; block++, row += 16, before += 16) {
        __m128i other = _mm_setzero_si128(), same = other, old = other, change = other;
        const uint8_t *p = row, *q = before;
        __m128i two_above = _mm_loadu_si128((const __m128i *)(p - 2 * stride));
        __m128i above = _mm_loadu_si128((const __m128i *)(p - stride));
        __m128i here = _mm_loadu_si128((const __m128i *)p);
        for (int y = 0; y < BURNISH_COMB_ROWS; y++, p += 2 * stride, q += 2 * before_stride) {
            const __m128i below = _mm_loadu_si128((const __m128i *)(p + stride));
            const __m128i two_below = _mm_loadu_si128((const __m128i *)(p + 2 * stride));
            const __m128i last = _mm_loadu_si128((const __m128i *)q);
            const __m128i beside = _mm_avg_epu8(above, below);
            other = _mm_add_epi64(other, _mm_sad_epu8(here, beside));
            same = _mm_add_epi64(same, _mm_sad_epu8(here, _mm_avg_epu8(two_above, two_below)));
            old = _mm_add_epi64(old, _mm_sad_epu8(last, beside));
            change = _mm_add_epi64(change, _mm_sad_epu8(here, last));
            two_above = here;
            above = below;
            here = two_below;
        }
        out[block] = (burnish_comb_sums){total(other), total(same), total(old), total(change)};
    }
}

void burnish_deinterlace_init_avx2(burnish_deinterlace_kernels *kernels) {
    kernels->row = row;
    kernels->row_alone = row_alone;
    kernels->combs = combs;
}

BURNISH_TARGET_END
#endif
