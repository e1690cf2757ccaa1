#if defined(__x86_64__)

#include <immintrin.h>

#include "color_rows.h"
#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

enum { STEP = BURNISH_COLOR_STEP, SHIFT = 5, NARROW = 7 };

// A colour's way through its tetrahedron has one step along luma, and the entries of the lower and the upper luma are neighbours. So three
// pairs of entries hold its four corners: at the lowest chroma, where U or V is the upper one, and at the highest chroma.

static inline __m256i set(int value) { return _mm256_set1_epi32(value); }

/// What the chroma of eight colours says of where they lie.
typedef struct {
    /// The cell without luma; the larger and the smaller fraction of U and V; all bits where U is not smaller.
    __m256i cell, most, least, by_u;
} place;

static inline place find(__m256i u, __m256i v) {
    const __m256i fu = _mm256_and_si256(u, set(STEP - 1)), fv = _mm256_and_si256(v, set(STEP - 1));
    const __m256i cell = _mm256_add_epi32(_mm256_sub_epi32(u, fu), _mm256_slli_epi32(_mm256_sub_epi32(v, fv), 5));
    return (place){cell, _mm256_max_epi32(fu, fv), _mm256_min_epi32(fu, fv),
                   _mm256_cmpgt_epi32(set(1), _mm256_sub_epi32(fv, fu))};
}

/// Each colour's chroma serves two neighbours.
static inline place spread(place at, __m256i lanes) {
    return (place){_mm256_permutevar8x32_epi32(at.cell, lanes), _mm256_permutevar8x32_epi32(at.most, lanes),
                   _mm256_permutevar8x32_epi32(at.least, lanes), _mm256_permutevar8x32_epi32(at.by_u, lanes)};
}

/// The weights of a pair that counts between two fractions: what lies below luma's is the upper luma's share.
static inline __m256i share(__m256i from, __m256i to, __m256i luma) {
    const __m256i middle = _mm256_max_epi32(_mm256_min_epi32(luma, to), from);
    const __m256i upper = _mm256_slli_epi32(_mm256_sub_epi32(middle, from), 16);
    return _mm256_or_si256(upper, _mm256_sub_epi32(to, middle));
}

/// Eight colours: where their cells begin, in bytes, and the weights of the eight corners. `weight[k]` has colour k and colour k + 4.
typedef struct {
    int32_t cell[8] __attribute__((aligned(32)));
    __m256i weight[4];
} corners;

static inline corners weigh(__m256i y, place at) {
    corners result;
    const __m256i fy = _mm256_and_si256(y, set(STEP - 1));
    const __m256i cell = _mm256_add_epi32(at.cell, _mm256_srli_epi32(y, SHIFT));
    _mm256_store_si256((__m256i *)result.cell, _mm256_slli_epi32(cell, 4));
    const __m256i lowest = share(at.most, set(STEP), fy), highest = share(_mm256_setzero_si256(), at.least, fy);
    const __m256i between = share(at.least, at.most, fy);
    const __m256i u = _mm256_and_si256(between, at.by_u), v = _mm256_andnot_si256(at.by_u, between);
    const __m256i low01 = _mm256_unpacklo_epi32(lowest, u), low23 = _mm256_unpackhi_epi32(lowest, u);
    const __m256i high01 = _mm256_unpacklo_epi32(v, highest), high23 = _mm256_unpackhi_epi32(v, highest);
    result.weight[0] = _mm256_unpacklo_epi64(low01, high01);
    result.weight[1] = _mm256_unpackhi_epi64(low01, high01);
    result.weight[2] = _mm256_unpacklo_epi64(low23, high23);
    result.weight[3] = _mm256_unpackhi_epi64(low23, high23);
    return result;
}

static inline __m256i weighted(const int16_t *cells, const corners *at, int k) {
    const __m128i low = _mm_load_si128((const __m128i *)((const char *)cells + at->cell[k]));
    const __m128i high = _mm_load_si128((const __m128i *)((const char *)cells + at->cell[k + 4]));
    return _mm256_madd_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), at->weight[k]);
}

