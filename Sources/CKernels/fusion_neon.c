#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "families.h"
#include "fusion_constants.h"
#include "target.h"

#pragma STDC FP_CONTRACT OFF

BURNISH_TARGET_NEON

enum { PICTURES = BURNISH_FUSION_PICTURES, FEATURES = BURNISH_FUSION_FEATURES, CHOICES = BURNISH_FUSION_CHOICES };

static inline int16x8_t widened(const uint8_t *p) { return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))); }

/// Sums of 7 samples up and down around rows 2y and 2y + 1, from column -3 on.
static void sum_columns(uint16_t *sums, const burnish_motion_plane *made, int y, int count) {
    const uint8_t *top = made->origin + (2 * y - 3) * made->stride - 3;
    for (int x = 0; x < count; x += 8) {
        const uint8x8_t first = vld1_u8(top + x);
        uint16x8_t sum = vmovl_u8(first);
        for (int row = 1; row < 7; row++) sum = vaddw_u8(sum, vld1_u8(top + row * made->stride + x));
        vst1q_u16(sums + x, sum);
        vst1q_u16(sums + count + x, vaddw_u8(vsubw_u8(sum, first), vld1_u8(top + 7 * made->stride + x)));
    }
}

/// 8 samples' distances from the means around them.
static inline int16x8_t detail(const uint16_t *sums, int16x8_t made) {
    uint16x8_t sum = vld1q_u16(sums);
    for (int i = 1; i < 7; i++) sum = vaddq_u16(sum, vld1q_u16(sums + i));
    return vqrdmulhq_n_s16(vsubq_s16(vmulq_n_s16(made, 49), vreinterpretq_s16_u16(sum)), FUSION_DETAIL);
}

/// Writes 4 channels of 4 pixels from 8 samples of two rows.
static inline void store_pixels(int16_t *out, int16x8_t upper, int16x8_t lower) {
    const int32x4_t a = vreinterpretq_s32_s16(upper), b = vreinterpretq_s32_s16(lower);
    const int16x8_t low = vreinterpretq_s16_s32(vzip1q_s32(a, b)), high = vreinterpretq_s16_s32(vzip2q_s32(a, b));
    vst1_s16(out, vget_low_s16(low));
    vst1_s16(out + FEATURES, vget_high_s16(low));
    vst1_s16(out + 2 * FEATURES, vget_low_s16(high));
    vst1_s16(out + 3 * FEATURES, vget_high_s16(high));
}

static void features(int16_t *out, const burnish_fusion_pictures *pictures, int y, int width, uint16_t *sums) {
    const burnish_motion_plane *made = &pictures->made;
    const int count = ((2 * width + 7) & ~7) + 8;
    sum_columns(sums, made, y, count);
    for (int x = 0; x < width; x += 4, out += 4 * FEATURES) {
        const uint8_t *at = made->origin + 2 * y * made->stride + 2 * x;
        const int16x8_t upper = widened(at), lower = widened(at + made->stride);
        for (int k = 0; k < PICTURES; k++) {
            const burnish_motion_plane *plane = pictures->prediction + k;
            const uint8_t *p = plane->origin + 2 * y * plane->stride + 2 * x;
            store_pixels(out + 4 * k, vshlq_n_s16(vsubq_s16(widened(p), upper), 4),
                         vshlq_n_s16(vsubq_s16(widened(p + plane->stride), lower), 4));
        }
        store_pixels(out + 4 * PICTURES, detail(sums + 2 * x, upper), detail(sums + count + 2 * x, lower));
    }
}

/// Adds the products of channel `channel` of each pixel: `low` and `high` are 4 outputs of each.
#define ADD_CHANNEL(weights, channel) \
    for (int p = 0; p < pixels; p++) { \
        int32x4_t *const sum = sums + 2 * (p * vectors + v); \
        sum[0] = vmlal_lane_s16(sum[0], vget_low_s16(weights), inputs[p], channel); \
        sum[1] = vmlal_high_lane_s16(sum[1], weights, inputs[p], channel); \
    }

