#if defined(__x86_64__)
#include <immintrin.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

static void halve(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    const __m256i ones = _mm256_set1_epi8(1), two = _mm256_set1_epi16(2);
    int x = 0;
    for (; x + 16 <= width; x += 16) {
        __m256i sum = _mm256_add_epi16(
            _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(upper + 2 * x)), ones),
            _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(lower + 2 * x)), ones));
        sum = _mm256_srli_epi16(_mm256_add_epi16(sum, two), 2);
        sum = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0x08);
        _mm_storeu_si128((__m128i *)(out + x), _mm256_castsi256_si128(sum));
    }
    for (; x < width; x++)
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

static inline __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// Loads 8 bytes from each of two places, as 16-bit numbers.
static inline __m256i widen(const uint8_t *low, const uint8_t *high) {
    return join(_mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)low)),
                _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)high)));
}

static inline int32_t total(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
    return _mm_cvtsi128_si32(s);
}

static void patch(burnish_motion_patch *out, const uint8_t *at, ptrdiff_t stride) {
    const __m256i one = _mm256_set1_epi16(1);
    __m256i xx = _mm256_setzero_si256(), xy = xx, yy = xx, sx = xx, sy = xx;
    for (int y = 0; y < 4; y++, at += stride) {
        const uint8_t *low = at, *high = at + 4 * stride;
        __m256i dx = _mm256_sub_epi16(widen(low + 1, high + 1), widen(low - 1, high - 1));
        __m256i dy = _mm256_sub_epi16(widen(low + stride, high + stride), widen(low - stride, high - stride));
        _mm256_storeu_si256((__m256i *)(out->sample + 16 * y), _mm256_slli_epi16(widen(low, high), 6));
        _mm256_storeu_si256((__m256i *)(out->dx + 16 * y), dx);
        _mm256_storeu_si256((__m256i *)(out->dy + 16 * y), dy);
        xx = _mm256_add_epi32(xx, _mm256_madd_epi16(dx, dx));
        xy = _mm256_add_epi32(xy, _mm256_madd_epi16(dx, dy));
        yy = _mm256_add_epi32(yy, _mm256_madd_epi16(dy, dy));
        sx = _mm256_add_epi16(sx, dx);
        sy = _mm256_add_epi16(sy, dy);
    }
    out->xx = total(xx), out->xy = total(xy), out->yy = total(yy);
    out->x = total(_mm256_madd_epi16(sx, one)), out->y = total(_mm256_madd_epi16(sy, one));
}

#define PAIRS \
    _mm256_setr_epi8(0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8)

/// One row of two places, sampled horizontally: 6 fractional bits.
static inline __m256i horizontal(const uint8_t *low, const uint8_t *high, __m256i weights) {
    __m256i row = join(_mm_loadu_si128((const __m128i *)low), _mm_loadu_si128((const __m128i *)high));
    return _mm256_maddubs_epi16(_mm256_shuffle_epi8(row, PAIRS), weights);
}

static inline __m256i between(__m256i upper, __m256i lower, __m256i weight) {
    return _mm256_add_epi16(upper, _mm256_mulhrs_epi16(_mm256_sub_epi16(lower, upper), weight));
}