/// Eight sums, times STEP.
static inline __m256i look_up(const int16_t *cells, const corners *at) {
    const __m256i sums01 = _mm256_hadd_epi32(weighted(cells, at, 0), weighted(cells, at, 1));
    const __m256i sums23 = _mm256_hadd_epi32(weighted(cells, at, 2), weighted(cells, at, 3));
    return _mm256_hadd_epi32(sums01, sums23);
}

static inline __m256i luma(const burnish_color_table *table, __m256i y, place at) {
    const corners found = weigh(y, at);
    return look_up(table->y, &found);
}

static inline __m256i load(const void *row, int x, int is_deep) {
    if (!is_deep) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)((const uint8_t *)row + x));
        return _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 2);
    }
    const __m128i words = _mm_loadu_si128((const __m128i *)((const uint16_t *)row + x));
    return _mm256_cvtepu16_epi32(_mm_min_epu16(words, _mm_set1_epi16(1023)));
}

/// Sixteen sums as eight and eight, made narrow.
static inline __m128i narrow(__m256i low, __m256i high, const int16_t *dither) {
    low = _mm256_srli_epi32(low, SHIFT);
    high = _mm256_srli_epi32(high, SHIFT);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    const __m256i sums = _mm256_add_epi16(words, _mm256_loadu_si256((const __m256i *)dither));
    const __m256i samples = _mm256_srli_epi16(sums, NARROW);
    return _mm_packus_epi16(_mm256_castsi256_si128(samples), _mm256_extracti128_si256(samples, 1));
}

static inline void rows(const burnish_color_table *table, burnish_color_rows rows, int width, int is_deep) {
    const __m256i low = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3), high = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
    int x = 0;
    for (; x + 16 <= width; x += 16) {
        const __m256i u = load(rows.from_u, x / 2, is_deep), v = load(rows.from_v, x / 2, is_deep);
        const place at = find(u, v), left = spread(at, low), right = spread(at, high);
        const __m256i y00 = load(rows.from_y0, x, is_deep), y01 = load(rows.from_y0, x + 8, is_deep);
        const __m256i y10 = load(rows.from_y1, x, is_deep), y11 = load(rows.from_y1, x + 8, is_deep);
        const __m128i above = narrow(luma(table, y00, left), luma(table, y01, right), rows.dither0);
        const __m128i below = narrow(luma(table, y10, left), luma(table, y11, right), rows.dither1);
        _mm_storeu_si128((__m128i *)(rows.y0 + x), above);
        _mm_storeu_si128((__m128i *)(rows.y1 + x), below);
        const __m256i pairs = _mm256_hadd_epi32(_mm256_add_epi32(y00, y10), _mm256_add_epi32(y01, y11));
        const __m256i mean = _mm256_srli_epi32(_mm256_add_epi32(_mm256_permute4x64_epi64(pairs, 0xd8), set(2)), 2);
        const corners found = weigh(mean, at);
        const __m128i chroma = narrow(look_up(table->u, &found), look_up(table->v, &found), rows.dither0);
        _mm_storel_epi64((__m128i *)(rows.u + x / 2), chroma);
        _mm_storel_epi64((__m128i *)(rows.v + x / 2), _mm_unpackhi_epi64(chroma, chroma));
    }
    burnish_color_rows_from(table, rows, x, width, is_deep);
}

static void rows8(const burnish_color_table *table, burnish_color_rows given, int width) {
    rows(table, given, width, 0);
}
static void rows10(const burnish_color_table *table, burnish_color_rows given, int width) {
    rows(table, given, width, 1);
}

void burnish_color_init_avx2(burnish_color_kernels *kernels) {
    kernels->rows8 = rows8;
    kernels->rows10 = rows10;
}

BURNISH_TARGET_END

#endif
