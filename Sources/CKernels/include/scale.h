// Doubling a plane with a separable filter, for the `base` tier of super-resolution, and bringing a plane to any other size with a
// polyphase filter.
//
// Coefficients have 14 fractional bits, sum to 1 << 14, and are below 32640, so that two signed bytes can hold them.
// Positions are those of the centres of the samples: output sample 2i lies just before input sample i, and 2i + 1 just
// after it. The coefficients of the two phases say how far.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    /// How many samples a horizontal pass may read before and after its row. Only those within the taps change the
    /// result.
    BURNISH_SCALE_MARGIN = 64,
};

typedef struct {
    /// Taps of one phase: 4 or 8.
    int taps;
    /// Row i - taps/2 + phase + k has the weight vertical[phase][k].
    int16_t vertical[2][8];
    /// Sample i - taps/2 + k has the weight horizontal[phase][k]. It is 0 at k = taps in phase 0, at k = 0 in phase 1,
    /// and at k = taps + 1 in both. So both phases read the same samples, in pairs.
    int16_t horizontal[2][10];
} burnish_scale_filter;

typedef struct {
    /// out[x] = (sum over k of coefficients[k] · rows[k][x] + 128) >> 8, for x < width: 6 fractional bits.
    /// taps is 4 or 8. Reads only the `width` samples of each row, and writes only `width`.
    void (*vertical)(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int taps, int width);
    /// out[2x + p] = clamp((sum over k of horizontal[p][k] · in[x - taps/2 + k] + (1 << 19)) >> 20), for x < width.
    /// Reads up to BURNISH_SCALE_MARGIN samples around the row; writes only 2 · width.
    void (*horizontal)(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width);
    /// out[x] = clamp((sum over k < 8 of weights[8x + k] · in[first[x] + k] + (1 << 19)) >> 20), for x < width. Reads only these
    /// samples, and writes only `width`.
    void (*resample)(uint8_t *out, const int16_t *in, const int32_t *first, const int16_t *weights, int width);
} burnish_scale_kernels;

/// How one axis of a plane gets another size: for each new sample the first of the 8 samples that it is made of, and their weights.
/// A first sample lies at most 4 samples before the first one and 4 before the last one.
typedef struct {
    const int32_t *first;
    const int16_t *weights;
    /// New samples, and the plane's own.
    int out, in;
} burnish_scale_axis;

/// The bytes of scratch that `burnish_scale_resample` needs for a plane of this width. Best aligned to 64 bytes.
size_t burnish_scale_resample_scratch(int width);

/// Rows first ..< last of a plane in its new size, edges extended. Parts are independent: several threads may do them at once, each
/// with its own scratch.
void burnish_scale_resample(const burnish_scale_kernels *kernels, const burnish_scale_axis *across,
                            const burnish_scale_axis *down, uint8_t *out, ptrdiff_t out_stride, const uint8_t *in,
                            ptrdiff_t in_stride, int first, int last, void *scratch);

/// The bytes of scratch that `burnish_scale_band` needs for a plane of this width. Best aligned to 64 bytes.
size_t burnish_scale_scratch(int width);

/// Rows first ..< last of the doubled plane, in columns 2·left ..< 2·right, edges extended. `out_width` is 2 · width,
/// or one less for the chroma of a picture of odd size. Parts are independent: several threads may do them at once,
/// each with its own scratch.
void burnish_scale_band(const burnish_scale_kernels *kernels, const burnish_scale_filter *filter, uint8_t *out,
                        ptrdiff_t out_stride, int out_width, const uint8_t *in, ptrdiff_t in_stride, int width,
                        int height, int left, int right, int first, int last, void *scratch);