static void match(burnish_motion_match *out, const burnish_motion_patch *patch, const uint8_t *at, ptrdiff_t stride,
                  int fx, int fy) {
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i weights = _mm256_set1_epi16((short)((64 - fx) | fx << 8)),
                  vertical = _mm256_set1_epi16((short)(fy << 9));
    __m256i sum = _mm256_setzero_si256(), squares = sum, dx = sum, dy = sum;
    __m256i upper = horizontal(at, at + 4 * stride, weights);
    for (int y = 0; y < 4; y++) {
        at += stride;
        __m256i lower = horizontal(at, at + 4 * stride, weights);
        __m256i d = _mm256_sub_epi16(between(upper, lower, vertical),
                                     _mm256_loadu_si256((const __m256i *)(patch->sample + 16 * y)));
        d = _mm256_srai_epi16(d, 3);
        sum = _mm256_add_epi16(sum, d);
        squares = _mm256_add_epi32(squares, _mm256_madd_epi16(d, d));
        dx = _mm256_add_epi32(dx, _mm256_madd_epi16(d, _mm256_loadu_si256((const __m256i *)(patch->dx + 16 * y))));
        dy = _mm256_add_epi32(dy, _mm256_madd_epi16(d, _mm256_loadu_si256((const __m256i *)(patch->dy + 16 * y))));
        upper = lower;
    }
    // Four sums at once.
    __m256i a = _mm256_hadd_epi32(_mm256_madd_epi16(sum, one), squares), b = _mm256_hadd_epi32(dx, dy);
    a = _mm256_hadd_epi32(a, b);
    _mm_storeu_si128((__m128i *)out, _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}

static int32_t differ(const uint8_t *a, ptrdiff_t a_stride, int ax, int ay, const uint8_t *b, ptrdiff_t b_stride,
                      int bx, int by) {
    const __m128i one = _mm_set1_epi16(1);
    const __m256i weights = join(_mm_set1_epi16((short)((64 - ax) | ax << 8)),
                                 _mm_set1_epi16((short)((64 - bx) | bx << 8)));
    const __m256i vertical = join(_mm_set1_epi16((short)(ay << 9)), _mm_set1_epi16((short)(by << 9)));
    __m128i sum = _mm_setzero_si128();
    __m256i upper = horizontal(a, b, weights);
    for (int y = 0; y < 8; y++) {
        a += a_stride, b += b_stride;
        __m256i lower = horizontal(a, b, weights), v = between(upper, lower, vertical);
        __m128i d = _mm_abs_epi16(_mm_sub_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
        sum = _mm_add_epi32(sum, _mm_madd_epi16(d, one));
        upper = lower;
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
    return _mm_cvtsi128_si32(sum);
}

/// Two of four horizontal taps of both planes, for vpmaddubsw.
static inline __m256i taps(const burnish_motion_block *block, int first) {
    const int8_t *a = block->horizontal[0] + first, *b = block->horizontal[1] + first;
    return join(_mm_set1_epi16((short)((uint8_t)a[0] | (uint8_t)a[1] << 8)),
                _mm_set1_epi16((short)((uint8_t)b[0] | (uint8_t)b[1] << 8)));
}

static inline __m256i cubic(const uint8_t *a, const uint8_t *b, __m256i first, __m256i second) {
    const __m256i later = _mm256_add_epi8(PAIRS, _mm256_set1_epi8(2));
    __m256i row = join(_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b));
    return _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_shuffle_epi8(row, PAIRS), first),
                            _mm256_maddubs_epi16(_mm256_shuffle_epi8(row, later), second));
}

/// Each plane's part of a prediction, added up in `out`; where `second_out` is not null, the first's in `out` and the second's there.
static inline __attribute__((always_inline)) void predict_parts(int16_t *out, int16_t *second_out,
                                                                const burnish_motion_block *block, int rows) {
    const uint8_t *a = block->at[0], *b = block->at[1];
    const ptrdiff_t as = block->stride[0], bs = block->stride[1];
    const __m256i first = taps(block, 0), second = taps(block, 2);
    __m256i v[4];
    for (int j = 0; j < 4; j++)
        v[j] = join(_mm_set1_epi16(block->vertical[0][j]), _mm_set1_epi16(block->vertical[1][j]));
    __m256i r0 = cubic(a, b, first, second), r1 = cubic(a + as, b + bs, first, second);
    __m256i r2 = cubic(a + 2 * as, b + 2 * bs, first, second);
    a += 3 * as, b += 3 * bs;
    for (int y = 0; y < rows; y++, a += as, b += bs) {
        __m256i r3 = cubic(a, b, first, second);
        __m256i sum = _mm256_add_epi16(_mm256_add_epi16(_mm256_mulhrs_epi16(r0, v[0]), _mm256_mulhrs_epi16(r1, v[1])),
                                       _mm256_add_epi16(_mm256_mulhrs_epi16(r2, v[2]), _mm256_mulhrs_epi16(r3, v[3])));
        const __m128i low = _mm256_castsi256_si128(sum), high = _mm256_extracti128_si256(sum, 1);
        _mm_storeu_si128((__m128i *)(out + 8 * y), second_out ? low : _mm_add_epi16(low, high));
        if (second_out) _mm_storeu_si128((__m128i *)(second_out + 8 * y), high);
        r0 = r1, r1 = r2, r2 = r3;
    }
}

static void predict(int16_t *out, const burnish_motion_block *block, int rows) {
    predict_parts(out, NULL, block, rows);
}

static void predict_each(int16_t *first, int16_t *second, const burnish_motion_block *block, int rows) {
    predict_parts(first, second, block, rows);
}

static inline void store(uint8_t *dst, __m128i bytes, int width) {
    if (width == 8) {
        _mm_storel_epi64((__m128i *)dst, bytes);
    } else {
        uint64_t all = (uint64_t)_mm_cvtsi128_si64(bytes);
        for (int x = 0; x < width; x++, all >>= 8) dst[x] = (uint8_t)all;
    }
}

/// Stores 8 samples from sums with 5 fractional bits.
static inline void finish(uint8_t *dst, __m128i sum, int width) {
    sum = _mm_srai_epi16(_mm_add_epi16(sum, _mm_set1_epi16(16)), 5);
    store(dst, _mm_packus_epi16(sum, sum), width);
}

