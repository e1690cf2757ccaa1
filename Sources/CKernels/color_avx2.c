#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "color_rows.h"
#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

enum { STEP = BURNISH_COLOR_STEP, SHIFT = 5, NARROW = 7, BLOCK = 32 };

// A colour's way through its tetrahedron has one step along luma, and the entries of the lower and the upper luma are neighbours. So three
// pairs of entries hold its four corners: at the lowest chroma, where U or V is the upper one, and at the highest chroma.
//
// A block is 32 samples of two rows with their 16 samples of chroma. Vectors hold 16 numbers. Where a number of chroma serves two samples
// of luma, unpacking gives two vectors: of the samples 0-7 and 16-23, and of 8-15 and 24-31. Luma is loaded in this order.

static inline __m256i set(int value) { return _mm256_set1_epi16((int16_t)value); }

/// What the chroma of sixteen colours says of where they lie.
typedef struct {
    /// Twice the cell without luma; the larger and the smaller fraction of U and V; all bits where that of U is not smaller.
    __m256i cell, most, least, by_u;
} place;

static inline __m256i chroma(const burnish_color_table *table, __m256i sample) {
    const __m256i from_grey = _mm256_sub_epi16(sample, set(512));
    // Eight times the distance, since the product's upper bits are those from 32768 on.
    const __m256i distance = _mm256_slli_epi16(_mm256_abs_epi16(from_grey), 3), knee = set(8 * table->knee);
    const __m256i inner = _mm256_min_epi16(distance, knee), outer = _mm256_sub_epi16(distance, inner);
    const __m256i place = _mm256_add_epi16(_mm256_mulhrs_epi16(inner, set(table->inner)),
                                           _mm256_mulhrs_epi16(outer, set(table->outer)));
    return _mm256_add_epi16(_mm256_sign_epi16(place, from_grey), set(512));
}

static inline place find(__m256i u, __m256i v) {
    const __m256i fu = _mm256_and_si256(u, set(STEP - 1)), fv = _mm256_and_si256(v, set(STEP - 1));
    const __m256i cell = _mm256_add_epi16(_mm256_sub_epi16(u, fu), _mm256_slli_epi16(_mm256_sub_epi16(v, fv), 5));
    return (place){_mm256_slli_epi16(cell, 1), _mm256_max_epi16(fu, fv), _mm256_min_epi16(fu, fv),
                   _mm256_cmpgt_epi16(set(1), _mm256_sub_epi16(fv, fu))};
}

static inline place lower(place at) {
    return (place){_mm256_unpacklo_epi16(at.cell, at.cell), _mm256_unpacklo_epi16(at.most, at.most),
                   _mm256_unpacklo_epi16(at.least, at.least), _mm256_unpacklo_epi16(at.by_u, at.by_u)};
}
static inline place upper(place at) {
    return (place){_mm256_unpackhi_epi16(at.cell, at.cell), _mm256_unpackhi_epi16(at.most, at.most),
                   _mm256_unpackhi_epi16(at.least, at.least), _mm256_unpackhi_epi16(at.by_u, at.by_u)};
}

/// Sixteen colours: where their cells begin, in units of eight bytes, and the weights of the eight corners. `weight[k]` has colour k and
/// colour k + 8.
typedef struct {
    uint16_t cell[16] __attribute__((aligned(32)));
    __m256i weight[8];
} corners;

