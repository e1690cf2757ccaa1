#if defined(__x86_64__)
#include "fusion_avx2.h"

// Most activations are zero: of a layer's pairs of inputs six to nine tenths. What is not zero is listed, and only that is
// multiplied. The sums are the same.

BURNISH_TARGET_AVX2

enum {
    COLUMNS = 2 * BURNISH_FUSION_TILES + 2,
    /// Pairs of inputs of a pixel at most.
    PAIRS = 32,
};

/// Pairs that are not zero, and where their weights begin: in vectors of a tap. `ends`: where the entries of each column's rows
/// begin, and end.
typedef struct {
    int32_t *values, *places;
    uint16_t ends[COLUMNS][5];
} list;

/// Moves those of four numbers to the front whose bits are set.
static const int8_t fronts[16][16] = {
#define FOUR(a) 4 * a, 4 * a + 1, 4 * a + 2, 4 * a + 3
#define FRONT(a, b, c, d) \
    { FOUR(a), FOUR(b), FOUR(c), FOUR(d) }
    FRONT(0, 0, 0, 0), FRONT(0, 0, 0, 0), FRONT(1, 0, 0, 0), FRONT(0, 1, 0, 0), FRONT(2, 0, 0, 0), FRONT(0, 2, 0, 0),
    FRONT(1, 2, 0, 0), FRONT(0, 1, 2, 0), FRONT(3, 0, 0, 0), FRONT(0, 3, 0, 0), FRONT(1, 3, 0, 0), FRONT(0, 1, 3, 0),
    FRONT(2, 3, 0, 0), FRONT(0, 2, 3, 0), FRONT(1, 2, 3, 0), FRONT(0, 1, 2, 3),
};

/// Which of four pairs are not zero, one bit each.
static inline int filled(__m128i four) {
    return 15 & ~_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, _mm_setzero_si128())));
}

/// Adds a pixel's pairs to a list. `place`: where the weights of the first begin; `step`: from one pair to the next. May write
/// three entries more.
static inline int add_pixel(const list *l, int count, const int16_t *in, int pairs, int place, int step) {
    const __m128i next = _mm_set1_epi32(4 * step);
    __m128i places = _mm_setr_epi32(place, place + step, place + 2 * step, place + 3 * step);
    for (int i = 0; i < pairs; i += 4, places = _mm_add_epi32(places, next)) {
        const __m128i four = load_half(in + 2 * i);
        const int rest = pairs - i, bits = filled(four) & (rest < 4 ? (1 << rest) - 1 : 15);
        const __m128i front = load_half(fronts[bits]);
        store_half(l->values + count, _mm_shuffle_epi8(four, front));
        store_half(l->places + count, _mm_shuffle_epi8(places, front));
        count += __builtin_popcount((unsigned)bits);
    }
    return count;
}

/// Writes `vectors` times 8 outputs of a pixel.
static inline __attribute__((always_inline)) void finish_pixel(int16_t *out, const __m256i *sums, __m128i shift,
                                                               const int16_t *added, int positive, const int vectors) {
    for (int v = 0; v < vectors; v += 2) {
        const __m256i first = _mm256_sra_epi32(sums[v], shift);
        const __m256i second = v + 1 < vectors ? _mm256_sra_epi32(sums[v + 1], shift) : first;
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
        if (v + 1 < vectors) {
            store(out + 8 * v, finish(both, added ? added + 8 * v : NULL, positive));
        } else {
            __m128i half = _mm256_castsi256_si128(both);
            if (added) half = _mm_adds_epi16(half, load_half(added + 8 * v));
            store_half(out + 8 * v, positive ? _mm_max_epi16(half, _mm_setzero_si128()) : half);
        }
    }
}

/// Lists the pairs of `columns` columns of rows.
/// - most: of a column's entries.
/// - Returns: whether the columns have no more, as a mean.
static int list_columns(list *l, const int16_t *const *rows, int count, int columns, const burnish_fusion_layer *layer,
                        int most) {
    const int pairs = layer->inputs / 2, kernel = layer->kernel;
    int end = 0;
    for (int x = 0; x < columns; x++) {
        for (int row = 0; row < count; row++) {
            l->ends[x][row] = (uint16_t)end;
            end = add_pixel(l, end, rows[row] + (ptrdiff_t)x * layer->inputs, pairs, kernel * row * pairs, kernel);
        }
        l->ends[x][count] = (uint16_t)end;
        if (end > most * (x + 4)) return 0;
    }
    return 1;
}

/// Adds entry k's products with the weights of a tap, which lie `tap` taps after its own.
static inline __attribute__((always_inline)) void add_products(__m256i *sums, const list *l, int k, int tap,
                                                               const int16_t *weights, const int vectors) {
    const __m256i both = _mm256_set1_epi32(l->values[k]);
    const int16_t *w = weights + ((ptrdiff_t)l->places[k] + tap) * 16 * vectors;
    for (int v = 0; v < vectors; v++) sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(both, load(w + 16 * v)));
}

