#if defined(__x86_64__)
#include <immintrin.h>

#include "families.h"
#include "noise_taps.h"
#include "target.h"

#pragma STDC FP_CONTRACT OFF

BURNISH_TARGET_AVX2

// Two blocks that lie side by side are filtered at once, one in each half of the vectors.

static inline __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
static inline __m128i load(const int16_t *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline __m256i plus(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
static inline __m256i minus(__m256i a, __m256i b) { return _mm256_sub_epi16(a, b); }
static inline __m256i by(__m256i a, int constant) { return _mm256_mulhrs_epi16(a, _mm256_set1_epi16((short)constant)); }

/// One dimension of the transform, down the columns. Its gain is 2 ^ shift / 2.
static inline __attribute__((always_inline)) void forward(__m256i *r, const int shift) {
    const int c0 = NOISE_C0 << shift, c1 = NOISE_C1 << shift, c2 = NOISE_C2 << shift, c3 = NOISE_C3 << shift,
              c5 = NOISE_C5 << shift, c6 = NOISE_C6 << shift, c7 = NOISE_C7 << shift;
    const __m256i a0 = plus(r[0], r[7]), a1 = plus(r[1], r[6]), a2 = plus(r[2], r[5]), a3 = plus(r[3], r[4]);
    const __m256i b0 = minus(r[0], r[7]), b1 = minus(r[1], r[6]), b2 = minus(r[2], r[5]), b3 = minus(r[3], r[4]);
    const __m256i e0 = plus(a0, a3), e1 = plus(a1, a2), e2 = minus(a1, a2), e3 = minus(a0, a3);
    r[0] = by(plus(e0, e1), c0);
    r[1] = plus(plus(by(b0, c1), by(b1, c3)), plus(by(b2, c5), by(b3, c7)));
    r[2] = plus(by(e3, c2), by(e2, c6));
    r[3] = minus(minus(by(b0, c3), by(b1, c7)), plus(by(b2, c1), by(b3, c5)));
    r[4] = by(minus(e0, e1), c0);
    r[5] = plus(minus(by(b0, c5), by(b1, c1)), plus(by(b2, c7), by(b3, c3)));
    r[6] = minus(by(e3, c6), by(e2, c2));
    r[7] = plus(minus(by(b0, c7), by(b1, c5)), minus(by(b2, c3), by(b3, c1)));
}

/// One dimension of the inverse transform, down the columns. Its gain is 2 ^ shift / 2.
static inline __attribute__((always_inline)) void inverse(__m256i *r, const int shift) {
    const int c0 = NOISE_C0 << shift, c1 = NOISE_C1 << shift, c2 = NOISE_C2 << shift, c3 = NOISE_C3 << shift,
              c5 = NOISE_C5 << shift, c6 = NOISE_C6 << shift, c7 = NOISE_C7 << shift;
    const __m256i t0 = by(plus(r[0], r[4]), c0), t1 = by(minus(r[0], r[4]), c0);
    const __m256i t2 = plus(by(r[2], c2), by(r[6], c6)), t3 = minus(by(r[2], c6), by(r[6], c2));
    const __m256i a0 = plus(t0, t2), a1 = plus(t1, t3), a2 = minus(t1, t3), a3 = minus(t0, t2);
    const __m256i b0 = plus(plus(by(r[1], c1), by(r[3], c3)), plus(by(r[5], c5), by(r[7], c7)));
    const __m256i b1 = minus(minus(by(r[1], c3), by(r[3], c7)), plus(by(r[5], c1), by(r[7], c5)));
    const __m256i b2 = plus(minus(by(r[1], c5), by(r[3], c1)), plus(by(r[5], c7), by(r[7], c3)));
    const __m256i b3 = plus(minus(by(r[1], c7), by(r[3], c5)), minus(by(r[5], c3), by(r[7], c1)));
    r[0] = plus(a0, b0), r[7] = minus(a0, b0);
    r[1] = plus(a1, b1), r[6] = minus(a1, b1);
    r[2] = plus(a2, b2), r[5] = minus(a2, b2);
    r[3] = plus(a3, b3), r[4] = minus(a3, b3);
}

static inline void transpose(__m256i *r) {
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
        r[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
    }
}

static inline void transform(__m256i *r) { forward(r, 0), transpose(r), forward(r, 1); }
static inline void transform_back(__m256i *r) { inverse(r, 1), transpose(r), inverse(r, 2); }

static inline __m256i four(__m256i a, __m256i b, __m256i c, __m256i d, const __m256i *taps) {
    return plus(plus(_mm256_mulhrs_epi16(a, taps[0]), _mm256_mulhrs_epi16(b, taps[1])),
                plus(_mm256_mulhrs_epi16(c, taps[2]), _mm256_mulhrs_epi16(d, taps[3])));
}

static inline __m256i inside(__m256i v) {
    return _mm256_max_epi16(_mm256_min_epi16(v, _mm256_set1_epi16(NOISE_LARGEST_SAMPLE)),
                            _mm256_set1_epi16(NOISE_LEAST_SAMPLE));
}

/// Two blocks of a reference.
static inline void sample(__m256i *out, const burnish_noise_place *place, ptrdiff_t stride) {
    const int16_t *p = place[0].at, *q = place[1].at;
    if (!(place[0].x | place[0].y | place[1].x | place[1].y)) {
        // All taps but one are 0, and that one changes nothing.
        for (int y = 0; y < 8; y++) {
            p += stride, q += stride;
            out[y] = inside(join(load(p + 1), load(q + 1)));
        }
        return;
    }
    __m256i across[4], down[4], rows[11];
    for (int k = 0; k < 4; k++) {
        across[k] = join(_mm_set1_epi16(burnish_noise_taps[place[0].x][k]),
                         _mm_set1_epi16(burnish_noise_taps[place[1].x][k]));
        down[k] = join(_mm_set1_epi16(burnish_noise_taps[place[0].y][k]),
                       _mm_set1_epi16(burnish_noise_taps[place[1].y][k]));
    }
    for (int y = 0; y < 11; y++, p += stride, q += stride)
        rows[y] = four(join(load(p), load(q)), join(load(p + 1), load(q + 1)), join(load(p + 2), load(q + 2)),
                       join(load(p + 3), load(q + 3)), across);
    for (int y = 0; y < 8; y++) out[y] = inside(four(rows[y], rows[y + 1], rows[y + 2], rows[y + 3], down));
}

/// The energy of the difference in each band, of both blocks.
static inline __m256i energy(const __m256i *a, const __m256i *b) {
    __m256i s[4];
    for (int i = 0; i < 4; i++) {
        const __m256i d = minus(a[2 * i], b[2 * i]), e = minus(a[2 * i + 1], b[2 * i + 1]);
        s[i] = _mm256_add_epi32(_mm256_madd_epi16(d, d), _mm256_madd_epi16(e, e));
    }
    // Lane j of s[i] belongs to the band of i + j.
    const __m256i zero = _mm256_setzero_si256();
    const __m256i b0 = _mm256_blend_epi32(zero, s[0], 0x11);
    const __m256i b1 = _mm256_add_epi32(
        _mm256_blend_epi32(zero, s[0], 0x66),
        _mm256_add_epi32(_mm256_blend_epi32(zero, s[1], 0x33), _mm256_blend_epi32(zero, s[2], 0x11)));
    const __m256i b2 = _mm256_blend_epi32(_mm256_blend_epi32(s[0], s[1], 0x44), _mm256_blend_epi32(s[2], s[3], 0x11),
                                          0x33);
    const __m256i b3 = _mm256_add_epi32(
        _mm256_blend_epi32(zero, s[1], 0x88),
        _mm256_add_epi32(_mm256_blend_epi32(zero, s[2], 0xCC), _mm256_blend_epi32(zero, s[3], 0xEE)));
    return _mm256_hadd_epi32(_mm256_hadd_epi32(b0, b1), _mm256_hadd_epi32(b2, b3));
}

static inline __m256 both(const float *four) { return _mm256_broadcast_ps((const __m128 *)four); }

static inline __m256 judge(const __m256i *now, const __m256i *then, const burnish_noise_place *place,
                           const burnish_noise_model *model) {
    const __m256i raw = _mm256_cvtepu16_epi32(_mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)place[0].variance),
                                                                 _mm_loadl_epi64((const __m128i *)place[1].variance)));
    const __m256 known = _mm256_mul_ps(_mm256_cvtepi32_ps(raw), _mm256_set1_ps(1.0f / 32768));
    const __m256 v = _mm256_max_ps(known, _mm256_set1_ps(model->least));
    const __m256 seen = _mm256_mul_ps(_mm256_cvtepi32_ps(energy(now, then)), both(model->inverse));
    const __m256 expected = _mm256_mul_ps(_mm256_add_ps(v, _mm256_set1_ps(1)), both(model->slack));
    return _mm256_add_ps(v, _mm256_max_ps(_mm256_sub_ps(seen, expected), _mm256_setzero_ps()));
}