/// Adds the products of `count` numbers that follow each other, a multiple of 4, of each pixel. Dot products take bytes
/// only, so these are long multiplications: each is of one number of a pixel by those of four outputs.
static inline __attribute__((always_inline)) void add_products(int32x4_t *sums, const int16_t *in, int count,
                                                               ptrdiff_t step, const int16_t *weights, const int pixels,
                                                               const int vectors) {
    for (const int16_t *end = in + count; in < end; in += 4, weights += 32 * vectors) {
        int16x4_t inputs[8];
        for (int p = 0; p < pixels; p++) inputs[p] = vld1_s16(in + p * step);
        for (int v = 0; v < vectors; v++) {
            const int16x8x2_t w = vld2q_s16(weights + 16 * v);
            ADD_CHANNEL(w.val[0], 0)
            ADD_CHANNEL(w.val[1], 1)
        }
        for (int v = 0; v < vectors; v++) {
            const int16x8x2_t w = vld2q_s16(weights + 16 * (vectors + v));
            ADD_CHANNEL(w.val[0], 2)
            ADD_CHANNEL(w.val[1], 3)
        }
    }
}

/// Writes 8 results.
static inline void finish(int16_t *out, int32x4_t low, int32x4_t high, int32x4_t shift, const int16_t *added,
                          int positive) {
    int16x8_t result = vqmovn_high_s32(vqmovn_s32(vshlq_s32(low, shift)), vshlq_s32(high, shift));
    if (added) result = vqaddq_s16(result, vld1q_s16(added));
    if (positive) result = vmaxq_s16(result, vdupq_n_s16(0));
    vst1q_s16(out, result);
}

/// `vectors` times 8 outputs of `pixels` pixels, whose sums stay in registers.
static inline __attribute__((always_inline)) void block(int16_t *out, const int16_t *const *rows, const int16_t *added,
                                                        int positive, int x, const burnish_fusion_layer *layer,
                                                        const int16_t *weights, const int32_t *bias, const int pixels,
                                                        const int vectors) {
    int32x4_t sums[24];
    const ptrdiff_t step = (ptrdiff_t)layer->step * layer->inputs;
    const int across = layer->kernel * layer->inputs;
    for (int p = 0; p < pixels; p++)
        for (int i = 0; i < 2 * vectors; i++) sums[2 * p * vectors + i] = vld1q_s32(bias + 4 * i);
    for (int row = 0; row < layer->kernel; row++, weights += (ptrdiff_t)8 * across * vectors)
        add_products(sums, rows[row] + x * step, across, step, weights, pixels, vectors);
    const int32x4_t shift = vdupq_n_s32(-layer->shift);
    for (int p = 0; p < pixels; p++) {
        for (int v = 0; v < vectors; v++) {
            const int32x4_t *const sum = sums + 2 * (p * vectors + v);
            const ptrdiff_t at = (ptrdiff_t)layer->outputs * (x + p) + 8 * v;
            finish(out + at, sum[0], sum[1], shift, added ? added + at : NULL, positive);
        }
    }
}

static void layer(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                  const burnish_fusion_layer *layer) {
    const int16_t *weights = layer->packed;
    const int pairs = layer->kernel * layer->kernel * layer->inputs / 2;
    for (int c = 0; c < layer->outputs;) {
        const int vectors = burnish_fusion_chunk((layer->outputs - c) / 8);
        const int16_t *plus = added ? added + c : NULL;
        const int32_t *bias = layer->bias + c;
        // The sums, the weights and the pixels fill the registers.
        switch (vectors) {
        case 3:
            for (int x = 0; x < width; x += 3) block(out + c, rows, plus, positive, x, layer, weights, bias, 3, 3);
            break;
        case 2:
            for (int x = 0; x < width; x += 4) block(out + c, rows, plus, positive, x, layer, weights, bias, 4, 2);
            break;
        default:
            for (int x = 0; x < width; x += 8) block(out + c, rows, plus, positive, x, layer, weights, bias, 8, 1);
        }
        weights += (ptrdiff_t)16 * pairs * vectors;
        c += 8 * vectors;
    }
}

enum { TILES = BURNISH_FUSION_TILES, PLACES = BURNISH_FUSION_PLACES };

