#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "families.h"
#include "fusion_constants.h"
#include "target.h"

#pragma STDC FP_CONTRACT OFF

BURNISH_TARGET_AVX512

enum { PICTURES = BURNISH_FUSION_PICTURES, CHOICES = BURNISH_FUSION_CHOICES };
enum { TILES = BURNISH_FUSION_TILES, PLACES = BURNISH_FUSION_PLACES };
enum {
    /// Pixels in a block: with two vectors of outputs each, 24 of the 32 registers hold sums.
    BLOCK = 12,
    /// The same where the step is 2. More pixels would read beyond the margin to the right of a row.
    WIDE_BLOCK = 8,
};

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }
static inline void store(void *p, __m512i v) { _mm512_storeu_si512(p, v); }
/// Half a vector. The upper half is of no account.
static inline __m512i load_half(const void *p) {
    return _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p));
}
/// Two neighbouring channels of a pixel, in every lane.
static inline __m512i pair(const int16_t *p) {
    int32_t both;
    memcpy(&both, p, sizeof both);
    return _mm512_set1_epi32(both);
}

/// Weights or biases of the first and the second 16 outputs of 8, 16, 24 or 32.
static inline __m512i first_vector(const void *p, const int outputs) { return outputs > 8 ? load(p) : load_half(p); }
static inline __m512i second_vector(const void *p, const int outputs) { return outputs > 24 ? load(p) : load_half(p); }

/// Where the weights of one pair of inputs lie, by vectors of 16 outputs.
typedef struct {
    const int16_t *first, *second;
    /// Numbers from one pair to the next.
    ptrdiff_t step;
} weight_places;

/// Some outputs of a row: as many as the packed weights have side by side, or twice 16.
typedef struct {
    int count;
    weight_places weights;
} output_chunk;

/// The chunk of outputs from `c` on. Each output has `pairs` pairs of weights.
static inline output_chunk chunk_at(int c, int outputs, const int16_t *weights, ptrdiff_t pairs) {
    const int left = (outputs - c) / 8, vectors = burnish_fusion_chunk(left);
    if (vectors == 2 && burnish_fusion_chunk(left - 2) == 2)
        return (output_chunk){32, {weights, weights + 32 * pairs, 32}};
    return (output_chunk){8 * vectors, {weights, weights + (vectors == 3 ? 32 : 0), 16 * vectors}};
}

/// Adds the products of `count` numbers that follow each other, an even number, of each pixel.
static inline __attribute__((always_inline)) void add_products(__m512i *first, __m512i *second, const int16_t *in,
                                                               int count, ptrdiff_t step, weight_places at,
                                                               const int pixels, const int outputs) {
    // One pair at a time: of two products that are added to one sum, the compiler would make one without vpdpwssd.
#pragma clang loop unroll(disable)
    for (const int16_t *end = in + count; in < end; in += 2, at.first += at.step, at.second += at.step) {
        const __m512i w = first_vector(at.first, outputs);
        const __m512i more = outputs > 16 ? second_vector(at.second, outputs) : w;
#pragma clang loop unroll(full)
        for (int p = 0; p < pixels; p++) {
            const __m512i both = pair(in + p * step);
            first[p] = _mm512_dpwssd_epi32(first[p], both, w);
            if (outputs > 16) second[p] = _mm512_dpwssd_epi32(second[p], both, more);
        }
    }
}

/// Writes 16 results.
static inline void finish_half(int16_t *out, __m512i sums, __m512i shift, const int16_t *added, int positive) {
    __m256i v = _mm512_cvtsepi32_epi16(_mm512_srav_epi32(sums, shift));
    if (added) v = _mm256_adds_epi16(v, _mm256_loadu_si256((const __m256i *)added));
    if (positive) v = _mm256_max_epi16(v, _mm256_setzero_si256());
    _mm256_storeu_si256((__m256i *)out, v);
}