/// The four numbers of each block as 16-bit integers, twice.
static inline __m256i numbers(__m256 v) {
    const __m256i whole = _mm256_cvttps_epi32(v);
    return _mm256_packs_epi32(whole, whole);
}

/// Which of the four bands' numbers each coefficient of rows 2i and 2i + 1 gets.
#define BAND(b) 2 * b, 2 * b + 1
#define PAIR(b) BAND(b), BAND(b)
#define LANES(a, b, c, d) PAIR(a), PAIR(b), PAIR(c), PAIR(d)
static const int8_t spread[4][32] __attribute__((aligned(32))) = {
    {LANES(0, 1, 1, 2), LANES(0, 1, 1, 2)},
    {LANES(1, 1, 2, 3), LANES(1, 1, 2, 3)},
    {LANES(1, 2, 3, 3), LANES(1, 2, 3, 3)},
    {LANES(2, 3, 3, 3), LANES(2, 3, 3, 3)},
};

static inline __m256i banded(__m256i numbers, int i) {
    return _mm256_shuffle_epi8(numbers, _mm256_load_si256((const __m256i *)spread[i]));
}

/// Mixes two blocks with the same places in the references, and shrinks the result.
static inline __attribute__((always_inline)) void pair(const burnish_noise_row *row, int index, const int references,
                                                       __m256i *kept, __m256i *shown) {
    const uint8_t *at = row->now + BURNISH_NOISE_STEP * index;
    for (int y = 0; y < 8; y++, at += row->stride) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        const __m256i v = _mm256_cvtepu8_epi16(_mm_unpacklo_epi64(bytes, _mm_srli_si128(bytes, 4)));
        kept[y] = plus(_mm256_slli_epi16(v, 4), _mm256_set1_epi16(NOISE_LEAST_SAMPLE));
    }
    transform(kept);
    __m256 left = _mm256_set1_ps(1);
    const __m256 one = _mm256_set1_ps(1), full = _mm256_set1_ps(32767);
    if (references == 1) {
        __m256i then[8];
        sample(then, row->places[0] + index, row->reference_stride[0]);
        transform(then);
        const __m256 u = judge(kept, then, row->places[0] + index, row->model);
        const __m256 part = _mm256_div_ps(one, _mm256_add_ps(one, u));
        left = _mm256_mul_ps(u, part);
        const __m256i share = numbers(_mm256_mul_ps(part, full));
        for (int y = 0; y < 8; y++)
            kept[y] = minus(kept[y], _mm256_mulhrs_epi16(minus(kept[y], then[y]), banded(share, y >> 1)));
    } else if (references == 2) {
        __m256i then[2][8];
        for (int r = 0; r < 2; r++) {
            sample(then[r], row->places[r] + index, row->reference_stride[r]);
            transform(then[r]);
        }
        const __m256 u0 = judge(kept, then[0], row->places[0] + index, row->model);
        const __m256 u1 = judge(kept, then[1], row->places[1] + index, row->model);
        const __m256 product = _mm256_mul_ps(u0, u1);
        const __m256 part = _mm256_div_ps(one, _mm256_add_ps(product, _mm256_add_ps(u0, u1)));
        left = _mm256_mul_ps(product, part);
        const __m256i share0 = numbers(_mm256_mul_ps(_mm256_mul_ps(u1, part), full));
        const __m256i share1 = numbers(_mm256_mul_ps(_mm256_mul_ps(u0, part), full));
        for (int y = 0; y < 8; y++) {
            const __m256i first = _mm256_mulhrs_epi16(minus(kept[y], then[0][y]), banded(share0, y >> 1));
            const __m256i second = _mm256_mulhrs_epi16(minus(kept[y], then[1][y]), banded(share1, y >> 1));
            kept[y] = minus(minus(kept[y], first), second);
        }
    }
    const __m256i variance = numbers(_mm256_mul_ps(left, full));
    const __m256i threshold = numbers(_mm256_mul_ps(_mm256_set1_ps(row->model->threshold), _mm256_sqrt_ps(left)));
    if (row->variance)
        _mm_storeu_si128((__m128i *)(row->variance + BURNISH_NOISE_BANDS * index),
                         _mm_unpacklo_epi64(_mm256_castsi256_si128(variance), _mm256_extracti128_si256(variance, 1)));
    for (int y = 0; y < 8; y++) {
        __m256i least = banded(threshold, y >> 1);
        // The block's mean stays.
        if (y == 0) least = _mm256_blend_epi16(least, _mm256_setzero_si256(), 1);
        const __m256i size = _mm256_abs_epi16(kept[y]), above = _mm256_subs_epu16(size, least);
        const __m256i firm = plus(above, by(above, NOISE_SLOPE));
        shown[y] = _mm256_sign_epi16(_mm256_min_epi16(size, firm), kept[y]);
    }
    transform_back(kept);
    transform_back(shown);
}