/// Inputs of 8 channels at the 4x4 places of each tile, as with AVX2. Returns their greatest magnitude in each lane.
static inline uint16x8_t place_inputs(int16_t *out, ptrdiff_t place, ptrdiff_t tile, const int16_t *const *rows,
                                      ptrdiff_t at, int inputs, int tiles) {
    uint16x8_t most = vdupq_n_u16(0);
    int16x8_t columns[4][4];
    for (int x = -2; x < 2 * tiles; x += 2, at += 2 * inputs) {
        for (int i = 0; i < 2; i++) {
            int16x8_t v[4];
            for (int row = 0; row < 4; row++) {
                v[row] = vld1q_s16(rows[row] + at + i * inputs);
                most = vmaxq_u16(most, vreinterpretq_u16_s16(vabsq_s16(v[row])));
            }
            columns[2 + i][0] = vsubq_s16(v[0], v[2]);
            columns[2 + i][1] = vaddq_s16(v[1], v[2]);
            columns[2 + i][2] = vsubq_s16(v[2], v[1]);
            columns[2 + i][3] = vsubq_s16(v[1], v[3]);
        }
        if (x >= 0) {
            for (int row = 0; row < 4; row++) {
                int16_t *to = out + 4 * row * place;
                vst1q_s16(to, vsubq_s16(columns[0][row], columns[2][row]));
                vst1q_s16(to + place, vaddq_s16(columns[1][row], columns[2][row]));
                vst1q_s16(to + 2 * place, vsubq_s16(columns[2][row], columns[1][row]));
                vst1q_s16(to + 3 * place, vsubq_s16(columns[1][row], columns[3][row]));
            }
            out += tile;
        }
        memcpy(columns[0], columns[2], sizeof columns[0]);
        memcpy(columns[1], columns[3], sizeof columns[1]);
    }
    return most;
}

/// Sums of the products of `pixels` tiles at one place.
static inline __attribute__((always_inline)) void multiply(int32_t *out, const int16_t *in, int inputs, ptrdiff_t step,
                                                           const int16_t *weights, const int pixels,
                                                           const int vectors) {
    int32x4_t sums[24];
    for (int i = 0; i < 2 * pixels * vectors; i++) sums[i] = vdupq_n_s32(0);
    add_products(sums, in, inputs, step, weights, pixels, vectors);
    for (int i = 0; i < 2 * pixels * vectors; i++) vst1q_s32(out + 4 * i, sums[i]);
}

/// 4 outputs of a tile's 2x2 pixels from its sums at 4x4 places.
static inline void tile_outputs(int32x4_t *out, const int32_t *sums, ptrdiff_t place, int32x4_t bias) {
    int32x4_t upper[4], lower[4];
    for (int column = 0; column < 4; column++) {
        const int32_t *at = sums + column * place;
        const int32x4_t a = vld1q_s32(at), b = vld1q_s32(at + 4 * place), c = vld1q_s32(at + 8 * place);
        upper[column] = vaddq_s32(vaddq_s32(a, b), c);
        lower[column] = vsubq_s32(vsubq_s32(b, c), vld1q_s32(at + 12 * place));
    }
    for (int i = 0; i < 2; i++) {
        const int32x4_t *v = i ? lower : upper, right = vaddq_s32(bias, v[1]);
        out[2 * i] = vaddq_s32(vaddq_s32(right, v[0]), v[2]);
        out[2 * i + 1] = vsubq_s32(vsubq_s32(right, v[2]), v[3]);
    }
}

/// Writes 8 outputs of the tiles of a block. `sums`: those of its first tile. `step`: from one tile to the next.
static void finish_tiles(int16_t *const *out, const int32_t *sums, ptrdiff_t step, const int16_t *const *added,
                         int positive, int tiles, const burnish_fusion_layer *layer, int c) {
    const int32x4_t shift = vdupq_n_s32(-(layer->shift + 2));
    const int32x4_t low = vshlq_n_s32(vld1q_s32(layer->bias + c), 2);
    const int32x4_t high = vshlq_n_s32(vld1q_s32(layer->bias + c + 4), 2);
    for (int t = 0; t < tiles; t++, sums += step) {
        int32x4_t first[4], second[4];
        tile_outputs(first, sums, TILES * step, low);
        tile_outputs(second, sums + 4, TILES * step, high);
        for (int i = 0; i < 4; i++) {
            const ptrdiff_t to = (ptrdiff_t)layer->outputs * (2 * t + i % 2) + c;
            finish(out[i / 2] + to, first[i], second[i], shift, added[i / 2] ? added[i / 2] + to : NULL, positive);
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
                for (int t = 0; t < tiles; t += 4) multiply(to + 16 * t, from + t * tile, inputs, tile, weights, 4, 2);
                break;
            default:
                for (int t = 0; t < tiles; t += 6) multiply(to + 8 * t, from + t * tile, inputs, tile, weights, 6, 1);
            }
        }
        for (int v = 0; v < vectors; v++, c += 8)
            finish_tiles(out, sums + 8 * v, 8 * vectors, added, positive, tiles, layer, c);
    }
}