/// Writes 8 results.
static inline void finish_quarter(int16_t *out, __m512i sums, __m512i shift, const int16_t *added, int positive) {
    __m128i v = _mm256_castsi256_si128(_mm512_cvtsepi32_epi16(_mm512_srav_epi32(sums, shift)));
    if (added) v = _mm_adds_epi16(v, _mm_loadu_si128((const __m128i *)added));
    if (positive) v = _mm_max_epi16(v, _mm_setzero_si128());
    _mm_storeu_si128((__m128i *)out, v);
}

/// Writes a pixel's results.
static inline __attribute__((always_inline)) void finish(int16_t *out, __m512i first, __m512i second, __m512i shift,
                                                         const int16_t *added, int positive, const int outputs) {
    if (outputs == 32) {
        const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
        __m512i v = _mm512_packs_epi32(_mm512_srav_epi32(first, shift), _mm512_srav_epi32(second, shift));
        v = _mm512_permutexvar_epi64(order, v);
        if (added) v = _mm512_adds_epi16(v, load(added));
        if (positive) v = _mm512_max_epi16(v, _mm512_setzero_si512());
        store(out, v);
        return;
    }
    if (outputs == 8) finish_quarter(out, first, shift, added, positive);
    else finish_half(out, first, shift, added, positive);
    if (outputs == 24) finish_quarter(out + 16, second, shift, added ? added + 16 : NULL, positive);
}

/// `outputs` of `pixels` pixels, whose sums stay in registers.
static inline __attribute__((always_inline)) void block(int16_t *out, const int16_t *const *rows, const int16_t *added,
                                                        int positive, int x, const burnish_fusion_layer *layer,
                                                        weight_places at, const int32_t *bias, const int pixels,
                                                        const int outputs) {
    __m512i first[BLOCK], second[BLOCK];
    const ptrdiff_t step = (ptrdiff_t)layer->step * layer->inputs;
    const int across = layer->kernel * layer->inputs;
    for (int p = 0; p < pixels; p++) {
        first[p] = first_vector(bias, outputs);
        second[p] = outputs > 16 ? second_vector(bias + 16, outputs) : first[p];
    }
    for (int row = 0; row < layer->kernel; row++) {
        add_products(first, second, rows[row] + x * step, across, step, at, pixels, outputs);
        at.first += at.step * across / 2, at.second += at.step * across / 2;
    }
    const __m512i shift = _mm512_set1_epi32(layer->shift);
    // Unrolled, because otherwise the sums would go through memory.
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++) {
        const ptrdiff_t to = (ptrdiff_t)layer->outputs * (x + p);
        finish(out + to, first[p], second[p], shift, added ? added + to : NULL, positive, outputs);
    }
}

/// Calls `DO` with the number of a chunk's outputs as a constant.
#define BY_OUTPUTS(count, DO) \
    do { \
        switch (count) { \
        case 32: DO(32); break; \
        case 24: DO(24); break; \
        case 16: DO(16); break; \
        default: DO(8); \
        } \
    } while (0)

static void layer(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                  const burnish_fusion_layer *layer) {
    const int16_t *weights = layer->packed;
    const ptrdiff_t pairs = (ptrdiff_t)layer->kernel * layer->kernel * layer->inputs / 2;
    for (int c = 0; c < layer->outputs;) {
        const output_chunk chunk = chunk_at(c, layer->outputs, weights, pairs);
        const int16_t *plus = added ? added + c : NULL;
#define DO(outputs) \
    if (layer->step == 1) \
        for (int x = 0; x < width; x += BLOCK) \
            block(out + c, rows, plus, positive, x, layer, chunk.weights, layer->bias + c, BLOCK, outputs); \
    else \
        for (int x = 0; x < width; x += WIDE_BLOCK) \
        block(out + c, rows, plus, positive, x, layer, chunk.weights, layer->bias + c, WIDE_BLOCK, outputs)
        BY_OUTPUTS(chunk.count, DO);
#undef DO
        weights += 2 * pairs * chunk.count;
        c += chunk.count;
    }
}

