#if defined(__x86_64__)
#include "families.h"
#include "fusion_avx2.h"
#include "fusion_constants.h"

#pragma STDC FP_CONTRACT OFF

BURNISH_TARGET_AVX2

enum { PICTURES = BURNISH_FUSION_PICTURES, FEATURES = BURNISH_FUSION_FEATURES, CHOICES = BURNISH_FUSION_CHOICES };

static inline __m128i load_quarter(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }
static inline __m256i widened(const uint8_t *p) { return _mm256_cvtepu8_epi16(load_half(p)); }

/// Sums of 7 samples up and down around rows 2y and 2y + 1, from column -3 on.
static void sum_columns(uint16_t *sums, const burnish_motion_plane *made, int y, int count) {
    const uint8_t *top = made->origin + (2 * y - 3) * made->stride - 3;
    for (int x = 0; x < count; x += 16) {
        const __m256i first = widened(top + x);
        __m256i sum = first;
        for (int row = 1; row < 7; row++) sum = _mm256_add_epi16(sum, widened(top + row * made->stride + x));
        store(sums + x, sum);
        sum = _mm256_add_epi16(_mm256_sub_epi16(sum, first), widened(top + 7 * made->stride + x));
        store(sums + count + x, sum);
    }
}

/// 16 samples' distances from the means around them.
static inline __m256i detail(const uint16_t *sums, __m256i made) {
    __m256i sum = load(sums);
    for (int i = 1; i < 7; i++) sum = _mm256_add_epi16(sum, load(sums + i));
    const __m256i d = _mm256_sub_epi16(_mm256_mullo_epi16(made, _mm256_set1_epi16(49)), sum);
    return _mm256_mulhrs_epi16(d, _mm256_set1_epi16(FUSION_DETAIL));
}

/// 16 samples of two rows as 8 pixels of 4 channels. Each vector has two pixels in each half, 4 pixels apart.
typedef struct {
    __m256i low, high;
} eight_pixels;

static inline eight_pixels interleaved(__m256i upper, __m256i lower) {
    return (eight_pixels){_mm256_unpacklo_epi32(upper, lower), _mm256_unpackhi_epi32(upper, lower)};
}

/// A picture's differences from what is there.
static inline eight_pixels differences(const burnish_motion_plane *plane, ptrdiff_t y, int x, __m256i upper,
                                       __m256i lower) {
    const uint8_t *at = plane->origin + y * plane->stride + x;
    return interleaved(_mm256_slli_epi16(_mm256_sub_epi16(widened(at), upper), 4),
                       _mm256_slli_epi16(_mm256_sub_epi16(widened(at + plane->stride), lower), 4));
}

/// Writes 8 channels of pixels 0 and 1, and of 4 and 5.
static inline void store_pixels(int16_t *out, __m256i first, __m256i second) {
    const __m256i even = _mm256_unpacklo_epi64(first, second), odd = _mm256_unpackhi_epi64(first, second);
    store_half(out, _mm256_castsi256_si128(even));
    store_half(out + FEATURES, _mm256_castsi256_si128(odd));
    store_half(out + 4 * FEATURES, _mm256_extracti128_si256(even, 1));
    store_half(out + 5 * FEATURES, _mm256_extracti128_si256(odd, 1));
}

/// Writes 4 channels of the same pixels.
static inline void store_last(int16_t *out, __m256i v) {
    const __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
    _mm_storel_epi64((__m128i *)out, low);
    _mm_storel_epi64((__m128i *)(out + FEATURES), _mm_unpackhi_epi64(low, low));
    _mm_storel_epi64((__m128i *)(out + 4 * FEATURES), high);
    _mm_storel_epi64((__m128i *)(out + 5 * FEATURES), _mm_unpackhi_epi64(high, high));
}

static void features(int16_t *out, const burnish_fusion_pictures *pictures, int y, int width, uint16_t *sums) {
    const burnish_motion_plane *made = &pictures->made;
    const int count = ((2 * width + 15) & ~15) + 16;
    sum_columns(sums, made, y, count);
    for (int x = 0; x < width; x += 8, out += 8 * FEATURES) {
        const uint8_t *at = made->origin + 2 * y * made->stride + 2 * x;
        const __m256i upper = widened(at), lower = widened(at + made->stride);
        for (int k = 0; k < PICTURES; k += 2) {
            const eight_pixels a = differences(pictures->prediction + k, 2 * y, 2 * x, upper, lower);
            const eight_pixels b = differences(pictures->prediction + k + 1, 2 * y, 2 * x, upper, lower);
            store_pixels(out + 4 * k, a.low, b.low);
            store_pixels(out + 4 * k + 2 * FEATURES, a.high, b.high);
        }
        const eight_pixels last = interleaved(detail(sums + 2 * x, upper), detail(sums + count + 2 * x, lower));
        store_last(out + 4 * PICTURES, last.low);
        store_last(out + 4 * PICTURES + 2 * FEATURES, last.high);
    }
}