static void pair_of_rows(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added, int positive,
                         int width, const burnish_fusion_layer *one, void *scratch) {
    const ptrdiff_t tile = (one->inputs + 7) & ~7;
    int16_t *const inputs = scratch;
    int32_t *const sums = (int32_t *)(inputs + PLACES * TILES * 64);
    for (int x = 0; x < width; x += 2 * TILES) {
        const int left = (width - x + 1) / 2, tiles = left < TILES ? left : TILES;
        const ptrdiff_t from = (ptrdiff_t)x * one->inputs, to = (ptrdiff_t)x * one->outputs;
        int16_t *const at[2] = {out[0] + to, out[1] + to};
        const int16_t *const plus[2] = {added[0] ? added[0] + to : NULL, added[1] ? added[1] + to : NULL};
        uint16x8_t most = vdupq_n_u16(0);
        for (int i = 0; i < one->inputs; i += 8)
            most = vmaxq_u16(most, place_inputs(inputs + i, TILES * tile, tile, rows, from + i, one->inputs, tiles));
        if (vmaxvq_u16(most) <= one->most) {
            tile_block(at, plus, positive, tiles, one, inputs, tile, sums);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            const int16_t *const three[3] = {rows[i] + from, rows[i + 1] + from, rows[i + 2] + from};
            layer(at[i], three, plus[i], positive, 2 * tiles, one);
        }
    }
}

/// The rows are multiples of 16 numbers long.
static inline void add_row(int16_t *row, const int16_t *from, int count) {
    for (int i = 0; i < count; i += 8)
        vst1q_s16(row + i, vmaxq_s16(vqaddq_s16(vld1q_s16(row + i), vld1q_s16(from + i)), vdupq_n_s16(0)));
}

static void raise(int16_t *upper, int16_t *lower, const int16_t *from, int channels, int width) {
    const int count = 2 * channels;
    for (int x = 0; x < width; x++, from += 2 * count) {
        add_row(upper + count * x, from, count);
        add_row(lower + count * x, from + count, count);
    }
}

/// 2 ^ (difference / 256 · log2 e), no less than 2 ^ -30.
static inline float32x4_t weight(int16x4_t v, int16x4_t most) {
    const float32x4_t difference = vcvtq_f32_s32(vsubl_s16(v, most));
    const float32x4_t t = vmaxq_f32(vmulq_f32(difference, vdupq_n_f32(FUSION_SCALE)), vdupq_n_f32(FUSION_LEAST));
    const float32x4_t whole = vrndmq_f32(t), x = vsubq_f32(t, whole);
    float32x4_t part = vaddq_f32(vdupq_n_f32(FUSION_POWER_3), vmulq_f32(x, vdupq_n_f32(FUSION_POWER_4)));
    part = vaddq_f32(vdupq_n_f32(FUSION_POWER_2), vmulq_f32(x, part));
    part = vaddq_f32(vdupq_n_f32(FUSION_POWER_1), vmulq_f32(x, part));
    part = vaddq_f32(vdupq_n_f32(1), vmulq_f32(x, part));
    const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(whole), vdupq_n_s32(127));
    return vmulq_f32(vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)), part);
}

