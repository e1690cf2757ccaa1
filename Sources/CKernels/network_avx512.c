#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "network_avx512.h"

BURNISH_TARGET_AVX512

/// Vectors in a block: with four times as many sums and as many inputs it fills all but two of the 32 registers.
enum { BLOCK = 6 };

/// The four weights of one output at one step, in every lane.
static inline __m512i weight(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
}

/// Sums of the four outputs of one group for `vectors` times 16 pixels: each step loads `vectors` inputs and four
/// weights for four times as many dot products, so that the loads hide behind them.
/// Every layer has a multiple of three steps.
static inline __attribute__((always_inline)) void convolve(__m512i *sums, int vectors, const uint8_t *const *taps,
                                                           ptrdiff_t at, const burnish_network_layer *layer,
                                                           int group) {
    const int8_t *weights = layer->tap_weights + (ptrdiff_t)group * layer->steps * 16;
    for (int c = 0; c < 4; c++)
        for (int v = 0; v < vectors; v++) sums[c * vectors + v] = _mm512_set1_epi32(layer->bias[4 * group + c]);
    for (int step = 0; step < layer->steps; step += 3) {
        for (int k = 0; k < 3; k++) {
            const uint8_t *tap = taps[step + k] + at;
            __m512i inputs[BLOCK];
            for (int v = 0; v < vectors; v++) inputs[v] = load(tap + 4 * LANES * v);
            for (int c = 0; c < 4; c++) {
                const __m512i w = weight(weights + 16 * (step + k) + 4 * c);
                for (int v = 0; v < vectors; v++)
                    sums[c * vectors + v] = _mm512_dpbusd_epi32(sums[c * vectors + v], inputs[v], w);
            }
        }
    }
}

static inline __m512i requantise(__m512i first, __m512i second, const burnish_network_layer *layer, int group,
                                 int pair) {
    const __m512i mult = _mm512_broadcast_i32x4(
        _mm_loadu_si128((const __m128i *)(layer->mult + 16 * group + 8 * pair)));
    return wide_values(first, second, _mm512_set1_epi32(layer->shift), mult);
}

static inline __m512i requantise_narrow(__m512i first, __m512i second, const burnish_network_layer *layer, int group,
                                        int pair) {
    const __m512i mult = _mm512_broadcast_i32x4(
        _mm_loadu_si128((const __m128i *)(layer->mult + 16 * group + 8 * pair)));
    return narrow_values(first, second, _mm512_set1_epi16((int16_t)layer->shift), mult);
}

static inline __attribute__((always_inline)) void layer_block(uint8_t *out, int vectors, const uint8_t *const *taps,
                                                              int x, const burnish_network_layer *layer, int group) {
    __m512i sums[4 * BLOCK];
    convolve(sums, vectors, taps, 4 * (ptrdiff_t)x, layer, group);
    uint8_t *to = out + 4 * x;
    // Unrolled, because otherwise the sums would go through memory.
    if (layer->narrow[group]) {
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; v++) {
            const __m512i upper = requantise_narrow(sums[v], sums[vectors + v], layer, group, 0);
            const __m512i lower = requantise_narrow(sums[2 * vectors + v], sums[3 * vectors + v], layer, group, 1);
            store(to + 4 * LANES * v, pixels(upper, lower));
        }
        return;
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; v++) {
        const __m512i upper = requantise(sums[v], sums[vectors + v], layer, group, 0);
        const __m512i lower = requantise(sums[2 * vectors + v], sums[3 * vectors + v], layer, group, 1);
        store(to + 4 * LANES * v, pixels(upper, lower));
    }
}

/// Four of one channel and four of the other in each quarter become pairs.
static inline __m512i interleave(__m512i v) {
    const __m512i pairs = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    return _mm512_shuffle_epi8(v, pairs);
}

