#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "target.h"

BURNISH_TARGET_AVX2

/// Pixels in a vector of 32-bit lanes.
enum { LANES = 8 };

static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
/// The four weights of one output at one step, in every lane.
static inline __m256i weight(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
}

static void expand(uint8_t *out, const uint8_t *row, int width) {
    // Bytes x ... x + 3 of eight neighbouring x, from eleven bytes.
    const __m256i windows = _mm256_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, //
                                             4, 5, 6, 7, 5, 6, 7, 8, 6, 7, 8, 9, 7, 8, 9, 10);
    for (int x = 0; x < width; x += LANES) {
        const __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + x)));
        store(out + 4 * x, _mm256_shuffle_epi8(bytes, windows));
    }
}

static void phases(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x += LANES) {
        const __m128i above = _mm_loadu_si128((const __m128i *)(upper + 2 * x));
        const __m128i below = _mm_loadu_si128((const __m128i *)(lower + 2 * x));
        _mm_storeu_si128((__m128i *)(out + 4 * x), _mm_unpacklo_epi16(above, below));
        _mm_storeu_si128((__m128i *)(out + 4 * x + 16), _mm_unpackhi_epi16(above, below));
    }
}

/// Sums of the four outputs of one group for `vectors` times eight pixels. Products are added in 16 bits for the length
/// of a run, which cannot overflow (see network.h), and widened after it. So vpmaddubsw and vpaddw do most of the work.
static inline __attribute__((always_inline)) void convolve(__m256i *sums, int vectors, const uint8_t *const *taps,
                                                           ptrdiff_t at, const burnish_network_layer *layer,
                                                           int group) {
    const int8_t *weights = layer->weights + (ptrdiff_t)group * layer->steps * 16;
    const uint8_t *order = layer->order + (ptrdiff_t)group * layer->steps;
    const uint8_t *runs = layer->runs + (ptrdiff_t)group * (layer->steps + 1);
    const __m256i ones = _mm256_set1_epi16(1);
    for (int c = 0; c < 4; c++)
        for (int v = 0; v < vectors; v++) sums[c * vectors + v] = _mm256_set1_epi32(layer->bias[4 * group + c]);
    for (; *runs; runs++) {
        __m256i partial[8], inputs[2];
        const uint8_t *tap = taps[*order++] + at;
        for (int v = 0; v < vectors; v++) inputs[v] = load(tap + 4 * LANES * v);
        for (int c = 0; c < 4; c++) {
            const __m256i w = weight(weights + 4 * c);
            for (int v = 0; v < vectors; v++) partial[c * vectors + v] = _mm256_maddubs_epi16(inputs[v], w);
        }
        weights += 16;
        for (int n = *runs - 1; n > 0; n--) {
            tap = taps[*order++] + at;
            for (int v = 0; v < vectors; v++) inputs[v] = load(tap + 4 * LANES * v);
            for (int c = 0; c < 4; c++) {
                const __m256i w = weight(weights + 4 * c);
                for (int v = 0; v < vectors; v++)
                    partial[c * vectors + v] = _mm256_add_epi16(partial[c * vectors + v],
                                                                _mm256_maddubs_epi16(inputs[v], w));
            }
            weights += 16;
        }
        for (int i = 0; i < 4 * vectors; i++) sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(partial[i], ones));
    }
}

/// Two channels' values before the last clamp, from their sums: in each half four of the first, then four of the
/// second.
static inline __m256i requantise(__m256i first, __m256i second, const burnish_network_layer *layer, int group,
                                 int pair) {
    const __m128i shift = _mm_cvtsi32_si128(layer->shift);
    const __m256i mult = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)(layer->mult + 16 * group + 8 * pair)));
    return _mm256_mulhrs_epi16(_mm256_packs_epi32(_mm256_sra_epi32(first, shift), _mm256_sra_epi32(second, shift)),
                               mult);
}

static inline __attribute__((always_inline)) void layer_block(uint8_t *out, int vectors, const uint8_t *const *taps,
                                                              int x, const burnish_network_layer *layer, int group) {
    const __m256i transpose = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m256i sums[8];
    convolve(sums, vectors, taps, 4 * (ptrdiff_t)x, layer, group);
    for (int v = 0; v < vectors; v++) {
        const __m256i upper = requantise(sums[v], sums[vectors + v], layer, group, 0);
        const __m256i lower = requantise(sums[2 * vectors + v], sums[3 * vectors + v], layer, group, 1);
        store(out + 4 * (x + LANES * v), _mm256_shuffle_epi8(_mm256_packus_epi16(upper, lower), transpose));
    }
}

static void layer(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                  const burnish_network_layer *layer) {
    int x = 0;
    for (; x + LANES < width; x += 2 * LANES)
        for (int group = 0; group < layer->groups; group++) layer_block(out + plane * group, 2, taps, x, layer, group);
    if (x < width)
        for (int group = 0; group < layer->groups; group++) layer_block(out + plane * group, 1, taps, x, layer, group);
}

