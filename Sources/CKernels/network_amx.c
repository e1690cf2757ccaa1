#if defined(__x86_64__)
#include <string.h>

#include "network_avx512.h"

BURNISH_TARGET_AMX

// A tile register holds 16 rows of 64 bytes. One instruction multiplies the weights of up to 16 outputs, a row each, with
// the activations of 16 pixels, a column each: a row of activations is what one step reads, 16 pixels of four channels,
// and the groups of the rows above, at and below the pixel lie evenly spaced in the ring. A pixel's neighbours are in the
// next vectors (network.h, `striped`), so that all loads are of whole cache lines.

/// Registers of layers with 16 channels: the weights of three columns, two inputs in turn, the sums of three vectors of
/// pixels. Constants, because the instructions need them.
#define WEIGHTS 0
#define INPUTS 3
#define SUMS 5
enum { OUTPUTS = 16, BYTES = 64 };

/// How a layer is divided into tiles: its outputs into bands, the inputs of one column of its kernel into pieces.
typedef struct {
    int bands, outputs, pieces, inputs;
} division;

static division divide(const burnish_network_layer *layer) {
    division d;
    d.bands = (layer->groups + 3) / 4;
    d.outputs = (4 * layer->groups + d.bands - 1) / d.bands;
    const int inputs = layer->steps / 3;
    d.pieces = inputs > 16 ? 2 : 1;
    d.inputs = inputs / d.pieces;
    return d;
}

/// The operand of `ldtilecfg`.
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) shapes;

static void begin(const burnish_network_layer *layer) {
    const division d = divide(layer);
    shapes s = {.palette = 1};
    for (int k = 0; k < 8; k++) {
        const bool weights = d.bands == 1 ? k < INPUTS : d.bands == 2 ? k == 4 || k == 5 : k == 6;
        const bool inputs = d.bands == 1 ? k >= INPUTS && k < SUMS : d.bands == 2 ? k > 5 : k == 7;
        s.rows[k] = (uint8_t)(inputs ? d.inputs : d.outputs);
        s.row_bytes[k] = (uint16_t)(weights ? 4 * d.inputs : BYTES);
    }
    _tile_loadconfig(&s);
}

static void end(void) { _tile_release(); }

/// The sums of a vector of pixels: a vector for each output.
typedef int32_t block[OUTPUTS][LANES] __attribute__((aligned(64)));
/// The same of up to three bands of outputs.
typedef int32_t wide_block[3 * OUTPUTS][LANES] __attribute__((aligned(64)));

/// How a layer's sums become pixels, and where they go. A copy: the compiler must assume that any stored byte may be a
/// part of the layer itself.
typedef struct {
    const int32_t *bias;
    const int16_t *mult;
    __m512i shift, narrow_shift;
    int groups;
    uint8_t narrow[3 * OUTPUTS / 4];
    uint8_t *out;
    ptrdiff_t plane;
} results;

/// Two outputs' values before the last clamp, from their sums without bias.
static inline __m512i values(const results *to, int32_t (*sums)[LANES], int pair, bool narrow) {
    const __m512i first = _mm512_add_epi32(load(sums[2 * pair]), _mm512_set1_epi32(to->bias[2 * pair]));
    const __m512i second = _mm512_add_epi32(load(sums[2 * pair + 1]), _mm512_set1_epi32(to->bias[2 * pair + 1]));
    const __m512i mult = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(to->mult + 8 * pair)));
    return narrow ? narrow_values(first, second, to->narrow_shift, mult) : wide_values(first, second, to->shift, mult);
}

/// Stores one group's pixels of a vector of sums.
static inline __attribute__((always_inline)) void finish_group(const results *to, int32_t (*sums)[LANES], int vector,
                                                               int group) {
    store(to->out + to->plane * group + BYTES * (ptrdiff_t)vector,
          to->narrow[group] ? pixels(values(to, sums, 2 * group, true), values(to, sums, 2 * group + 1, true))
                            : pixels(values(to, sums, 2 * group, false), values(to, sums, 2 * group + 1, false)));
}

static inline __attribute__((always_inline)) void finish(const results *to, int32_t (*sums)[LANES], int vector) {
    for (int group = 0; group < to->groups; group++) finish_group(to, sums, vector, group);
}