/// Inputs of 32 channels at the 4x4 places of each tile, as with AVX2. Returns their greatest magnitude in each lane.
static inline __m512i place_inputs(int16_t *out, ptrdiff_t place, ptrdiff_t tile, const int16_t *const *rows,
                                   ptrdiff_t at, int inputs, int tiles) {
    __m512i most = _mm512_setzero_si512(), columns[4][4];
    for (int x = -2; x < 2 * tiles; x += 2, at += 2 * inputs) {
        for (int i = 0; i < 2; i++) {
            __m512i v[4];
            for (int row = 0; row < 4; row++) {
                v[row] = load(rows[row] + at + i * inputs);
                most = _mm512_max_epu16(most, _mm512_abs_epi16(v[row]));
            }
            columns[2 + i][0] = _mm512_sub_epi16(v[0], v[2]);
            columns[2 + i][1] = _mm512_add_epi16(v[1], v[2]);
            columns[2 + i][2] = _mm512_sub_epi16(v[2], v[1]);
            columns[2 + i][3] = _mm512_sub_epi16(v[1], v[3]);
        }
        if (x >= 0) {
            for (int row = 0; row < 4; row++) {
                int16_t *to = out + 4 * row * place;
                store(to, _mm512_sub_epi16(columns[0][row], columns[2][row]));
                store(to + place, _mm512_add_epi16(columns[1][row], columns[2][row]));
                store(to + 2 * place, _mm512_sub_epi16(columns[2][row], columns[1][row]));
                store(to + 3 * place, _mm512_sub_epi16(columns[1][row], columns[3][row]));
            }
            out += tile;
        }
        memcpy(columns[0], columns[2], sizeof columns[0]);
        memcpy(columns[1], columns[3], sizeof columns[1]);
    }
    return most;
}

/// Numbers from one place of a tile's sums to the next. Each tile has room for 32 outputs.
enum { SUM_PLACE = 32 * TILES };

/// 16 outputs of a tile's 2x2 pixels from its sums at 4x4 places.
static inline void tile_outputs(__m512i *out, const int32_t *sums, __m512i bias) {
    __m512i upper[4], lower[4];
    for (int column = 0; column < 4; column++) {
        const int32_t *at = sums + column * SUM_PLACE;
        const __m512i a = load(at), b = load(at + 4 * SUM_PLACE), c = load(at + 8 * SUM_PLACE);
        const __m512i d = load(at + 12 * SUM_PLACE);
        upper[column] = _mm512_add_epi32(_mm512_add_epi32(a, b), c);
        lower[column] = _mm512_sub_epi32(_mm512_sub_epi32(b, c), d);
    }
    for (int i = 0; i < 2; i++) {
        const __m512i *v = i ? lower : upper, right = _mm512_add_epi32(bias, v[1]);
        out[2 * i] = _mm512_add_epi32(_mm512_add_epi32(right, v[0]), v[2]);
        out[2 * i + 1] = _mm512_sub_epi32(_mm512_sub_epi32(right, v[2]), v[3]);
    }
}

/// `outputs` of a block of tiles from their inputs. `out` and `added` are at the block's first pixel.
static inline __attribute__((always_inline)) void tile_block(int16_t *const *out, const int16_t *const *added,
                                                             int positive, int tiles, const burnish_fusion_layer *layer,
                                                             int c, weight_places at, const int16_t *in, ptrdiff_t tile,
                                                             int32_t *sums, const int outputs) {
    for (int k = 0; k < PLACES; k++) {
        __m512i first[TILES], second[TILES];
        for (int t = 0; t < TILES; t++) first[t] = second[t] = _mm512_setzero_si512();
        add_products(first, second, in + k * TILES * tile, layer->inputs, tile, at, TILES, outputs);
#pragma clang loop unroll(full)
        for (int t = 0; t < TILES; t++) {
            store(sums + k * SUM_PLACE + 32 * t, first[t]);
            if (outputs > 16) store(sums + k * SUM_PLACE + 32 * t + 16, second[t]);
        }
        at.first += at.step * layer->inputs / 2, at.second += at.step * layer->inputs / 2;
    }
    const __m512i shift = _mm512_set1_epi32(layer->shift + 2);
    const __m512i bias = _mm512_slli_epi32(first_vector(layer->bias + c, outputs), 2);
    const __m512i more = outputs > 16 ? _mm512_slli_epi32(second_vector(layer->bias + c + 16, outputs), 2) : bias;
    for (int t = 0; t < tiles; t++) {
        __m512i first[4], second[4];
        tile_outputs(first, sums + 32 * t, bias);
        if (outputs > 16) tile_outputs(second, sums + 32 * t + 16, more);
        for (int i = 0; i < 4; i++) {
            const ptrdiff_t to = (ptrdiff_t)layer->outputs * (2 * t + i % 2) + c;
            finish(out[i / 2] + to, first[i], outputs > 16 ? second[i] : first[i], shift,
                   added[i / 2] ? added[i / 2] + to : NULL, positive, outputs);
        }
    }
}