static inline __attribute__((always_inline)) corners weigh(__m256i y, place at) {
    corners result;
    const __m256i fy = _mm256_and_si256(y, set(STEP - 1));
    const __m256i cell = _mm256_add_epi16(at.cell, _mm256_srli_epi16(_mm256_sub_epi16(y, fy), 4));
    _mm256_store_si256((__m256i *)result.cell, cell);
    // A pair counts between two fractions. What lies below luma's is the upper luma's share.
    const __m256i beyond = _mm256_max_epi16(fy, at.most), below = _mm256_min_epi16(fy, at.least);
    const __m256i middle = _mm256_min_epi16(_mm256_max_epi16(fy, at.least), at.most);
    const __m256i low0 = _mm256_sub_epi16(set(STEP), beyond), low1 = _mm256_sub_epi16(beyond, at.most);
    const __m256i mid0 = _mm256_sub_epi16(at.most, middle), mid1 = _mm256_sub_epi16(middle, at.least);
    const __m256i high0 = _mm256_sub_epi16(at.least, below);
    const __m256i u0 = _mm256_and_si256(mid0, at.by_u), u1 = _mm256_and_si256(mid1, at.by_u);
    const __m256i v0 = _mm256_andnot_si256(at.by_u, mid0), v1 = _mm256_andnot_si256(at.by_u, mid1);
    for (int half = 0; half < 2; half++) {
        const __m256i low = half ? _mm256_unpackhi_epi16(low0, low1) : _mm256_unpacklo_epi16(low0, low1);
        const __m256i u = half ? _mm256_unpackhi_epi16(u0, u1) : _mm256_unpacklo_epi16(u0, u1);
        const __m256i v = half ? _mm256_unpackhi_epi16(v0, v1) : _mm256_unpacklo_epi16(v0, v1);
        const __m256i high = half ? _mm256_unpackhi_epi16(high0, below) : _mm256_unpacklo_epi16(high0, below);
        const __m256i first01 = _mm256_unpacklo_epi32(low, u), first23 = _mm256_unpackhi_epi32(low, u);
        const __m256i last01 = _mm256_unpacklo_epi32(v, high), last23 = _mm256_unpackhi_epi32(v, high);
        result.weight[4 * half] = _mm256_unpacklo_epi64(first01, last01);
        result.weight[4 * half + 1] = _mm256_unpackhi_epi64(first01, last01);
        result.weight[4 * half + 2] = _mm256_unpacklo_epi64(first23, last23);
        result.weight[4 * half + 3] = _mm256_unpackhi_epi64(first23, last23);
    }
    return result;
}

/// The entries of a colour's cell. Its number is read back from memory. Without `volatile` the compiler takes it out of the vector, which
/// costs twice the time.
static inline const __m128i *entries(const int16_t *cells, const corners *at, int k) {
    return (const __m128i *)((const char *)cells + 8 * (size_t)((const volatile uint16_t *)at->cell)[k]);
}

static inline __attribute__((always_inline)) __m256i weighted(const int16_t *cells, const corners *at, int k) {
    const __m128i low = _mm_load_si128(entries(cells, at, k)), high = _mm_load_si128(entries(cells, at, k + 8));
    return _mm256_madd_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), at->weight[k]);
}

/// Four sums and four, of the colours from k on, and from k + 8 on.
static inline __attribute__((always_inline)) __m256i sums(const int16_t *cells, const corners *at, int k) {
    const __m256i sums01 = _mm256_hadd_epi32(weighted(cells, at, k), weighted(cells, at, k + 1));
    const __m256i sums23 = _mm256_hadd_epi32(weighted(cells, at, k + 2), weighted(cells, at, k + 3));
    return _mm256_srli_epi32(_mm256_hadd_epi32(sums01, sums23), SHIFT);
}

/// Sixteen samples of 8 bits in 16.
static inline __attribute__((always_inline)) __m256i look_up(const int16_t *cells, const corners *at, __m256i dither) {
    const __m256i words = _mm256_packus_epi32(sums(cells, at, 0), sums(cells, at, 4));
    return _mm256_srli_epi16(_mm256_add_epi16(words, dither), NARROW);
}

static inline __attribute__((always_inline)) __m256i luma(const burnish_color_table *table, __m256i y, place at,
                                                          __m256i dither) {
    const corners found = weigh(y, at);
    return look_up(table->y, &found, dither);
}

/// Sixteen samples of 10 bits; the second eight begin `apart` samples behind the first.
static inline __m256i load(const void *row, int x, int apart, int is_deep) {
    if (!is_deep) {
        const uint8_t *from = (const uint8_t *)row + x;
        const __m128i bytes = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)from),
                                                 _mm_loadl_epi64((const __m128i *)(from + apart)));
        return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 2);
    }
    const uint16_t *from = (const uint16_t *)row + x;
    const __m128i low = _mm_loadu_si128((const __m128i *)from), high = _mm_loadu_si128((const __m128i *)(from + apart));
    return _mm256_min_epu16(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), set(1023));
}