/// Adds two blocks under their windows: 8 columns are complete, 4 wait for the next pair.
static inline __m128i overlap(__m256i v, int y, __m128i *right) {
    const __m256i window = _mm256_broadcastsi128_si256(load(burnish_noise_window + 8 * y));
    const __m256i weighted = _mm256_mulhrs_epi16(v, window);
    const __m128i first = _mm256_castsi256_si128(weighted), second = _mm256_extracti128_si256(weighted, 1);
    const __m128i total = _mm_add_epi16(_mm_add_epi16(first, _mm_slli_si128(second, 8)), *right);
    *right = _mm_srli_si128(second, 8);
    return total;
}

static inline __attribute__((always_inline)) void filter(const burnish_noise_row *row, const int references) {
    const int width = BURNISH_NOISE_STEP * row->count;
    __m128i right[2][8];
    for (int part = 0; part < 2; part++)
        for (int y = 0; y < 8; y++) right[part][y] = _mm_setzero_si128();
    for (int index = 0; index < row->count; index += 2) {
        __m256i parts[2][8];
        pair(row, index, references, parts[0], parts[1]);
        const ptrdiff_t x = BURNISH_NOISE_STEP * index;
        for (int part = 0; part < 2; part++) {
            int16_t *carry = row->carry + part * BURNISH_NOISE_STEP * width + x;
            for (int y = 0; y < 4; y++) {
                const __m128i upper = _mm_add_epi16(overlap(parts[part][y], y, &right[part][y]),
                                                    load(carry + y * width));
                const __m128i lower = overlap(parts[part][y + 4], y + 4, &right[part][y + 4]);
                _mm_storeu_si128((__m128i *)(carry + y * width), lower);
                if (!row->filtered) continue;
                if (part == 0) {
                    const __m128i v = _mm_max_epi16(_mm_min_epi16(upper, _mm_set1_epi16(NOISE_LARGEST_SAMPLE)),
                                                    _mm_set1_epi16(NOISE_LEAST_SAMPLE));
                    _mm_storeu_si128((__m128i *)(row->filtered + y * row->filtered_stride + x), v);
                } else {
                    const __m128i v = _mm_srai_epi16(_mm_add_epi16(upper, _mm_set1_epi16(8 - NOISE_LEAST_SAMPLE)), 4);
                    _mm_storel_epi64((__m128i *)(row->shrunk + y * row->shrunk_stride + x), _mm_packus_epi16(v, v));
                }
            }
        }
    }
}