/// What a row of results is made of: `vectors` times 8 outputs of each pixel.
typedef struct {
    int16_t *out;
    const int16_t *added;
    int positive, outputs, width, row;
    const int16_t *weights;
    const int32_t *bias;
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
    for (int v = 0; v < vectors; v++) sums[0][v] = sums[1][v] = sums[2][v] = load(c->bias + 8 * v);
    for (int x = 0; x < c->width + 2; x++) {
        for (int k = l->ends[x][c->row], end = l->ends[x][c->row + 3]; k < end; k++)
            for (int tap = 0; tap < 3; tap++) add_products(sums[tap], l, k, tap, c->weights, vectors);
        if (x >= 2) finish_at(c, x - 2, sums[2], vectors);
        for (int v = 0; v < vectors; v++)
            sums[2][v] = sums[1][v], sums[1][v] = sums[0][v], sums[0][v] = load(c->bias + 8 * v);
    }
}

/// The same for results two columns apart.
static inline __attribute__((always_inline)) void scatter_half(const list *l, const chunk *c, const int vectors) {
    __m256i now[4], last[4];
    for (int v = 0; v < vectors; v++) now[v] = load(c->bias + 8 * v);
    for (int x = 0; x <= c->width; x++) {
        for (int v = 0; v < vectors; v++) last[v] = now[v], now[v] = load(c->bias + 8 * v);
        for (int k = l->ends[2 * x][0], end = l->ends[2 * x][3]; k < end; k++) {
            add_products(now, l, k, 0, c->weights, vectors);
            add_products(last, l, k, 2, c->weights, vectors);
        }
        if (x > 0) finish_at(c, x - 1, last, vectors);
        if (x == c->width) break;
        for (int k = l->ends[2 * x + 1][0], end = l->ends[2 * x + 1][3]; k < end; k++)
            add_products(now, l, k, 1, c->weights, vectors);
    }
}

/// One tap.
static inline __attribute__((always_inline)) void gather(const list *l, const chunk *c, const int vectors) {
    for (int x = 0; x < c->width; x++) {
        __m256i sums[4];
        for (int v = 0; v < vectors; v++) sums[v] = load(c->bias + 8 * v);
        for (int k = l->ends[x][0], end = l->ends[x][1]; k < end; k++) add_products(sums, l, k, 0, c->weights, vectors);
        finish_at(c, x, sums, vectors);
    }
}

/// All outputs of a row of up to 2 · BURNISH_FUSION_TILES pixels, or half as many where the step is 2.
/// - row: the list's row that the row's uppermost taps are at.
static void sparse_row(int16_t *out, const list *l, int row, const int16_t *added, int positive, int width,
                       const burnish_fusion_layer *layer) {
    const int16_t *weights = layer->scattered;
    const ptrdiff_t taps = (ptrdiff_t)layer->kernel * layer->inputs / 2;
    for (int first = 0; first < layer->outputs;) {
        const int left = (layer->outputs - first) / 8, vectors = left < 4 ? left : 4;
        const chunk c = {out + first,
                         added ? added + first : NULL,
                         positive,
                         layer->outputs,
                         width,
                         row,
                         weights - row * taps * 16 * vectors,
                         layer->bias + first,
                         _mm_cvtsi32_si128(layer->shift)};
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
        weights += layer->kernel * taps * 16 * vectors;
        first += 8 * vectors;
    }
}

int burnish_fusion_sparse_pair_avx2(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added,
                                    int positive, int width, const burnish_fusion_layer *layer, void *scratch) {
    if (!layer->scattered) return 0;
    list l = {.values = scratch, .places = (int32_t *)scratch + COLUMNS * 4 * PAIRS + 4};
    // Tiles are as fast where half of the pairs is not zero.
    if (!list_columns(&l, rows, 4, width + 2, layer, layer->inputs)) return 0;
    for (int row = 0; row < 2; row++) sparse_row(out[row], &l, row, added[row], positive, width, layer);
    return 1;
}

int burnish_fusion_sparse_layer_avx2(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive,
                                     int width, const burnish_fusion_layer *layer) {
    const int kernel = layer->kernel;
    if (!layer->scattered) return 0;
    int32_t values[COLUMNS * 3 * PAIRS + 4], places[COLUMNS * 3 * PAIRS + 4];
    list l = {.values = values, .places = places};
    const int columns = kernel == 1 ? width : layer->step * (width - 1) + 3;
    return list_columns(&l, rows, kernel, columns, layer, kernel * layer->inputs / 4) &&
           (sparse_row(out, &l, 0, added, positive, width, layer), 1);
}

BURNISH_TARGET_END
#endif
