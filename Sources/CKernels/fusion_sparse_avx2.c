#if defined(__x86_64__)
#include "fusion_avx2.h"

// Most activations are zero: of a layer's inputs six to nine tenths. What is not zero is listed, and only that is multiplied, two
// numbers at a time, whichever they are: their weights are interleaved on the way. The sums are the same.

BURNISH_TARGET_AVX2

enum {
    COLUMNS = 2 * BURNISH_FUSION_TILES + 2,
    /// Inputs of a pixel at most.
    INPUTS = 64,
    /// Entries that are written beyond the last one.
    BEYOND = 8,
};

/// Inputs that are not zero, and where their weights begin, in bytes. `ends`: where the entries of each column's rows begin, and
/// end. A zero follows where rows that are read together have an odd number.
typedef struct {
    int16_t *values;
    uint16_t *places;
    uint16_t ends[COLUMNS][5];
} list;

// The bytes of eight numbers, those to the front whose bits are set.
#define TAKE_0(i)
#define TAKE_1(i) 2 * i, 2 * i + 1,
#define FRONT(a, b, c, d, e, f, g, h) \
    { TAKE_##a(0) TAKE_##b(1) TAKE_##c(2) TAKE_##d(3) TAKE_##e(4) TAKE_##f(5) TAKE_##g(6) TAKE_##h(7) }
#define FRONTS_1(...) FRONT(0, __VA_ARGS__), FRONT(1, __VA_ARGS__)
#define FRONTS_2(...) FRONTS_1(0, __VA_ARGS__), FRONTS_1(1, __VA_ARGS__)
#define FRONTS_3(...) FRONTS_2(0, __VA_ARGS__), FRONTS_2(1, __VA_ARGS__)
#define FRONTS_4(...) FRONTS_3(0, __VA_ARGS__), FRONTS_3(1, __VA_ARGS__)
#define FRONTS_5(...) FRONTS_4(0, __VA_ARGS__), FRONTS_4(1, __VA_ARGS__)
#define FRONTS_6(...) FRONTS_5(0, __VA_ARGS__), FRONTS_5(1, __VA_ARGS__)
#define FRONTS_7(...) FRONTS_6(0, __VA_ARGS__), FRONTS_6(1, __VA_ARGS__)
static const int8_t fronts[256][16] = {FRONTS_7(0), FRONTS_7(1)};

/// Which of 32 numbers are not zero, one bit each.
static inline uint32_t filled(const int16_t *in) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i first = _mm256_cmpeq_epi16(load(in), zero), second = _mm256_cmpeq_epi16(load(in + 16), zero);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xd8));
}

/// Adds a pixel's inputs to a list. `places`: where the weights of eight inputs each begin. May write BEYOND entries more.
static inline int add_pixel(int16_t *values, uint16_t *starts, int count, const int16_t *in, int inputs,
                            const __m128i *places) {
    for (int i = 0; i < inputs; i += 32) {
        const int rest = inputs - i;
        uint32_t bits = filled(in + i) & (rest < 32 ? (1u << rest) - 1 : UINT32_MAX);
#pragma clang loop unroll(full)
        for (int j = i; j < i + 32; j += 8, bits >>= 8) {
            const __m128i front = load_half(fronts[bits & 255]);
            store_half(values + count, _mm_shuffle_epi8(load_half(in + j), front));
            store_half(starts + count, _mm_shuffle_epi8(places[j / 8], front));
            count += __builtin_popcount(bits & 255);
        }
    }
    return count;
}

/// Lists the inputs of `columns` columns of rows.
/// - most: of a column's entries.
/// - Returns: whether the columns have no more, as a mean.
static inline __attribute__((always_inline)) int list_columns(list *l, const int16_t *const *rows, const int count,
                                                              int columns, const burnish_fusion_layer *layer,
                                                              int most) {
    // Whatever the list's memory might be, these do not change.
    const int inputs = layer->inputs, step = layer->kernel * BURNISH_FUSION_SCATTERED * (int)sizeof(int16_t);
    int16_t *const values = l->values;
    uint16_t *const starts = l->places;
    const int16_t *from[4];
    __m128i places[4][INPUTS / 8];
    for (int row = 0; row < count; row++) {
        from[row] = rows[row];
        for (int i = 0; i < inputs; i += 8)
            places[row][i / 8] = _mm_mullo_epi16(
                _mm_add_epi16(_mm_set1_epi16((int16_t)(row * inputs + i)), _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7)),
                _mm_set1_epi16((int16_t)step));
    }
    int end = 0;
    for (int x = 0; x < columns; x++) {
#pragma clang loop unroll(full)
        for (int row = 0; row < count; row++) {
            l->ends[x][row] = (uint16_t)end;
            end = add_pixel(values, starts, end, from[row] + (ptrdiff_t)x * inputs, inputs, places[row]);
            // Of four rows the first three and the last three are read.
            if (row + 1 < count && (count < 4 || row == 1)) continue;
            values[end] = 0, starts[end] = (uint16_t)(row * inputs * step);
            end += end & 1;
        }
        l->ends[x][count] = (uint16_t)end;
        if (end > most * (x + 2)) return 0;
    }
    return 1;
}

