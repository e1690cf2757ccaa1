// Small convolutional networks in 8-bit integers that double a luma plane, or restore it at its size: the neural tiers
// of super-resolution.
//
// tools/train/README.md states the arithmetic, which is the contract between training and kernels: every implementation
// gives the same bits. Activations are unsigned bytes in planes of four channels, four bytes a pixel, so that one
// 32-bit lane holds what one output needs at one tap (vpmaddubsw and vpmaddwd, vpdpbusd, sdot). A layer is a list of
// steps: a tap of one group of four channels. The first layer of a network that doubles has one channel, and its four
// bytes are neighbours in the row instead. That of a network that restores has four: the phases of a 2x2 grid. One of
// its pixels stands for 2x2 samples, so that its four outputs have their places too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BURNISH_NETWORK_LAYERS = 16,
    /// Steps of the largest layer: nine taps of 16 groups.
    BURNISH_NETWORK_STEPS = 9 * 16,
    /// How many pixels kernels may write beyond a row's end. Every row has room for them.
    BURNISH_NETWORK_MARGIN = 32,
};

typedef struct {
    /// 3 in a first layer with one channel (one a row), else 9 taps for each group of four input channels. Taps are numbered by row,
    /// then group, then column.
    int steps;
    /// Groups of four output channels. Missing channels have weights of 0.
    int groups;
    int shift;
    /// [groups][steps][4 outputs][4 inputs], steps as `order` has them.
    const int8_t *weights;
    /// [groups][steps]: the tap of each step.
    const uint8_t *order;
    /// [groups][steps + 1]: lengths of runs of steps, ended by a 0. Within a run every sum of products fits 16 bits,
    /// whatever the activations are, so that a kernel without 8-bit dot products may widen after a run.
    const uint8_t *runs;
    /// `weights` in the order of the taps, for kernels that need no runs.
    const int8_t *tap_weights;
    /// `weights` as matrices: [2 directions][3 places][3 columns][pieces][outputs][64 bytes]. A piece has the whole of
    /// the inputs of the column's three rows ([3 rows][inputs]), or of more than 16 groups the half. The rows are as they
    /// lie in the ring when the one above the pixel has that place in it, and the one below the next (downward) or the
    /// one before (upward). Outputs are filled up to a multiple of the bands, a band for each 16 outputs or less, and
    /// bytes to 64. NULL in the first layer and the last, and where a network does not suit tiles (Network.suitsTiles).
    const int8_t *tile_weights;
    /// [groups][4].
    const int32_t *bias;
    /// [groups][4][4]: each multiplier four times.
    const int16_t *mult;
    /// [groups]: whether sums may be clamped to 0 ... 65535 first, because that changes no result after the last clamp
    /// (PackedLayer). It has no meaning in the last layer, whose results are not clamped.
    const uint8_t *narrow;
} burnish_network_layer;

typedef struct {
    /// out[4x + k] = row[x + k] for k = 0 ... 3: the first layer's activations.
    void (*expand)(uint8_t *out, const uint8_t *row, int width);
    /// One row of a layer that is not the last: out[plane · group + 4x + c] for x < width. `taps[i]` points to tap i of
    /// pixel 0; the next pixel follows after 4 bytes. Where a layer has `tile_weights`, the groups of its three rows
    /// are a ring in memory, with equal distances.
    void (*layer)(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                  const burnish_network_layer *layer);
    /// One row of the last layer, four channels: upper[2x + c] is channel c, lower[2x + c] channel 2 + c.
    void (*residual)(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                     const burnish_network_layer *layer);
    /// The base's horizontal pass: out[2x], out[2x + 1] from row[x - 2 ... x + 2].
    void (*cubic)(int16_t *out, const uint8_t *row, int width);
    /// The base's vertical pass with the residual, for x < width. `weights` has 4. Writes exactly `width` samples.
    void (*merge)(uint8_t *out, const int16_t *const *rows, const int16_t *weights, const int16_t *residual, int width);
    /// out[4x + 2k + c] = sample 2x + c of the upper row (k = 0) and of the lower one (k = 1): the first layer's
    /// activations of a network that restores. Where activations lie in stripes, `width` is that of the layers, and the
    /// two extra vectors hold what a row of two more pixels has.
    void (*phases)(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width);
    /// Whether activations lie in stripes. A row of `width` pixels fills v = ceil(width / 16) vectors of 16 lanes. Each
    /// lane has v neighbours, so that pixel x is in lane x / v of vector x % v. The right neighbours of a vector's
    /// pixels are the next vector, 64 bytes further. Two extra vectors at the end continue the row: they are the first
    /// two, moved by one lane. `expand` and `layer` write this way and `layer` and `residual` read it, all with the
    /// same `width`; `residual`'s results are in the row's order again. (The layout is known from Farrar's alignment of
    /// sequences, Bioinformatics 23 (2007), 156.)
    bool striped;
    /// Call these on the same thread before and after one or more calls of `layer` for layers of one shape. NULL where
    /// they are not needed. Nothing else may use AMX in between.
    void (*begin)(const burnish_network_layer *layer);
    void (*end)(void);
} burnish_network_kernels;

/// A network for one quantiser bucket.
typedef struct {
    /// The network keeps the size: it sees and gives the four phases of a 2x2 grid.
    bool restores;
    int layer_count;
    burnish_network_layer layers[BURNISH_NETWORK_LAYERS];
} burnish_network;

/// A part of a picture, computed row by row from its top or from its bottom. Only three rows of each layer exist at a
/// time, so that all of them stay in the core's cache. Only the border at the sides is computed twice.
///
/// Input is counted in positions: samples, or the 2x2 samples that are one pixel of a network that restores. Each
/// position gives 2x2 output samples.
typedef struct {
    const burnish_network_kernels *kernels;
    const burnish_network *network;
    const uint8_t *in;
    /// From a row of positions to the next.
    ptrdiff_t in_stride;
    /// From the upper row of samples of a row of positions, which `in` points to, to the lower one. Only where the
    /// network restores.
    ptrdiff_t in_lower;
    /// The size of the whole input picture, in positions. Samples outside of it are the nearest one inside.
    int picture_width, picture_height;
    uint8_t *out;
    ptrdiff_t out_stride;
    /// Where to copy each finished row, or NULL. The row is still in the cache then, and the stores can wait behind the
    /// next row's computation.
    uint8_t *copy;
    ptrdiff_t copy_stride;
    /// The strip's columns and first row, in positions.
    int x, y, width;
    /// Whether the strip goes up. Then the pointers are at the pictures' last rows, strides are negative, and rows are
    /// counted from the bottom.
    bool upward;
    /// `burnish_network_scratch` bytes, 64-byte aligned.
    uint8_t *scratch;
    /// The next input row to feed, and the next row of the base. The functions below set them.
    int next, next_base;
} burnish_network_strip;

/// Bytes of scratch for strips of at most this width.
size_t burnish_network_scratch(const burnish_network *network, int width);

/// Prepares a strip whose fields above `next` are set.
void burnish_network_begin(burnish_network_strip *strip);

/// Computes the strip's input rows up to `end`, from where the last call ended. Each gives two output rows.
void burnish_network_advance(burnish_network_strip *strip, int end);