/// Adds the products of two channels of each pixel.
static inline __attribute__((always_inline)) void add_pair(__m256i *sums, const int16_t *in, ptrdiff_t step,
                                                           const int16_t *weights, const int pixels,
                                                           const int vectors) {
    __m256i w[3];
    for (int v = 0; v < vectors; v++) w[v] = load(weights + 16 * v);
    for (int p = 0; p < pixels; p++) {
        const __m256i both = pair(in + p * step);
        for (int v = 0; v < vectors; v++)
            sums[p * vectors + v] = _mm256_add_epi32(sums[p * vectors + v], _mm256_madd_epi16(both, w[v]));
    }
}

/// Adds the products of `count` numbers that follow each other, a multiple of 4, of each pixel.
static inline __attribute__((always_inline)) void add_row_of_taps(__m256i *sums, const int16_t *in, int count,
                                                                  ptrdiff_t step, const int16_t *weights,
                                                                  const int pixels, const int vectors) {
    for (const int16_t *end = in + count; in < end; in += 4, weights += 32 * vectors) {
        add_pair(sums, in, step, weights, pixels, vectors);
        add_pair(sums, in + 2, step, weights + 16 * vectors, pixels, vectors);
    }
}

/// `vectors` times 8 outputs of `pixels` pixels, whose sums stay in registers.
static inline __attribute__((always_inline)) void block(int16_t *out, const int16_t *const *rows, const int16_t *added,
                                                        int positive, int x, const burnish_fusion_layer *layer,
                                                        const int16_t *weights, const int32_t *bias, const int pixels,
                                                        const int vectors) {
    __m256i sums[12];
    const ptrdiff_t step = (ptrdiff_t)layer->step * layer->inputs;
    const int across = layer->kernel * layer->inputs;
    for (int v = 0; v < vectors; v++)
        for (int p = 0; p < pixels; p++) sums[p * vectors + v] = load(bias + 8 * v);
    for (int row = 0; row < layer->kernel; row++, weights += (ptrdiff_t)8 * across * vectors)
        add_row_of_taps(sums, rows[row] + x * step, across, step, weights, pixels, vectors);
    const __m128i shift = _mm_cvtsi32_si128(layer->shift);
    for (int p = 0; p < pixels; p++) {
        const ptrdiff_t at = (ptrdiff_t)layer->outputs * (x + p);
        for (int v = 0; v < vectors; v += 2) {
            const __m256i first = _mm256_sra_epi32(sums[p * vectors + v], shift);
            const __m256i second = v + 1 < vectors ? _mm256_sra_epi32(sums[p * vectors + v + 1], shift) : first;
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
            const __m256i result = finish(both, added ? added + at + 8 * v : NULL, positive);
            if (v + 1 < vectors) store(out + at + 8 * v, result);
            else store_half(out + at + 8 * v, _mm256_castsi256_si128(result));
        }
    }
}

static void dense_layer(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                        const burnish_fusion_layer *layer) {
    const int16_t *weights = layer->packed;
    const int pairs = layer->kernel * layer->kernel * layer->inputs / 2;
    for (int c = 0; c < layer->outputs;) {
        const int vectors = burnish_fusion_chunk((layer->outputs - c) / 8);
        const int16_t *plus = added ? added + c : NULL;
        const int32_t *bias = layer->bias + c;
        // The sums, the weights and a pixel fill the registers.
        switch (vectors) {
        case 3:
            for (int x = 0; x < width; x += 3) block(out + c, rows, plus, positive, x, layer, weights, bias, 3, 3);
            break;
        case 2:
            for (int x = 0; x < width; x += 6) block(out + c, rows, plus, positive, x, layer, weights, bias, 6, 2);
            break;
        default:
            for (int x = 0; x < width; x += 8) block(out + c, rows, plus, positive, x, layer, weights, bias, 8, 1);
        }
        weights += (ptrdiff_t)16 * pairs * vectors;
        c += 8 * vectors;
    }
}

