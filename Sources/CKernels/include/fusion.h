// The network that fuses predictions of a picture between two others: at each sample it mixes thirteen pictures by weights of
// its own, and adds a residual. tools/train/README.md ("Fusion") states the arithmetic, which is the contract between training
// and kernels: every implementation gives the same bits.
//
// Activations are 16-bit integers in 1/256, channels last. The samples of 2x2 become channels, so layers run at half of the
// picture's size, some at a quarter. Sums of products are 32-bit integers (vpmaddwd). Weights of pictures are in IEEE single
// precision, one operation at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "motion.h"

enum {
    /// Predictions beside the picture that is there without the network.
    BURNISH_FUSION_PICTURES = 12,
    /// Channels of the first layer's input: the difference of each prediction, and the picture's own detail, of 2x2 samples.
    BURNISH_FUSION_FEATURES = 4 * (BURNISH_FUSION_PICTURES + 1),
    /// Channels of the last layer: a weight of each picture and a residual, of 2x2 samples.
    BURNISH_FUSION_CHOICES = 4 * (BURNISH_FUSION_PICTURES + 2),
    /// Pixels of room to the right of a row of activations. One lies to the left. Rows begin and end with a pixel of zeros.
    BURNISH_FUSION_MARGIN = 16,
    /// Outputs of a chunk of `scattered` weights.
    BURNISH_FUSION_SCATTERED = 32,
    /// Tiles of 2x2 pixels that `pair` does at a time.
    BURNISH_FUSION_TILES = 12,
    BURNISH_FUSION_PLACES = 16,
    /// Bytes of scratch of `pair`: inputs of up to 64 channels, sums of up to 32 outputs.
    BURNISH_FUSION_PAIR_SCRATCH = BURNISH_FUSION_TILES * BURNISH_FUSION_PLACES * (64 * 2 + 32 * 4),
};

/// A layer: 3x3 convolution, or 1x1.
typedef struct {
    int inputs, outputs;
    /// 3 or 1.
    int kernel;
    /// Pixels of the input from one of the output to the next: 1 or 2.
    int step;
    int shift;
    /// [outputs][kernel][kernel][inputs].
    const int16_t *weights;
    /// The same for vectors of 8 outputs: [chunks of vectors][kernel · kernel · inputs / 2][vectors][8 outputs][2 inputs].
    const int16_t *packed;
    /// [outputs]. It contains what rounds the sum.
    const int32_t *bias;
    /// For `pair`, else null: the weights of 3x3 taps as those of 4x4 places, packed in the same way:
    /// [chunks of vectors][4 · 4 places][inputs / 2][vectors][8 outputs][2 inputs].
    const int16_t *places;
    /// For inputs that are zero mostly: [chunks of outputs][kernel rows][inputs][kernel columns][BURNISH_FUSION_SCATTERED outputs].
    /// Where 8 outputs are left of 16, each four of them are followed by four zeros. Zeros fill up the last chunk.
    const int16_t *scattered;
    /// For `pair`: the largest magnitude of inputs for which its sums stay within 16 and 32 bits.
    int most;
} burnish_fusion_layer;

/// How many of `left` vectors of outputs the next chunk of packed weights has: two, or three so that none is left alone.
static inline int burnish_fusion_chunk(int left) { return left == 3 ? 3 : left < 2 ? left : 2; }

/// The outputs of `up` are in the order of their places in 2x2 pixels: those at the upper left first.
typedef struct {
    burnish_fusion_layer first, down, inner[3], up, middle[2], last;
} burnish_fusion_network;

/// The pictures, all of one size. Their margins repeat the nearest sample, as BURNISH_MOTION_MARGIN has it.
typedef struct {
    burnish_motion_plane prediction[BURNISH_FUSION_PICTURES];
    /// The picture that is there without the network.
    burnish_motion_plane made;
} burnish_fusion_pictures;