/// One row of 16 channels. Each vector of inputs ends the sums begun two vectors before, adds to those begun one before and begins its
/// own. Meanwhile the vector units finish the sums that ended one step earlier, because products take long.
static void go_along(const results *to, const uint8_t *first, ptrdiff_t stride, int vectors) {
    const int end = vectors + 2;
    block sums[3];
#define STEP(n, ENDING, GOING, NEW, INPUT) \
    if (vector + n == end) break; \
    _tile_loadd(INPUT, first + BYTES * (ptrdiff_t)(vector + n), stride); \
    _tile_dpbsud(ENDING, WEIGHTS + 2, INPUT); \
    _tile_dpbsud(GOING, WEIGHTS + 1, INPUT); \
    _tile_zero(NEW); \
    _tile_dpbsud(NEW, WEIGHTS, INPUT); \
    if (vector + n >= 3) finish(to, sums[(n + 2) % 3], vector + n - 3); \
    _tile_stored(ENDING, sums[n], BYTES)
    _tile_zero(SUMS);
    _tile_zero(SUMS + 1);
    for (int vector = 0;; vector += 3) {
        STEP(0, SUMS, SUMS + 1, SUMS + 2, INPUTS);
        STEP(1, SUMS + 1, SUMS + 2, SUMS, INPUTS + 1);
        STEP(2, SUMS + 2, SUMS, SUMS + 1, INPUTS);
    }
#undef STEP
    finish(to, sums[(end - 1) % 3], vectors - 1);
}

/// Adds to the sums of a vector of pixels, or of two, what one piece of the inputs of one column brings. Two vectors use
/// each tile of weights twice. Registers: the sums of a band are in 2 · band and 2 · band + 1. With two bands weights are in
/// 4 and 5 and inputs in 6 and 7; with three there is one of each, 6 and 7.
static inline __attribute__((always_inline)) void multiply(const uint8_t *input, ptrdiff_t stride,
                                                           const int8_t *weights, const division *d, bool pair) {
    const ptrdiff_t band = BYTES * (ptrdiff_t)d->outputs;
    if (d->bands == 2) {
        _tile_loadd(4, weights, BYTES);
        _tile_loadd(6, input, stride);
        _tile_dpbsud(0, 4, 6);
        if (pair) {
            _tile_loadd(7, input + BYTES, stride);
            _tile_dpbsud(1, 4, 7);
        }
        _tile_loadd(5, weights + band, BYTES);
        _tile_dpbsud(2, 5, 6);
        if (pair) _tile_dpbsud(3, 5, 7);
        return;
    }
    _tile_loadd(6, weights, BYTES);
    _tile_loadd(7, input, stride);
    _tile_dpbsud(0, 6, 7);
    if (pair) {
        _tile_loadd(7, input + BYTES, stride);
        _tile_dpbsud(1, 6, 7);
    }
    _tile_loadd(6, weights + band, BYTES);
    if (pair) {
        _tile_dpbsud(3, 6, 7);
        _tile_loadd(7, input, stride);
    }
    _tile_dpbsud(2, 6, 7);
    _tile_loadd(6, weights + 2 * band, BYTES);
    _tile_dpbsud(4, 6, 7);
    if (pair) {
        _tile_loadd(7, input + BYTES, stride);
        _tile_dpbsud(5, 6, 7);
    }
}

/// The sums of a vector of pixels, or of two, stored into `sums`. Meanwhile the vector units finish what is in `ended`, the sums of
/// the vectors from `first` on.
static inline __attribute__((always_inline)) void go_wide(const results *to, const uint8_t *input, ptrdiff_t stride,
                                                          const int8_t *weights, const division *d, bool pair,
                                                          wide_block *sums, wide_block *ended, int first) {
    const int all = 2 * to->groups;
    int done = 0, part = 0;
    const ptrdiff_t piece = BYTES * (ptrdiff_t)(d->outputs * d->bands);
    _tile_zero(0);
    if (pair) _tile_zero(1);
    _tile_zero(2);
    if (pair) _tile_zero(3);
    if (d->bands == 3) {
        _tile_zero(4);
        if (pair) _tile_zero(5);
    }
    for (int column = 0; column < 3; column++)
        for (int k = 0; k < d->pieces; k++, weights += piece) {
            multiply(input + BYTES * column + k * d->inputs * stride, stride, weights, d, pair);
            if (first < 0) continue;
            for (part++; done * 3 * d->pieces < part * all; done++)
                finish_group(to, ended[done & 1], first + (done & 1), done >> 1);
        }
    _tile_stored(0, sums[0], BYTES);
    if (pair) _tile_stored(1, sums[1], BYTES);
    _tile_stored(2, sums[0][d->outputs], BYTES);
    if (pair) _tile_stored(3, sums[1][d->outputs], BYTES);
    if (d->bands == 3) {
        _tile_stored(4, sums[0][2 * d->outputs], BYTES);
        if (pair) _tile_stored(5, sums[1][2 * d->outputs], BYTES);
    }
}