static void pair_of_rows(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added, int positive,
                         int width, const burnish_fusion_layer *one, void *scratch) {
    const ptrdiff_t tile = (one->inputs + 31) & ~31;
    int16_t *const inputs = scratch;
    int32_t *const sums = (int32_t *)(inputs + PLACES * TILES * 64);
    const __m512i limit = _mm512_set1_epi16((int16_t)one->most);
    for (int x = 0; x < width; x += 2 * TILES) {
        const int left = (width - x + 1) / 2, tiles = left < TILES ? left : TILES;
        const ptrdiff_t from = (ptrdiff_t)x * one->inputs, to = (ptrdiff_t)x * one->outputs;
        int16_t *const at[2] = {out[0] + to, out[1] + to};
        const int16_t *const plus[2] = {added[0] ? added[0] + to : NULL, added[1] ? added[1] + to : NULL};
        __m512i most = _mm512_setzero_si512();
        for (int i = 0; i < one->inputs; i += 32)
            most = _mm512_max_epu16(most,
                                    place_inputs(inputs + i, TILES * tile, tile, rows, from + i, one->inputs, tiles));
        if (_mm512_cmpgt_epu16_mask(most, limit)) {
            for (int i = 0; i < 2; i++) {
                const int16_t *const three[3] = {rows[i] + from, rows[i + 1] + from, rows[i + 2] + from};
                layer(at[i], three, plus[i], positive, 2 * tiles, one);
            }
            continue;
        }
        const int16_t *weights = one->places;
        const ptrdiff_t pairs = PLACES * one->inputs / 2;
        for (int c = 0; c < one->outputs;) {
            const output_chunk chunk = chunk_at(c, one->outputs, weights, pairs);
#define DO(outputs) tile_block(at, plus, positive, tiles, one, c, chunk.weights, inputs, tile, sums, outputs)
            BY_OUTPUTS(chunk.count, DO);
#undef DO
            weights += 2 * pairs * chunk.count;
            c += chunk.count;
        }
    }
}

static inline __m128i load_quarter(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }

/// Number k of the last layer, of the four samples of four pixels.
static inline __m256i choice(const int16_t *choices, int k) {
    const int16_t *at = choices + 4 * k;
    const __m128i low = _mm_unpacklo_epi64(load_quarter(at), load_quarter(at + CHOICES));
    const __m128i high = _mm_unpacklo_epi64(load_quarter(at + 2 * CHOICES), load_quarter(at + 3 * CHOICES));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline __m512 constant(float v) { return _mm512_set1_ps(v); }
enum { DOWNWARD = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };
static inline __m512 down(__m512 v) { return _mm512_roundscale_ps(v, DOWNWARD); }

/// 2 ^ (difference / 256 · log2 e), no less than 2 ^ -30.
static inline __m512 weight(__m256i v, __m512i most) {
    const __m512 difference = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_cvtepi16_epi32(v), most));
    const __m512 t = _mm512_max_ps(_mm512_mul_ps(difference, constant(FUSION_SCALE)), constant(FUSION_LEAST));
    const __m512 whole = down(t), x = _mm512_sub_ps(t, whole);
    __m512 part = _mm512_add_ps(constant(FUSION_POWER_3), _mm512_mul_ps(x, constant(FUSION_POWER_4)));
    part = _mm512_add_ps(constant(FUSION_POWER_2), _mm512_mul_ps(x, part));
    part = _mm512_add_ps(constant(FUSION_POWER_1), _mm512_mul_ps(x, part));
    part = _mm512_add_ps(constant(1), _mm512_mul_ps(x, part));
    const __m512i exponent = _mm512_add_epi32(_mm512_cvttps_epi32(whole), _mm512_set1_epi32(127));
    return _mm512_mul_ps(_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23)), part);
}