/// The mixture at the four samples of a pixel. `apart` has how far each picture is from the one made.
static inline int16x4_t mix(const int16_t *choices, const int16x4_t *apart, int16x4_t made) {
    int16x4_t most = vld1_s16(choices);
    for (int k = 1; k <= PICTURES; k++) most = vmax_s16(most, vld1_s16(choices + 4 * k));
    float32x4_t sum = vdupq_n_f32(0), difference = vdupq_n_f32(0);
    for (int k = 0; k < PICTURES; k++) {
        const float32x4_t e = weight(vld1_s16(choices + 4 * k), most);
        sum = vaddq_f32(sum, e);
        difference = vaddq_f32(difference, vmulq_f32(e, vcvtq_f32_s32(vmovl_s16(apart[k]))));
    }
    sum = vaddq_f32(sum, weight(vld1_s16(choices + 4 * PICTURES), most));
    const float32x4_t residual = vmulq_f32(vcvtq_f32_s32(vmovl_s16(vld1_s16(choices + 4 * (PICTURES + 1)))),
                                           vdupq_n_f32(1.0f / 64));
    const float32x4_t v = vaddq_f32(vaddq_f32(vcvtq_f32_s32(vmovl_s16(made)), vdivq_f32(difference, sum)), residual);
    return vqmovn_s32(vcvtmq_s32_f32(vaddq_f32(v, vdupq_n_f32(0.5f))));
}

/// 8 samples of two rows as 4 pixels of 4 samples.
static inline uint8x16_t four_pixels(const burnish_motion_plane *plane, ptrdiff_t y, int x) {
    const uint8_t *at = plane->origin + y * plane->stride + x;
    const uint16x4_t upper = vreinterpret_u16_u8(vld1_u8(at)), lower = vreinterpret_u16_u8(vld1_u8(at + plane->stride));
    return vreinterpretq_u8_u16(vcombine_u16(vzip1_u16(upper, lower), vzip2_u16(upper, lower)));
}

/// Writes up to 8 samples.
static inline void store_samples(uint8_t *out, uint8x8_t v, int count) {
    if (count >= 8) {
        vst1_u8(out, v);
    } else {
        uint8_t samples[8];
        vst1_u8(samples, v);
        memcpy(out, samples, (size_t)count);
    }
}

static void choose(uint8_t *upper, uint8_t *lower, const int16_t *choices, const burnish_fusion_pictures *pictures,
                   int y, int width) {
    for (int x = 0; x < width; x += 8, choices += 4 * CHOICES) {
        const uint8x16_t made = four_pixels(&pictures->made, 2 * y, x);
        uint8x16_t least = made, greatest = made;
        int16x4_t apart[4][PICTURES];
        for (int k = 0; k < PICTURES; k++) {
            const uint8x16_t samples = four_pixels(pictures->prediction + k, 2 * y, x);
            least = vminq_u8(least, samples), greatest = vmaxq_u8(greatest, samples);
            const int16x8_t first = vreinterpretq_s16_u16(vsubl_u8(vget_low_u8(samples), vget_low_u8(made)));
            const int16x8_t second = vreinterpretq_s16_u16(vsubl_high_u8(samples, made));
            apart[0][k] = vget_low_s16(first), apart[1][k] = vget_high_s16(first);
            apart[2][k] = vget_low_s16(second), apart[3][k] = vget_high_s16(second);
        }
        const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(made)));
        const int16x8_t high = vreinterpretq_s16_u16(vmovl_high_u8(made));
        const int16x8_t first = vcombine_s16(mix(choices, apart[0], vget_low_s16(low)),
                                             mix(choices + CHOICES, apart[1], vget_high_s16(low)));
        const int16x8_t second = vcombine_s16(mix(choices + 2 * CHOICES, apart[2], vget_low_s16(high)),
                                              mix(choices + 3 * CHOICES, apart[3], vget_high_s16(high)));
        const uint8x16_t v = vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(first), second), least), greatest);
        const uint16x8_t pairs = vreinterpretq_u16_u8(v);
        store_samples(upper + x, vreinterpret_u8_u16(vget_low_u16(vuzp1q_u16(pairs, pairs))), width - x);
        if (lower) store_samples(lower + x, vreinterpret_u8_u16(vget_low_u16(vuzp2q_u16(pairs, pairs))), width - x);
    }
}

void burnish_fusion_init_neon(burnish_fusion_kernels *kernels) {
    *kernels = (burnish_fusion_kernels){features, layer, pair_of_rows, raise, choose};
}

BURNISH_TARGET_END
#endif