static void row(const burnish_noise_row *row) {
    if (row->references == 1) filter(row, 1);
    else if (row->references == 2) filter(row, 2);
    else filter(row, 0);
}

static inline __m256i words(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }

/// -1 2 -1 down a column, at 16 columns.
static inline __m256i column(const uint8_t *p, ptrdiff_t stride) {
    const __m256i middle = words(p);
    return minus(plus(middle, middle), plus(words(p - stride), words(p + stride)));
}

static inline __m256i operate(const uint8_t *p, ptrdiff_t stride) {
    const __m256i middle = column(p, stride);
    return minus(plus(middle, middle), plus(column(p - 1, stride), column(p + 1, stride)));
}

static inline uint32_t total(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(s);
}

static void measure(burnish_noise_sums *out, const uint8_t *now, ptrdiff_t stride, const uint8_t *before,
                    ptrdiff_t before_stride, int squares) {
    for (int square = 0; square < squares; square++, now += 16, before += 16) {
        __m256i detail = _mm256_setzero_si256(), change = detail, level = detail;
        const uint8_t *p = now, *q = before;
        for (int y = 0; y < 16; y++, p += stride, q += before_stride) {
            const __m256i a = operate(p, stride), d = minus(a, operate(q, before_stride));
            detail = _mm256_add_epi32(detail, _mm256_madd_epi16(a, a));
            change = _mm256_add_epi32(change, _mm256_madd_epi16(d, d));
            level = plus(level, words(p));
        }
        out[square] = (burnish_noise_sums){total(detail), total(change),
                                           total(_mm256_madd_epi16(level, _mm256_set1_epi16(1)))};
    }
}

BURNISH_TARGET_END

void burnish_noise_init_avx2(burnish_noise_kernels *kernels) {
    kernels->row = row;
    kernels->measure = measure;
}
#endif
