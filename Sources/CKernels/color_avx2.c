#if defined(__x86_64__)

#include <immintrin.h>

#include "color_rows.h"
#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

enum { NODES = BURNISH_COLOR_NODES, U = NODES, V = NODES * NODES, STEP = BURNISH_COLOR_STEP, SHIFT = 5, NARROW = 7 };

/// Where eight colours lie: as in color_scalar.c.
typedef struct {
    __m256i node[4], weight[4];
} place;

static inline __m256i set(int value) { return _mm256_set1_epi32(value); }

static inline place find(__m256i y, __m256i base, __m256i fu, __m256i fv) {
    const __m256i fy = _mm256_and_si256(y, set(STEP - 1));
    base = _mm256_add_epi32(base, _mm256_srli_epi32(y, SHIFT));
    const __m256i most = _mm256_max_epi32(fy, _mm256_max_epi32(fu, fv));
    const __m256i least = _mm256_min_epi32(fy, _mm256_min_epi32(fu, fv));
    const __m256i sum = _mm256_add_epi32(fy, _mm256_add_epi32(fu, fv));
    const __m256i middle = _mm256_sub_epi32(sum, _mm256_add_epi32(most, least));
    __m256i first = _mm256_blendv_epi8(set(V), set(U), _mm256_cmpeq_epi32(fu, most));
    first = _mm256_blendv_epi8(first, set(1), _mm256_cmpeq_epi32(fy, most));
    __m256i last = _mm256_blendv_epi8(set(1), set(U), _mm256_cmpeq_epi32(fu, least));
    last = _mm256_blendv_epi8(last, set(V), _mm256_cmpeq_epi32(fv, least));
    const __m256i all = _mm256_add_epi32(base, set(1 + U + V));
    return (place){
        {base, _mm256_add_epi32(base, first), _mm256_sub_epi32(all, last), all},
        {_mm256_sub_epi32(set(STEP), most), _mm256_sub_epi32(most, middle), _mm256_sub_epi32(middle, least), least},
    };
}

/// What the chroma of eight colours says of where they lie: the three nodes on the way along U and V at the lower luma, and between which
/// fractions of luma each counts.
typedef struct {
    __m256i base, first, last, most, least;
} chroma_place;

static inline chroma_place find_chroma(__m256i base, __m256i fu, __m256i fv) {
    // Of equal fractions either way is right: the node between them has no weight.
    const __m256i step = _mm256_blendv_epi8(set(U), set(V), _mm256_cmpgt_epi32(fv, fu));
    return (chroma_place){base, _mm256_add_epi32(base, step), _mm256_add_epi32(base, set(U + V)),
                          _mm256_max_epi32(fu, fv), _mm256_min_epi32(fu, fv)};
}

static inline chroma_place spread(chroma_place at, __m256i lanes) {
    return (chroma_place){_mm256_permutevar8x32_epi32(at.base, lanes), _mm256_permutevar8x32_epi32(at.first, lanes),
                          _mm256_permutevar8x32_epi32(at.last, lanes), _mm256_permutevar8x32_epi32(at.most, lanes),
                          _mm256_permutevar8x32_epi32(at.least, lanes)};
}

/// A node of chroma counts from one fraction to another. What lies below that of luma is the share of the upper luma.
static inline __m256i share(const burnish_color_table *table, __m256i node, __m256i from, __m256i to, __m256i luma) {
    // Each lane holds the entry and the one behind it, which is the next luma's.
    const __m256i entry = _mm256_i32gather_epi32((const int *)table->y, node, 2);
    const __m256i middle = _mm256_max_epi32(_mm256_min_epi32(luma, to), from);
    const __m256i upper = _mm256_slli_epi32(_mm256_sub_epi32(middle, from), 16);
    return _mm256_madd_epi16(entry, _mm256_or_si256(upper, _mm256_sub_epi32(to, middle)));
}

/// Eight sums, times STEP. The way through the tetrahedron has one step along luma, so three pairs of entries hold its four nodes.
static inline __m256i luma(const burnish_color_table *table, __m256i y, chroma_place at) {
    const __m256i fy = _mm256_and_si256(y, set(STEP - 1)), low = _mm256_srli_epi32(y, SHIFT);
    const __m256i zero = _mm256_setzero_si256();
    const __m256i below = share(table, _mm256_add_epi32(at.base, low), at.most, set(STEP), fy);
    const __m256i between = share(table, _mm256_add_epi32(at.first, low), at.least, at.most, fy);
    const __m256i above = share(table, _mm256_add_epi32(at.last, low), zero, at.least, fy);
    return _mm256_add_epi32(below, _mm256_add_epi32(between, above));
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
        const __m256i fu = _mm256_and_si256(u, set(STEP - 1)), fv = _mm256_and_si256(v, set(STEP - 1));
        const __m256i base = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srli_epi32(u, SHIFT), set(U)),
                                              _mm256_mullo_epi32(_mm256_srli_epi32(v, SHIFT), set(V)));
        const chroma_place at = find_chroma(base, fu, fv);
        const chroma_place left = spread(at, low), right = spread(at, high);
        const __m256i y00 = load(rows.from_y0, x, is_deep), y01 = load(rows.from_y0, x + 8, is_deep);
        const __m256i y10 = load(rows.from_y1, x, is_deep), y11 = load(rows.from_y1, x + 8, is_deep);
        const __m128i above = narrow(luma(table, y00, left), luma(table, y01, right), rows.dither0);
        const __m128i below = narrow(luma(table, y10, left), luma(table, y11, right), rows.dither1);
        _mm_storeu_si128((__m128i *)(rows.y0 + x), above);
        _mm_storeu_si128((__m128i *)(rows.y1 + x), below);
        const __m256i pairs = _mm256_hadd_epi32(_mm256_add_epi32(y00, y10), _mm256_add_epi32(y01, y11));
        const __m256i mean = _mm256_srli_epi32(_mm256_add_epi32(_mm256_permute4x64_epi64(pairs, 0xd8), set(2)), 2);
        const place colour = find(mean, base, fu, fv);
        __m256i sum_u = _mm256_setzero_si256(), sum_v = _mm256_setzero_si256();
        for (int i = 0; i < 4; i++) {
            const __m256i entry = _mm256_i32gather_epi32((const int *)table->uv, colour.node[i], 4);
            sum_u = _mm256_add_epi32(sum_u, _mm256_madd_epi16(entry, colour.weight[i]));
            sum_v = _mm256_add_epi32(sum_v, _mm256_madd_epi16(entry, _mm256_slli_epi32(colour.weight[i], 16)));
        }
        const __m128i chroma = narrow(sum_u, sum_v, rows.dither0);
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