/// One row of more than 16 channels: two vectors at a time.
static inline __attribute__((always_inline)) void go_along_wide(const results *to, const uint8_t *input,
                                                                ptrdiff_t stride, int vectors, const int8_t *weights,
                                                                const division *d) {
    wide_block sums[2][2];
    int turn = 0, vector = 0;
    for (; vector + 2 <= vectors; vector += 2, turn ^= 1)
        go_wide(to, input + BYTES * (ptrdiff_t)vector, stride, weights, d, true, sums[turn], sums[turn ^ 1],
                vector - 2);
    if (vector < vectors) {
        go_wide(to, input + BYTES * (ptrdiff_t)vector, stride, weights, d, false, sums[turn], sums[turn ^ 1],
                vector - 2);
        finish(to, sums[turn][0], vector);
    } else
        for (int k = 0; k < 2; k++) finish(to, sums[turn ^ 1][k], vector - 2 + k);
}

/// The vectors after a row's last one: its first ones, moved by one lane.
static void go_on(uint8_t *out, ptrdiff_t plane, int groups, int vectors) {
    const __m512i next = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15);
    for (int group = 0; group < groups; group++, out += plane)
        for (int k = 0; k < 2; k++)
            store(out + BYTES * (vectors + k), _mm512_permutexvar_epi32(next, load(out + BYTES * k)));
}

static void layer(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                  const burnish_network_layer *layer) {
    const int vectors = burnish_network_vectors(width);
    if (layer->tile_weights) {
        const int row = layer->steps / 3;
        int first = 0;
        for (int dy = 1; dy < 3; dy++)
            if (taps[dy * row] < taps[first * row]) first = dy;
        const bool upward = taps[(first + 2) % 3 * row] < taps[(first + 1) % 3 * row];
        const int place = upward ? 3 + first : (3 - first) % 3;
        const division d = divide(layer);
        const ptrdiff_t column = BYTES * (ptrdiff_t)(d.pieces * d.bands * d.outputs);
        const int8_t *weights = layer->tile_weights + 3 * place * column;
        results to = {.bias = layer->bias, .mult = layer->mult, .groups = layer->groups, .out = out, .plane = plane};
        to.shift = _mm512_set1_epi32(layer->shift);
        to.narrow_shift = _mm512_set1_epi16((int16_t)layer->shift);
        memcpy(to.narrow, layer->narrow, (size_t)layer->groups);
        const uint8_t *input = taps[first * row];
        const ptrdiff_t stride = taps[3] - taps[0];
        if (d.bands == 1) {
            _tile_loadd(WEIGHTS, weights, BYTES);
            _tile_loadd(WEIGHTS + 1, weights + column, BYTES);
            _tile_loadd(WEIGHTS + 2, weights + 2 * column, BYTES);
            go_along(&to, input, stride, vectors);
        } else if (d.bands == 2) {
            // The number of bands is a constant in each, for the compiler.
            const division two = {2, d.outputs, 2, d.inputs};
            go_along_wide(&to, input, stride, vectors, weights, &two);
        } else {
            const division three = {3, d.outputs, 2, d.inputs};
            go_along_wide(&to, input, stride, vectors, weights, &three);
        }
    } else burnish_network_layer_avx512(out, plane, taps, width, layer);
    go_on(out, plane, layer->groups, vectors);
}

static void expand(uint8_t *out, const uint8_t *row, int width) {
    const int vectors = burnish_network_vectors(width);
    const __m512i places = stretches(vectors);
    for (int v = 0; v < vectors; v++) store(out + BYTES * v, _mm512_i32gather_epi32(places, row + v, 1));
}

/// Of each lane's pixel of the vectors and of the two after them, two samples of each row.
static void phases(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    const int vectors = burnish_network_vectors(width);
    const __m512i places = stretches(vectors);
    for (int v = 0; v < vectors + 2; v++) {
        const __m512i above = _mm512_i32gather_epi32(places, upper + 2 * v, 2);
        const __m512i below = _mm512_i32gather_epi32(places, lower + 2 * v, 2);
        store(out + BYTES * v, _mm512_mask_blend_epi16(0xaaaaaaaau, above, _mm512_slli_epi32(below, 16)));
    }
}

/// Replaces the layers between the first and the last. The rest is AVX-512, which AMX implies.
void burnish_network_init_amx(burnish_network_kernels *kernels) {
    kernels->striped = true;
    kernels->begin = begin;
    kernels->end = end;
    kernels->expand = expand;
    kernels->phases = phases;
    kernels->layer = layer;
    kernels->residual = burnish_network_residual_striped_avx512;
}

BURNISH_TARGET_END
#endif