typedef struct {
    /// A row of features: out[52x + 4k + 2·dy + dx] for x < width. May write some pixels more.
    /// - sums: room for 2 · (2 · width + 32) numbers.
    void (*features)(int16_t *out, const burnish_fusion_pictures *pictures, int y, int width, uint16_t *sums);
    /// A row of a layer: out[outputs · x + c] for x < width. May write some pixels more.
    /// - rows: the input's rows at the row's `kernel` taps, at the leftmost tap of pixel 0.
    /// - added: what is added to the result, which then is no less than 0. May be null.
    /// - positive: whether the result is no less than 0.
    void (*layer)(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                  const burnish_fusion_layer *layer);
    /// Two rows of a layer that has `places`: like `layer` for each of them, and with the same bits. It may be null.
    /// - rows: the input's four rows at the taps of both, at the leftmost tap of pixel 0.
    /// - added: what is added to each row, or nulls.
    /// - scratch: BURNISH_FUSION_PAIR_SCRATCH bytes, 64-byte aligned.
    void (*pair)(int16_t *const *out, const int16_t *const *rows, const int16_t *const *added, int positive, int width,
                 const burnish_fusion_layer *layer, void *scratch);
    /// Adds a row of 4 · channels at a quarter of the size to two rows at half of it: of each pixel the first 2 · channels to two
    /// pixels of the upper one, the rest to the lower one. The results are no less than 0. For x < width.
    void (*raise)(int16_t *upper, int16_t *lower, const int16_t *from, int channels, int width);
    /// Two rows of the result from the last layer's row, `width` samples each. `lower` may be null. Writes nothing beyond.
    void (*choose)(uint8_t *upper, uint8_t *lower, const int16_t *choices, const burnish_fusion_pictures *pictures,
                   int y, int width);
} burnish_fusion_kernels;

/// Activations of a picture: a row of zeros, `height` rows, a row of zeros.
typedef struct {
    /// The first row's pixel of zeros to the left.
    int16_t *rows;
    /// Numbers from one row to the next: at least channels · (width + 1 + BURNISH_FUSION_MARGIN).
    ptrdiff_t stride;
    int width, height, channels;
} burnish_fusion_plane;

enum {
    /// The width and height of the blocks that stand still or not.
    BURNISH_FUSION_BLOCK = 8,
    /// From so many blocks on nothing that moves can reach a block through the network.
    BURNISH_FUSION_FAR = 4,
};

/// A picture on its way through the network.
typedef struct {
    const burnish_fusion_kernels *kernels;
    const burnish_fusion_network *network;
    burnish_fusion_pictures pictures;
    uint8_t *out;
    ptrdiff_t out_stride;
    int width, height;
    /// Two planes at half of the size, and two at a quarter. Everything outside of their pixels is 0 in the beginning.
    burnish_fusion_plane half[2], quarter[2];
    /// For each block, row by row: whether something moves there, 1 or 0. `burnish_fusion_look` writes it.
    uint8_t *moving;
    /// How many blocks it is to the nearest one where something moves, at most BURNISH_FUSION_FAR. `burnish_fusion_reach` writes it.
    /// Null: every block is computed.
    uint8_t *distance;
} burnish_fusion;

/// The steps of the network, in order. Each needs all rows of the one before.
enum {
    BURNISH_FUSION_FIRST,
    BURNISH_FUSION_DOWN,
    BURNISH_FUSION_INNER,
    BURNISH_FUSION_UP = BURNISH_FUSION_INNER + 3,
    BURNISH_FUSION_MIDDLE,
    BURNISH_FUSION_LAST = BURNISH_FUSION_MIDDLE + 2,
    BURNISH_FUSION_STEPS,
};

/// Bytes of scratch, 64-byte aligned, for one thread.
size_t burnish_fusion_scratch(const burnish_fusion *fusion);
/// Rows of a step: of half or of a quarter of the size.
int burnish_fusion_rows(const burnish_fusion *fusion, int step);
/// Does rows first ..< last of a step. Rows do not depend on each other. Where `distance` is given, blocks in which nothing
/// moves keep the samples that `out` has, and steps leave out what only such blocks would need.
void burnish_fusion_run(const burnish_fusion *fusion, int step, int first, int last, void *scratch);

/// Fills rows first ..< last of `moving`. Nothing moves where the picture that is there without the network is the mean of
/// the first two predictions, nearly: what the network would choose between there is noise.
/// - phase: the second one's share, in 1/256.
void burnish_fusion_look(const burnish_fusion *fusion, int phase, int first, int last);
/// Fills rows first ..< last of `distance`. All rows of `moving` must be there.
void burnish_fusion_reach(const burnish_fusion *fusion, int first, int last);
