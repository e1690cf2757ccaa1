#if defined(__x86_64__)
#include <string.h>

#include "network_avx512.h"

BURNISH_TARGET_AMX

// A tile register holds 16 rows of 64 bytes. One instruction multiplies the weights of 16 outputs, a row each, with the
// activations of 16 pixels, a column each: a row of activations is what one step reads, 16 pixels of four channels, and
// the groups of the rows above, at and below the pixel lie evenly spaced in the ring. A pixel's neighbours are in the
// next vectors (network.h, `striped`), so that all loads are of whole cache lines, and each vector is loaded once for
// all sums that need it.

/// Registers: the weights of three columns, two inputs in turn, the sums of three vectors of pixels. Constants, because
/// the instructions need them.
#define WEIGHTS 0
#define INPUTS 3
#define SUMS 5
enum { OUTPUTS = 16, BYTES = 64 };

/// The operand of `ldtilecfg`.
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) shapes;

static void begin(const burnish_network_layer *layer) {
    const int inputs = layer->steps / 3, outputs = 4 * layer->groups;
    shapes s = {.palette = 1};
    for (int k = 0; k < 3; k++) {
        s.rows[WEIGHTS + k] = (uint8_t)outputs;
        s.row_bytes[WEIGHTS + k] = (uint16_t)(4 * inputs);
        s.rows[SUMS + k] = (uint8_t)outputs;
        s.row_bytes[SUMS + k] = BYTES;
    }
    for (int k = 0; k < 2; k++) {
        s.rows[INPUTS + k] = (uint8_t)inputs;
        s.row_bytes[INPUTS + k] = BYTES;
    }
    _tile_loadconfig(&s);
}

static void end(void) { _tile_release(); }

/// The sums of a vector of pixels: a vector for each output.
typedef int32_t block[OUTPUTS][LANES] __attribute__((aligned(64)));

/// How a layer's sums become pixels, and where they go. A copy: the compiler must assume that any stored byte may be a
/// part of the layer itself.
typedef struct {
    const int32_t *bias;
    const int16_t *mult;
    __m512i shift, narrow_shift;
    int groups;
    uint8_t narrow[4];
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

/// Stores the pixels of a vector of sums.
static inline __attribute__((always_inline)) void finish(const results *to, int32_t (*sums)[LANES], int vector) {
    uint8_t *out = to->out + BYTES * (ptrdiff_t)vector;
    for (int group = 0; group < to->groups; group++, out += to->plane)
        store(out, to->narrow[group]
                       ? pixels(values(to, sums, 2 * group, true), values(to, sums, 2 * group + 1, true))
                       : pixels(values(to, sums, 2 * group, false), values(to, sums, 2 * group + 1, false)));
}

/// One row. Each vector of inputs ends the sums begun two vectors before, adds to those begun one before and begins its
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
        const ptrdiff_t bytes = 4 * row, column = 4 * layer->groups * bytes;
        const int8_t *weights = layer->tile_weights + 3 * place * column;
        _tile_loadd(WEIGHTS, weights, bytes);
        _tile_loadd(WEIGHTS + 1, weights + column, bytes);
        _tile_loadd(WEIGHTS + 2, weights + 2 * column, bytes);
        results to = {.bias = layer->bias, .mult = layer->mult, .groups = layer->groups, .out = out, .plane = plane};
        to.shift = _mm512_set1_epi32(layer->shift);
        to.narrow_shift = _mm512_set1_epi16((int16_t)layer->shift);
        memcpy(to.narrow, layer->narrow, (size_t)layer->groups);
        go_along(&to, taps[first * row], taps[3] - taps[0], vectors);
    } else burnish_network_layer_avx512(out, plane, taps, width, layer);
    go_on(out, plane, layer->groups, vectors);
}

static void expand(uint8_t *out, const uint8_t *row, int width) {
    const int vectors = burnish_network_vectors(width);
    const __m512i places = stretches(vectors);
    for (int v = 0; v < vectors; v++) store(out + BYTES * v, _mm512_i32gather_epi32(places, row + v, 1));
}

/// Replaces the layers between the first and the last. The rest is AVX-512, which AMX implies.
void burnish_network_init_amx(burnish_network_kernels *kernels) {
    kernels->striped = true;
    kernels->begin = begin;
    kernels->end = end;
    kernels->expand = expand;
    kernels->layer = layer;
    kernels->residual = burnish_network_residual_striped_avx512;
}

BURNISH_TARGET_END
#endif