/// Four of one channel and four of the other in each half become pairs.
static inline __m256i interleave(__m256i v) { return _mm256_unpacklo_epi16(v, _mm256_srli_si256(v, 8)); }

static inline __attribute__((always_inline)) void residual_block(int16_t *upper, int16_t *lower, int vectors,
                                                                 const uint8_t *const *taps, int x,
                                                                 const burnish_network_layer *layer) {
    __m256i sums[8];
    convolve(sums, vectors, taps, 4 * (ptrdiff_t)x, layer, 0);
    for (int v = 0; v < vectors; v++) {
        const int at = 2 * (x + LANES * v);
        store(upper + at, interleave(requantise(sums[v], sums[vectors + v], layer, 0, 0)));
        store(lower + at, interleave(requantise(sums[2 * vectors + v], sums[3 * vectors + v], layer, 0, 1)));
    }
}

static void residual(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                     const burnish_network_layer *layer) {
    int x = 0;
    for (; x + LANES < width; x += 2 * LANES) residual_block(upper, lower, 2, taps, x, layer);
    if (x < width) residual_block(upper, lower, 1, taps, x, layer);
}

static void cubic(int16_t *out, const uint8_t *row, int width) {
    // The sum of two taps fits 16 bits and that of four does not. The sum less 8192 fits, and the 8192 are added back
    // after the shift (tools/train/README.md). Pairs of weights in bytes: -3 and 29, 111 and -9; then -9 and 111, 29
    // and -3.
    const __m256i outer_even = _mm256_set1_epi16((int16_t)0x1dfd), inner_even = _mm256_set1_epi16((int16_t)0xf76f);
    const __m256i outer_odd = _mm256_set1_epi16((int16_t)0x6ff7), inner_odd = _mm256_set1_epi16((int16_t)0xfd1d);
    const __m256i less = _mm256_set1_epi16(4 - 8192), back = _mm256_set1_epi16(1024);
    for (int x = 0; x < width; x += 16) {
        __m256i at[5];
        for (int k = 0; k < 5; k++)
            at[k] = _mm256_permute4x64_epi64(
                _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(row + x - 2 + k))), 0xd8);
        const __m256i even = _mm256_add_epi16(
            _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_unpacklo_epi8(at[0], at[1]), outer_even), less),
            _mm256_maddubs_epi16(_mm256_unpacklo_epi8(at[2], at[3]), inner_even));
        const __m256i odd = _mm256_add_epi16(
            _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_unpacklo_epi8(at[1], at[2]), outer_odd), less),
            _mm256_maddubs_epi16(_mm256_unpacklo_epi8(at[3], at[4]), inner_odd));
        const __m256i e = _mm256_add_epi16(_mm256_srai_epi16(even, 3), back);
        const __m256i o = _mm256_add_epi16(_mm256_srai_epi16(odd, 3), back);
        const __m256i low = _mm256_unpacklo_epi16(e, o), high = _mm256_unpackhi_epi16(e, o);
        store(out + 2 * x, _mm256_permute2x128_si256(low, high, 0x20));
        store(out + 2 * x + 16, _mm256_permute2x128_si256(low, high, 0x31));
    }
}

/// 16 samples.
static inline __m128i merge_block(const int16_t *const *rows, __m256i first, __m256i second, const int16_t *residual,
                                  int x) {
    const __m256i a = load(rows[0] + x), b = load(rows[1] + x), c = load(rows[2] + x), d = load(rows[3] + x);
    const __m256i round = _mm256_set1_epi32(16);
    const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), first),
                                         _mm256_madd_epi16(_mm256_unpacklo_epi16(c, d), second));
    const __m256i high = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), first),
                                          _mm256_madd_epi16(_mm256_unpackhi_epi16(c, d), second));
    __m256i v = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, round), 5),
                                   _mm256_srai_epi32(_mm256_add_epi32(high, round), 5));
    v = _mm256_adds_epi16(_mm256_add_epi16(v, _mm256_set1_epi16(32)), load(residual + x));
    v = _mm256_srai_epi16(v, 6);
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static void merge(uint8_t *out, const int16_t *const *rows, const int16_t *weights, const int16_t *residual,
                  int width) {
    const __m256i first = _mm256_unpacklo_epi16(_mm256_set1_epi16(weights[0]), _mm256_set1_epi16(weights[1]));
    const __m256i second = _mm256_unpacklo_epi16(_mm256_set1_epi16(weights[2]), _mm256_set1_epi16(weights[3]));
    int x = 0;
    for (; x + 16 <= width; x += 16)
        _mm_storeu_si128((__m128i *)(out + x), merge_block(rows, first, second, residual, x));
    if (x == width) return;
    uint8_t block[16];
    _mm_storeu_si128((__m128i *)block, merge_block(rows, first, second, residual, x));
    memcpy(out + x, block, (size_t)(width - x));
}

void burnish_network_init_avx2(burnish_network_kernels *kernels) {
    *kernels = (burnish_network_kernels){expand, layer, residual, cubic, merge, phases};
}

BURNISH_TARGET_END
#endif