/// Two entries of a list: their numbers, in every lane, and their weights.
typedef struct {
    __m256i values;
    const int16_t *first, *second;
} two_entries;

/// Entry k and the one after it.
static inline two_entries entries(const list *l, int k, const int16_t *weights) {
    return (two_entries){pair(l->values + k), weights + l->places[k] / 2, weights + l->places[k + 1] / 2};
}

/// Adds two entries' products with the weights of a tap.
static inline __attribute__((always_inline)) void add_products(__m256i *sums, two_entries e, int tap,
                                                               const int vectors) {
    for (int v = 0; v < vectors; v += 2) {
        const ptrdiff_t at = tap * BURNISH_FUSION_SCATTERED + 8 * v;
        const __m256i first = load(e.first + at), second = load(e.second + at);
        sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(e.values, _mm256_unpacklo_epi16(first, second)));
        if (v + 1 == vectors) break;
        sums[v + 1] = _mm256_add_epi32(sums[v + 1], _mm256_madd_epi16(e.values, _mm256_unpackhi_epi16(first, second)));
    }
}

/// The biases of `vectors` times 8 outputs, in the order of sums: of 16 the first four of each half, then the others.
static inline void order_bias(__m256i *out, const int32_t *bias, int vectors) {
    for (int v = 0; v < vectors; v += 2) {
        out[v] = load(bias + 8 * v);
        if (v + 1 == vectors) break;
        const __m256i first = out[v], second = load(bias + 8 * v + 8);
        out[v] = _mm256_permute2x128_si256(first, second, 0x20);
        out[v + 1] = _mm256_permute2x128_si256(first, second, 0x31);
    }
}

/// Writes `vectors` times 8 outputs of a pixel.
static inline __attribute__((always_inline)) void finish_pixel(int16_t *out, const __m256i *sums, __m128i shift,
                                                               const int16_t *added, int positive, const int vectors) {
    for (int v = 0; v < vectors; v += 2) {
        const __m256i first = _mm256_sra_epi32(sums[v], shift);
        if (v + 1 < vectors) {
            const __m256i both = _mm256_packs_epi32(first, _mm256_sra_epi32(sums[v + 1], shift));
            store(out + 8 * v, finish(both, added ? added + 8 * v : NULL, positive));
        } else {
            __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(first), _mm256_extracti128_si256(first, 1));
            if (added) half = _mm_adds_epi16(half, load_half(added + 8 * v));
            store_half(out + 8 * v, positive ? _mm_max_epi16(half, _mm_setzero_si128()) : half);
        }
    }
}

/// What a row of results is made of: `vectors` times 8 outputs of each pixel.
typedef struct {
    int16_t *out;
    const int16_t *added;
    int positive, outputs, width, row;
    const int16_t *weights;
    __m256i bias[4];
    __m128i shift;
} chunk;

static inline __attribute__((always_inline)) void finish_at(const chunk *c, int x, const __m256i *sums,
                                                            const int vectors) {
    const ptrdiff_t at = (ptrdiff_t)c->outputs * x;
    finish_pixel(c->out + at, sums, c->shift, c->added ? c->added + at : NULL, c->positive, vectors);
}

/// 3x3 taps: each column of inputs adds to the three pixels around it, whose sums stay in registers.
static inline __attribute__((always_inline)) void scatter(const list *l, const chunk *c, const int vectors) {
    __m256i sums[3][4];
    for (int v = 0; v < vectors; v++) sums[0][v] = sums[1][v] = sums[2][v] = c->bias[v];
    for (int x = 0; x < c->width + 2; x++) {
        for (int k = l->ends[x][c->row], end = l->ends[x][c->row + 3]; k < end; k += 2) {
            const two_entries e = entries(l, k, c->weights);
            for (int tap = 0; tap < 3; tap++) add_products(sums[tap], e, tap, vectors);
        }
        if (x >= 2) finish_at(c, x - 2, sums[2], vectors);
        for (int v = 0; v < vectors; v++) sums[2][v] = sums[1][v], sums[1][v] = sums[0][v], sums[0][v] = c->bias[v];
    }
}