static void layer(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                  const burnish_fusion_layer *one) {
    const ptrdiff_t step = (ptrdiff_t)one->step * one->inputs;
    for (int x = 0; x < width; x += BURNISH_FUSION_TILES) {
        const int left = width - x, count = left < BURNISH_FUSION_TILES ? left : BURNISH_FUSION_TILES;
        const int16_t *from[3];
        for (int i = 0; i < one->kernel; i++) from[i] = rows[i] + x * step;
        int16_t *to = out + (ptrdiff_t)x * one->outputs;
        const int16_t *plus = added ? added + (ptrdiff_t)x * one->outputs : NULL;
        if (!burnish_fusion_sparse_layer_avx2(to, from, plus, positive, count, one))
            dense_layer(to, from, plus, positive, count, one);
    }
}

/// Minimal filtering, F(2x2, 3x3) of [Lavin and Gray 2016]: four pixels of a tile from 16 products instead of 36. Its weights
/// are four times as large, so that they are whole numbers, and sums of them are exact.
enum { TILES = BURNISH_FUSION_TILES, PLACES = BURNISH_FUSION_PLACES };

/// Inputs of 16 channels at the 4x4 places of each tile. Returns their greatest magnitude in each lane.
/// - place: numbers from one place to the next; `tile`: from one tile to the next.
static inline __m256i place_inputs(int16_t *out, ptrdiff_t place, ptrdiff_t tile, const int16_t *const *rows,
                                   ptrdiff_t at, int inputs, int tiles) {
    __m256i most = _mm256_setzero_si256(), columns[4][4];
    for (int x = -2; x < 2 * tiles; x += 2, at += 2 * inputs) {
        for (int i = 0; i < 2; i++) {
            __m256i v[4];
            for (int row = 0; row < 4; row++) {
                v[row] = load(rows[row] + at + i * inputs);
                most = _mm256_max_epu16(most, _mm256_abs_epi16(v[row]));
            }
            columns[2 + i][0] = _mm256_sub_epi16(v[0], v[2]);
            columns[2 + i][1] = _mm256_add_epi16(v[1], v[2]);
            columns[2 + i][2] = _mm256_sub_epi16(v[2], v[1]);
            columns[2 + i][3] = _mm256_sub_epi16(v[1], v[3]);
        }
        if (x >= 0) {
            for (int row = 0; row < 4; row++) {
                int16_t *to = out + 4 * row * place;
                store(to, _mm256_sub_epi16(columns[0][row], columns[2][row]));
                store(to + place, _mm256_add_epi16(columns[1][row], columns[2][row]));
                store(to + 2 * place, _mm256_sub_epi16(columns[2][row], columns[1][row]));
                store(to + 3 * place, _mm256_sub_epi16(columns[1][row], columns[3][row]));
            }
            out += tile;
        }
        memcpy(columns[0], columns[2], sizeof columns[0]);
        memcpy(columns[1], columns[3], sizeof columns[1]);
    }
    return most;
}

/// Products of `pixels` tiles at one place and their sums.
static inline __attribute__((always_inline)) void multiply(int32_t *out, const int16_t *in, int inputs, ptrdiff_t step,
                                                           const int16_t *weights, const int pixels,
                                                           const int vectors) {
    __m256i sums[12];
    for (int i = 0; i < pixels * vectors; i++) sums[i] = _mm256_setzero_si256();
    add_row_of_taps(sums, in, inputs, step, weights, pixels, vectors);
    for (int i = 0; i < pixels * vectors; i++) store(out + 8 * i, sums[i]);
}

/// 8 outputs of a tile's 2x2 pixels from its sums at 4x4 places.
static inline void tile_outputs(__m256i *out, const int32_t *sums, ptrdiff_t place, __m256i bias) {
    __m256i upper[4], lower[4];
    for (int column = 0; column < 4; column++) {
        const int32_t *at = sums + column * place;
        const __m256i a = load(at), b = load(at + 4 * place), c = load(at + 8 * place), d = load(at + 12 * place);
        upper[column] = _mm256_add_epi32(_mm256_add_epi32(a, b), c);
        lower[column] = _mm256_sub_epi32(_mm256_sub_epi32(b, c), d);
    }
    for (int i = 0; i < 2; i++) {
        const __m256i *v = i ? lower : upper, right = _mm256_add_epi32(bias, v[1]);
        out[2 * i] = _mm256_add_epi32(_mm256_add_epi32(right, v[0]), v[2]);
        out[2 * i + 1] = _mm256_sub_epi32(_mm256_sub_epi32(right, v[2]), v[3]);
    }
}