/// `stretch` is the distance of a vector's pixels in the row: 1, or the number of vectors of a row in stripes.
static inline __attribute__((always_inline)) void residual_block(int16_t *upper, int16_t *lower, int vectors,
                                                                 const uint8_t *const *taps, int x,
                                                                 const burnish_network_layer *layer, int stretch) {
    __m512i sums[4 * BLOCK];
    convolve(sums, vectors, taps, 4 * (ptrdiff_t)x, layer, 0);
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; v++) {
        const __m512i above = interleave(requantise(sums[v], sums[vectors + v], layer, 0, 0));
        const __m512i below = interleave(requantise(sums[2 * vectors + v], sums[3 * vectors + v], layer, 0, 1));
        if (stretch == 1) {
            const int at = 2 * (x + LANES * v);
            store(upper + at, above);
            store(lower + at, below);
        } else {
            const int at = 2 * (x / LANES + v);
            _mm512_i32scatter_epi32(upper + at, stretches(stretch), above, 4);
            _mm512_i32scatter_epi32(lower + at, stretches(stretch), below, 4);
        }
    }
}

/// Does a row in blocks of at most BLOCK vectors, as equal as possible, because a single vector would wait for its own
/// results. `DO` gets the number of a block's vectors, a constant, and its first pixel.
#define BLOCKS(width, DO) \
    do { \
        const int all = ((width) + LANES - 1) / LANES; \
        const int blocks = (all + BLOCK - 1) / BLOCK; \
        const int smaller = all / blocks, larger = all % blocks; \
        for (int n = 0, x = 0, vectors; n < blocks; n++, x += vectors * LANES) { \
            vectors = smaller + (n < larger); \
            switch (vectors) { \
            case 1: DO(1, x); break; \
            case 2: DO(2, x); break; \
            case 3: DO(3, x); break; \
            case 4: DO(4, x); break; \
            case 5: DO(5, x); break; \
            default: DO(BLOCK, x); \
            } \
        } \
    } while (0)

void burnish_network_layer_avx512(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                                  const burnish_network_layer *layer) {
#define DO(vectors, x) \
    for (int group = 0; group < layer->groups; group++) layer_block(out + plane * group, vectors, taps, x, layer, group)
    BLOCKS(width, DO);
#undef DO
}

static void residual(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                     const burnish_network_layer *layer) {
#define DO(vectors, x) residual_block(upper, lower, vectors, taps, x, layer, 1)
    BLOCKS(width, DO);
#undef DO
}

void burnish_network_residual_striped_avx512(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                                             const burnish_network_layer *layer) {
    const int stretch = burnish_network_vectors(width);
    if (stretch == 1) {
        residual(upper, lower, taps, width, layer);
        return;
    }
#define DO(vectors, x) residual_block(upper, lower, vectors, taps, x, layer, stretch)
    BLOCKS(width, DO);
#undef DO
}

/// In each quarter, bytes x ... x + 6 and one more of four neighbouring x, from 19 bytes (32 are read).
static inline __m512i quarters(const uint8_t *p) {
    const __m512i pairs = _mm512_setr_epi32(0, 1, 0, 1, 1, 2, 1, 2, 2, 3, 2, 3, 3, 4, 3, 4);
    return _mm512_permutexvar_epi32(pairs, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p)));
}

/// The same 16 bytes in every quarter.
static inline __m512i everywhere(__m128i v) { return _mm512_broadcast_i32x4(v); }

static void expand(uint8_t *out, const uint8_t *row, int width) {
    const __m512i windows = everywhere(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    for (int x = 0; x < width; x += LANES) store(out + 4 * x, _mm512_shuffle_epi8(quarters(row + x), windows));
}

static void phases(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x += LANES) {
        const __m256i above = _mm256_loadu_si256((const __m256i *)(upper + 2 * x));
        const __m256i below = _mm256_loadu_si256((const __m256i *)(lower + 2 * x));
        const __m256i even = _mm256_unpacklo_epi16(above, below), odd = _mm256_unpackhi_epi16(above, below);
        _mm256_storeu_si256((__m256i *)(out + 4 * x), _mm256_permute2x128_si256(even, odd, 0x20));
        _mm256_storeu_si256((__m256i *)(out + 4 * x + 32), _mm256_permute2x128_si256(even, odd, 0x31));
    }
}