/// The same for results two columns apart.
static inline __attribute__((always_inline)) void scatter_half(const list *l, const chunk *c, const int vectors) {
    __m256i now[4], last[4];
    for (int v = 0; v < vectors; v++) now[v] = c->bias[v];
    for (int x = 0; x <= c->width; x++) {
        for (int v = 0; v < vectors; v++) last[v] = now[v], now[v] = c->bias[v];
        for (int k = l->ends[2 * x][0], end = l->ends[2 * x][3]; k < end; k += 2) {
            const two_entries e = entries(l, k, c->weights);
            add_products(now, e, 0, vectors);
            add_products(last, e, 2, vectors);
        }
        if (x > 0) finish_at(c, x - 1, last, vectors);
        if (x == c->width) break;
        for (int k = l->ends[2 * x + 1][0], end = l->ends[2 * x + 1][3]; k < end; k += 2)
            add_products(now, entries(l, k, c->weights), 1, vectors);
    }
}

/// One tap.
static inline __attribute__((always_inline)) void gather(const list *l, const chunk *c, const int vectors) {
    for (int x = 0; x < c->width; x++) {
        __m256i sums[4];
        for (int v = 0; v < vectors; v++) sums[v] = c->bias[v];
        for (int k = l->ends[x][0], end = l->ends[x][1]; k < end; k += 2)
            add_products(sums, entries(l, k, c->weights), 0, vectors);
        finish_at(c, x, sums, vectors);
    }
}

/// All outputs of a row of up to 2 · BURNISH_FUSION_TILES pixels, or half as many where the step is 2.
/// - row: the list's row that the row's uppermost taps are at.
static void sparse_row(int16_t *out, const list *l, int row, const int16_t *added, int positive, int width,
                       const burnish_fusion_layer *layer) {
    const ptrdiff_t line = (ptrdiff_t)layer->kernel * layer->inputs * BURNISH_FUSION_SCATTERED;
    const int16_t *weights = layer->scattered;
    for (int first = 0; first < layer->outputs; first += BURNISH_FUSION_SCATTERED, weights += layer->kernel * line) {
        const int left = (layer->outputs - first) / 8, vectors = left < 4 ? left : 4;
        chunk c = {.out = out + first,
                   .added = added ? added + first : NULL,
                   .positive = positive,
                   .outputs = layer->outputs,
                   .width = width,
                   .row = row,
                   .weights = weights - row * line,
                   .shift = _mm_cvtsi32_si128(layer->shift)};
        order_bias(c.bias, layer->bias + first, vectors);
#define SPARSE(vectors) \
    (layer->kernel == 1 ? gather(l, &c, vectors) \
     : layer->step == 1 ? scatter(l, &c, vectors) \
                        : scatter_half(l, &c, vectors))
        switch (vectors) {
        case 4: SPARSE(4); break;
        case 3: SPARSE(3); break;
        case 2: SPARSE(2); break;
        default: SPARSE(1);
        }
    }
}

int burnish_fusion_sparse_pair_avx2(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added,
                                    int positive, int width, const burnish_fusion_layer *layer, void *scratch) {
    if (!layer->scattered) return 0;
    list l = {.values = scratch, .places = (uint16_t *)scratch + COLUMNS * 4 * (INPUTS + 1) + BEYOND};
    // Tiles are as fast where four tenths are not zero.
    if (!list_columns(&l, rows, 4, width + 2, layer, layer->inputs * 8 / 5)) return 0;
    for (int row = 0; row < 2; row++) sparse_row(out[row], &l, row, added[row], positive, width, layer);
    return 1;
}

int burnish_fusion_sparse_layer_avx2(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive,
                                     int width, const burnish_fusion_layer *layer) {
    const int kernel = layer->kernel;
    if (!layer->scattered) return 0;
    int16_t values[COLUMNS * (3 * INPUTS + 1) + BEYOND];
    uint16_t places[COLUMNS * (3 * INPUTS + 1) + BEYOND];
    list l = {.values = values, .places = places};
    const int columns = kernel == 1 ? width : layer->step * (width - 1) + 3;
    const int most = kernel * layer->inputs * 3 / 5;
    if (!(kernel == 1 ? list_columns(&l, rows, 1, columns, layer, most)
                      : list_columns(&l, rows, 3, columns, layer, most)))
        return 0;
    sparse_row(out, &l, 0, added, positive, width, layer);
    return 1;
}

BURNISH_TARGET_END
#endif