/// Writes 8 outputs of the tiles of a block. `sums`: those of its first tile. `step`: from one tile to the next.
static void finish_tiles(int16_t *const *out, const int32_t *sums, ptrdiff_t step, const int16_t *const *added,
                         int positive, int tiles, const burnish_fusion_layer *layer, int c) {
    const __m128i shift = _mm_cvtsi32_si128(layer->shift + 2);
    const __m256i bias = _mm256_slli_epi32(load(layer->bias + c), 2);
    for (int t = 0; t < tiles; t++, sums += step) {
        __m256i four[4];
        tile_outputs(four, sums, TILES * step, bias);
        for (int i = 0; i < 2; i++) {
            const __m256i both = _mm256_packs_epi32(_mm256_sra_epi32(four[2 * i], shift),
                                                    _mm256_sra_epi32(four[2 * i + 1], shift));
            const __m256i ordered = _mm256_permute4x64_epi64(both, 0xd8);
            for (int k = 0; k < 2; k++) {
                const ptrdiff_t to = (ptrdiff_t)layer->outputs * (2 * t + k) + c;
                __m128i result = k ? _mm256_extracti128_si256(ordered, 1) : _mm256_castsi256_si128(ordered);
                if (added[i]) result = _mm_adds_epi16(result, load_half(added[i] + to));
                if (positive) result = _mm_max_epi16(result, _mm_setzero_si128());
                store_half(out[i] + to, result);
            }
        }
    }
}

/// All outputs of a block of tiles from their inputs. `out` and `added` are at the block's first pixel.
static void tile_block(int16_t *const *out, const int16_t *const *added, int positive, int tiles,
                       const burnish_fusion_layer *layer, const int16_t *in, ptrdiff_t tile, int32_t *sums) {
    const int16_t *weights = layer->places;
    const int inputs = layer->inputs;
    for (int c = 0; c < layer->outputs;) {
        const int vectors = burnish_fusion_chunk((layer->outputs - c) / 8);
        for (int k = 0; k < PLACES; k++, weights += (ptrdiff_t)8 * inputs * vectors) {
            int32_t *to = sums + 8 * k * TILES * vectors;
            const int16_t *from = in + k * TILES * tile;
            switch (vectors) {
            case 3:
                for (int t = 0; t < tiles; t += 3) multiply(to + 24 * t, from + t * tile, inputs, tile, weights, 3, 3);
                break;
            case 2:
                for (int t = 0; t < tiles; t += 6) multiply(to + 16 * t, from + t * tile, inputs, tile, weights, 6, 2);
                break;
            default: multiply(to, from, inputs, tile, weights, TILES, 1);
            }
        }
        for (int v = 0; v < vectors; v++, c += 8)
            finish_tiles(out, sums + 8 * v, 8 * vectors, added, positive, tiles, layer, c);
    }
}

static void pair_of_rows(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added, int positive,
                         int width, const burnish_fusion_layer *one, void *scratch) {
    const ptrdiff_t tile = (one->inputs + 15) & ~15;
    int16_t *const inputs = scratch;
    int32_t *const sums = (int32_t *)(inputs + PLACES * TILES * 64);
    const __m256i limit = _mm256_set1_epi16((int16_t)one->most);
    for (int x = 0; x < width; x += 2 * TILES) {
        const int left = (width - x + 1) / 2, tiles = left < TILES ? left : TILES;
        const ptrdiff_t from = (ptrdiff_t)x * one->inputs, to = (ptrdiff_t)x * one->outputs;
        int16_t *const at[2] = {out[0] + to, out[1] + to};
        const int16_t *const plus[2] = {added[0] ? added[0] + to : NULL, added[1] ? added[1] + to : NULL};
        const int16_t *const four[4] = {rows[0] + from, rows[1] + from, rows[2] + from, rows[3] + from};
        if (burnish_fusion_sparse_pair_avx2(at, four, plus, positive, 2 * tiles, one, scratch)) continue;
        __m256i most = _mm256_setzero_si256();
        for (int i = 0; i < one->inputs; i += 16)
            most = _mm256_max_epu16(most,
                                    place_inputs(inputs + i, TILES * tile, tile, rows, from + i, one->inputs, tiles));
        const __m256i beyond = _mm256_subs_epu16(most, limit);
        if (_mm256_testz_si256(beyond, beyond)) {
            tile_block(at, plus, positive, tiles, one, inputs, tile, sums);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            const int16_t *const three[3] = {rows[i] + from, rows[i + 1] + from, rows[i + 2] + from};
            dense_layer(at[i], three, plus[i], positive, 2 * tiles, one);
        }
    }
}