static void cubic(int16_t *out, const uint8_t *row, int width) {
    const __m512i even_windows = everywhere(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    const __m512i odd_windows = everywhere(_mm_setr_epi8(1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7));
    // Four weights in bytes, the first one lowest: -3, 29, 111, -9, and the same backwards.
    const __m512i even_weights = _mm512_set1_epi32((int32_t)0xf76f1dfdu);
    const __m512i odd_weights = _mm512_set1_epi32((int32_t)0xfd1d6ff7u), round = _mm512_set1_epi32(4);
    for (int x = 0; x < width; x += LANES) {
        const __m512i bytes = quarters(row + x - 2);
        const __m512i even = _mm512_dpbusd_epi32(round, _mm512_shuffle_epi8(bytes, even_windows), even_weights);
        const __m512i odd = _mm512_dpbusd_epi32(round, _mm512_shuffle_epi8(bytes, odd_windows), odd_weights);
        const __m512i high = _mm512_slli_epi32(odd, 13);
        store(out + 2 * x, _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srai_epi32(even, 3), high));
    }
}

/// 32 samples, before the last clamp.
static inline __m512i merge_block(const int16_t *const *rows, __m512i first, __m512i second, const int16_t *residual,
                                  int x) {
    const __m512i a = load(rows[0] + x), b = load(rows[1] + x), c = load(rows[2] + x), d = load(rows[3] + x);
    // Add the rounding of the last shift together with the first one's: interpolation stays far from the ends of 16
    // bits.
    const __m512i round = _mm512_set1_epi32(16 + (32 << 5));
    const __m512i low = _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(round, _mm512_unpacklo_epi16(a, b), first),
                                            _mm512_unpacklo_epi16(c, d), second);
    const __m512i high = _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(round, _mm512_unpackhi_epi16(a, b), first),
                                             _mm512_unpackhi_epi16(c, d), second);
    const __m512i v = _mm512_packs_epi32(_mm512_srai_epi32(low, 5), _mm512_srai_epi32(high, 5));
    return _mm512_srai_epi16(_mm512_adds_epi16(v, load(residual + x)), 6);
}

/// The bytes of 64 samples, back in the row's order.
static inline __m512i merge_bytes(__m512i first, __m512i second) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi16(first, second));
}

static void merge(uint8_t *out, const int16_t *const *rows, const int16_t *weights, const int16_t *residual,
                  int width) {
    const __m512i first = _mm512_unpacklo_epi16(_mm512_set1_epi16(weights[0]), _mm512_set1_epi16(weights[1]));
    const __m512i second = _mm512_unpacklo_epi16(_mm512_set1_epi16(weights[2]), _mm512_set1_epi16(weights[3]));
    int x = 0;
    for (; x + 64 <= width; x += 64)
        store(out + x, merge_bytes(merge_block(rows, first, second, residual, x),
                                   merge_block(rows, first, second, residual, x + 32)));
    for (; x < width; x += 32) {
        const __m512i v = merge_block(rows, first, second, residual, x);
        const int left = width - x;
        const __mmask32 kept = left >= 32 ? 0xffffffffu : (1u << left) - 1;
        _mm256_mask_storeu_epi8(out + x, kept, _mm512_castsi512_si256(merge_bytes(v, v)));
    }
}

void burnish_network_init_avx512(burnish_network_kernels *kernels) {
    *kernels = (burnish_network_kernels){expand, burnish_network_layer_avx512, residual, cubic, merge, phases};
}

BURNISH_TARGET_END
#endif