static void blend(uint8_t *dst, ptrdiff_t stride, const int16_t *const *predictions,
                  const burnish_motion_window *windows, int count, int width, int rows) {
    if (count == 1) {
        for (int y = 0; y < rows; y++, dst += stride)
            finish(dst, _mm_loadu_si128((const __m128i *)(predictions[0] + 8 * y)), width);
        return;
    }
    // Two rows at a time.
    const __m256i x = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    __m256i weight[BURNISH_MOTION_PREDICTIONS], step[BURNISH_MOTION_PREDICTIONS];
    for (int k = 0; k < count; k++) {
        const burnish_motion_window *w = windows + k;
        __m256i first = _mm256_add_epi16(_mm256_set1_epi16(w->first),
                                         _mm256_mullo_epi16(x, _mm256_set1_epi16(w->across)));
        __m256i down = _mm256_add_epi16(_mm256_set1_epi16(w->down), _mm256_mullo_epi16(x, _mm256_set1_epi16(w->both)));
        weight[k] = _mm256_add_epi16(first,
                                     _mm256_inserti128_si256(_mm256_setzero_si256(), _mm256_castsi256_si128(down), 1));
        step[k] = _mm256_slli_epi16(down, 1);
    }
    int y = 0;
    for (; y + 2 <= rows; y += 2, dst += 2 * stride) {
        __m256i sum = _mm256_setzero_si256();
        for (int k = 0; k < count; k++) {
            sum = _mm256_add_epi16(
                sum, _mm256_mulhrs_epi16(_mm256_loadu_si256((const __m256i *)(predictions[k] + 8 * y)), weight[k]));
            weight[k] = _mm256_add_epi16(weight[k], step[k]);
        }
        finish(dst, _mm256_castsi256_si128(sum), width);
        finish(dst + stride, _mm256_extracti128_si256(sum, 1), width);
    }
    if (y == rows) return;
    __m128i sum = _mm_setzero_si128();
    for (int k = 0; k < count; k++)
        sum = _mm_add_epi16(sum, _mm_mulhrs_epi16(_mm_loadu_si128((const __m128i *)(predictions[k] + 8 * y)),
                                                  _mm256_castsi256_si128(weight[k])));
    finish(dst, sum, width);
}

static void mix(uint8_t *out, const uint8_t *a, const uint8_t *b, int width) {
    const __m256i two = _mm256_set1_epi16(2);
    int x = 0;
    for (; x + 16 <= width; x += 16) {
        __m256i sum = _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(out + x))),
                                       _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(b + x))));
        __m256i twice = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(a + x))), 1);
        sum = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(sum, twice), two), 2);
        sum = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0x08);
        _mm_storeu_si128((__m128i *)(out + x), _mm256_castsi256_si128(sum));
    }
    for (; x < width; x++) out[x] = (uint8_t)((out[x] + 2 * a[x] + b[x] + 2) >> 2);
}

static void add_weighted(uint16_t *sum, const uint8_t *in, int weight, int width) {
    const __m256i weights = _mm256_set1_epi16((short)weight);
    int x = 0;
    for (; x + 16 <= width; x += 16) {
        __m256i *at = (__m256i *)(sum + x);
        __m256i samples = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(in + x)));
        _mm256_storeu_si256(at, _mm256_add_epi16(_mm256_loadu_si256(at), _mm256_mullo_epi16(samples, weights)));
    }
    for (; x < width; x++) sum[x] = (uint16_t)(sum[x] + weight * in[x]);
}

static void mean(uint8_t *out, const uint16_t *sum, int width) {
    const __m256i half = _mm256_set1_epi16(128);
    int x = 0;
    for (; x + 16 <= width; x += 16) {
        // The sum and a half stay below 65536.
        __m256i samples = _mm256_srli_epi16(_mm256_add_epi16(_mm256_loadu_si256((const __m256i *)(sum + x)), half), 8);
        samples = _mm256_permute4x64_epi64(_mm256_packus_epi16(samples, samples), 0x08);
        _mm_storeu_si128((__m128i *)(out + x), _mm256_castsi256_si128(samples));
    }
    for (; x < width; x++) out[x] = (uint8_t)((sum[x] + 128) >> 8);
}

BURNISH_TARGET_END

void burnish_motion_init_avx2(burnish_motion_kernels *kernels) {
    kernels->halve = halve;
    kernels->patch = patch;
    kernels->match = match;
    kernels->differ = differ;
    kernels->predict = predict;
    kernels->predict_each = predict_each;
    kernels->blend = blend;
    kernels->mix = mix;
    kernels->add_weighted = add_weighted;
    kernels->mean = mean;
}
#endif