/// The rows are multiples of 16 numbers long.
static inline void add_row(int16_t *row, const int16_t *from) {
    store(row, _mm256_max_epi16(_mm256_adds_epi16(load(row), load(from)), _mm256_setzero_si256()));
}

static void raise(int16_t *upper, int16_t *lower, const int16_t *from, int channels, int width) {
    for (int x = 0; x < width; x++, from += 4 * channels) {
        for (int i = 0; i < 2 * channels; i += 16) {
            add_row(upper + 2 * channels * x + i, from + i);
            add_row(lower + 2 * channels * x + i, from + 2 * channels + i);
        }
    }
}

/// Number k of the last layer, of the four samples of two pixels.
static inline __m128i choice(const int16_t *choices, int k) {
    return _mm_unpacklo_epi64(load_quarter(choices + 4 * k), load_quarter(choices + CHOICES + 4 * k));
}

/// 2 ^ (difference / 256 · log2 e), no less than 2 ^ -30.
static inline __m256 weight(__m128i v, __m256i most) {
    const __m256 difference = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepi16_epi32(v), most));
    const __m256 t = _mm256_max_ps(_mm256_mul_ps(difference, _mm256_set1_ps(FUSION_SCALE)),
                                   _mm256_set1_ps(FUSION_LEAST));
    const __m256 whole = _mm256_floor_ps(t), x = _mm256_sub_ps(t, whole);
    __m256 part = _mm256_add_ps(_mm256_set1_ps(FUSION_POWER_3), _mm256_mul_ps(x, _mm256_set1_ps(FUSION_POWER_4)));
    part = _mm256_add_ps(_mm256_set1_ps(FUSION_POWER_2), _mm256_mul_ps(x, part));
    part = _mm256_add_ps(_mm256_set1_ps(FUSION_POWER_1), _mm256_mul_ps(x, part));
    part = _mm256_add_ps(_mm256_set1_ps(1), _mm256_mul_ps(x, part));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)), part);
}

/// The mixture at the four samples of two pixels, whose samples of each picture follow each other.
static inline __m256i mix(const int16_t *choices, const __m128i *samples, __m128i made) {
    __m128i greatest = choice(choices, 0);
    for (int k = 1; k <= PICTURES; k++) greatest = _mm_max_epi16(greatest, choice(choices, k));
    const __m256i most = _mm256_cvtepi16_epi32(greatest), now = _mm256_cvtepu8_epi32(made);
    __m256 sum = _mm256_setzero_ps(), difference = _mm256_setzero_ps();
    for (int k = 0; k < PICTURES; k++) {
        const __m256 e = weight(choice(choices, k), most);
        const __m256 d = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(samples[k]), now));
        sum = _mm256_add_ps(sum, e);
        difference = _mm256_add_ps(difference, _mm256_mul_ps(e, d));
    }
    sum = _mm256_add_ps(sum, weight(choice(choices, PICTURES), most));
    const __m256 residual = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(choice(choices, PICTURES + 1))),
                                          _mm256_set1_ps(1.0f / 64));
    const __m256 v = _mm256_add_ps(_mm256_add_ps(_mm256_cvtepi32_ps(now), _mm256_div_ps(difference, sum)), residual);
    return _mm256_cvttps_epi32(_mm256_floor_ps(_mm256_add_ps(v, _mm256_set1_ps(0.5f))));
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
        __m128i low[PICTURES], high[PICTURES];
        const __m128i made = four_pixels(&pictures->made, 2 * y, x);
        __m128i least = made, greatest = made;
        for (int k = 0; k < PICTURES; k++) {
            low[k] = four_pixels(pictures->prediction + k, 2 * y, x);
            least = _mm_min_epu8(least, low[k]), greatest = _mm_max_epu8(greatest, low[k]);
            high[k] = _mm_unpackhi_epi64(low[k], low[k]);
        }
        const __m256i first = mix(choices, low, made);
        const __m256i second = mix(choices + 2 * CHOICES, high, _mm_unpackhi_epi64(made, made));
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
        __m128i v = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        v = _mm_shuffle_epi8(_mm_min_epu8(_mm_max_epu8(v, least), greatest), rows);
        store_samples(upper + x, v, width - x);
        if (lower) store_samples(lower + x, _mm_unpackhi_epi64(v, v), width - x);
    }
}

void burnish_fusion_init_avx2(burnish_fusion_kernels *kernels) {
    *kernels = (burnish_fusion_kernels){features, layer, pair_of_rows, raise, choose};
}

BURNISH_TARGET_END
#endif