static inline __attribute__((always_inline)) void block(const burnish_color_table *table, burnish_color_rows rows,
                                                        int x, int is_deep) {
    const __m256i u = load(rows.from_u, x / 2, 8, is_deep), v = load(rows.from_v, x / 2, 8, is_deep);
    const place at = find(chroma(table, u), chroma(table, v)), left = lower(at), right = upper(at);
    const __m256i dither0 = _mm256_loadu_si256((const __m256i *)rows.dither0);
    const __m256i dither1 = _mm256_loadu_si256((const __m256i *)rows.dither1);
    const __m256i y00 = load(rows.from_y0, x, 16, is_deep), y01 = load(rows.from_y0, x + 8, 16, is_deep);
    const __m256i y10 = load(rows.from_y1, x, 16, is_deep), y11 = load(rows.from_y1, x + 8, 16, is_deep);
    const __m256i pairs = _mm256_hadd_epi16(_mm256_add_epi16(y00, y10), _mm256_add_epi16(y01, y11));
    const corners found = weigh(_mm256_srli_epi16(_mm256_add_epi16(pairs, set(2)), 2), at);
    const __m256i above = _mm256_packus_epi16(luma(table, y00, left, dither0), luma(table, y01, right, dither0));
    const __m256i below = _mm256_packus_epi16(luma(table, y10, left, dither1), luma(table, y11, right, dither1));
    const __m256i colors = _mm256_packus_epi16(look_up(table->u, &found, dither0), look_up(table->v, &found, dither0));
    const __m256i ordered = _mm256_permute4x64_epi64(colors, 0xd8);
    _mm256_storeu_si256((__m256i *)(rows.y0 + x), above);
    _mm256_storeu_si256((__m256i *)(rows.y1 + x), below);
    _mm_storeu_si128((__m128i *)(rows.u + x / 2), _mm256_castsi256_si128(ordered));
    _mm_storeu_si128((__m128i *)(rows.v + x / 2), _mm256_extracti128_si256(ordered, 1));
}

/// The last columns, fewer than a block. An odd row's last sample stands for the one beside it.
static void rest(const burnish_color_table *table, burnish_color_rows rows, int x, int count, int is_deep) {
    uint16_t in[4][BLOCK] = {{0}};
    uint8_t out[4][BLOCK];
    const int size = is_deep ? 2 : 1, half = (count + 1) / 2;
    const void *const from[4] = {rows.from_y0, rows.from_y1, rows.from_u, rows.from_v};
    uint8_t *const to[4] = {rows.y0, rows.y1, rows.u, rows.v};
    for (int row = 0; row < 4; row++) {
        const int first = row < 2 ? x : x / 2, length = row < 2 ? count : half;
        char *copy = (char *)in[row];
        memcpy(copy, (const char *)from[row] + first * size, (size_t)(length * size));
        if (row < 2 && count % 2) memcpy(copy + count * size, copy + (count - 1) * size, (size_t)size);
    }
    burnish_color_rows copies = rows;
    copies.from_y0 = in[0], copies.from_y1 = in[1], copies.from_u = in[2], copies.from_v = in[3];
    copies.y0 = out[0], copies.y1 = out[1], copies.u = out[2], copies.v = out[3];
    block(table, copies, 0, is_deep);
    for (int row = 0; row < 4; row++)
        memcpy(to[row] + (row < 2 ? x : x / 2), out[row], (size_t)(row < 2 ? count : half));
}

static inline void rows(const burnish_color_table *table, burnish_color_rows rows, int width, int is_deep) {
    int x = 0;
    for (; x + BLOCK <= width; x += BLOCK) block(table, rows, x, is_deep);
    if (x < width) rest(table, rows, x, width - x, is_deep);
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