/// The mixture at the four samples of four pixels, before the last clamp but not below 0.
static inline __m128i mix(const int16_t *choices, const __m128i *samples, __m128i made) {
    __m256i choose[PICTURES + 1];
    for (int k = 0; k <= PICTURES; k++) choose[k] = choice(choices, k);
    __m256i greatest = choose[0];
    for (int k = 1; k <= PICTURES; k++) greatest = _mm256_max_epi16(greatest, choose[k]);
    const __m512i most = _mm512_cvtepi16_epi32(greatest), now = _mm512_cvtepu8_epi32(made);
    __m512 sum = _mm512_setzero_ps(), difference = _mm512_setzero_ps();
    for (int k = 0; k < PICTURES; k++) {
        const __m512 e = weight(choose[k], most);
        const __m512 d = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_cvtepu8_epi32(samples[k]), now));
        sum = _mm512_add_ps(sum, e);
        difference = _mm512_add_ps(difference, _mm512_mul_ps(e, d));
    }
    sum = _mm512_add_ps(sum, weight(choose[PICTURES], most));
    const __m512 residual = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(choice(choices, PICTURES + 1))),
                                          constant(1.0f / 64));
    const __m512 v = _mm512_add_ps(_mm512_add_ps(_mm512_cvtepi32_ps(now), _mm512_div_ps(difference, sum)), residual);
    const __m512i whole = _mm512_cvttps_epi32(down(_mm512_add_ps(v, constant(0.5f))));
    return _mm512_cvtusepi32_epi8(_mm512_max_epi32(whole, _mm512_setzero_si512()));
}

/// 8 samples of two rows as 4 pixels of 4 samples.
static inline __m128i four_pixels(const burnish_motion_plane *plane, ptrdiff_t y, int x) {
    const uint8_t *at = plane->origin + y * plane->stride + x;
    return _mm_unpacklo_epi16(load_quarter(at), load_quarter(at + plane->stride));
}

/// Writes up to 8 samples.
static inline void store_samples(uint8_t *out, __m128i v, int count) {
    if (count >= 8) {
        _mm_storel_epi64((__m128i *)out, v);
    } else {
        uint8_t samples[8];
        _mm_storel_epi64((__m128i *)samples, v);
        memcpy(out, samples, (size_t)count);
    }
}

static void choose(uint8_t *upper, uint8_t *lower, const int16_t *choices, const burnish_fusion_pictures *pictures,
                   int y, int width) {
    const __m128i rows = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    for (int x = 0; x < width; x += 8, choices += 4 * CHOICES) {
        __m128i samples[PICTURES];
        const __m128i made = four_pixels(&pictures->made, 2 * y, x);
        __m128i least = made, greatest = made;
        for (int k = 0; k < PICTURES; k++) {
            samples[k] = four_pixels(pictures->prediction + k, 2 * y, x);
            least = _mm_min_epu8(least, samples[k]), greatest = _mm_max_epu8(greatest, samples[k]);
        }
        __m128i v = mix(choices, samples, made);
        v = _mm_shuffle_epi8(_mm_min_epu8(_mm_max_epu8(v, least), greatest), rows);
        store_samples(upper + x, v, width - x);
        if (lower) store_samples(lower + x, _mm_unpackhi_epi64(v, v), width - x);
    }
}

/// Features and `raise` are one hundredth of the work, so they stay with AVX2.
void burnish_fusion_init_avx512(burnish_fusion_kernels *kernels) {
    kernels->layer = layer;
    kernels->pair = pair_of_rows;
    kernels->choose = choose;
}

BURNISH_TARGET_END
#endif
