// Motion between two pictures, and pictures between them: the kernels under `OpticalFlow` and frame interpolation.
//
// Flow is coarse to fine by inverse search on patches of 8x8 samples, four apart (Kroeger, Timofte, Dai, Van Gool: Fast
// Optical Flow using Dense Inverse Search, ECCV 2016). New pictures are sums of motion-compensated blocks under
// overlapping windows (Orchard, Sullivan: Overlapped Block Motion Compensation, 1994). All arithmetic on samples is in
// integers, so that every implementation gives the same bits. Only C files that all implementations share compute in
// floating point.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    /// Samples around each plane, on all four sides. They repeat the nearest sample of the plane.
    BURNISH_MOTION_MARGIN = 32,
    /// The width and height of a patch.
    BURNISH_MOTION_PATCH = 8,
    /// The distance between patches, and between the cells of a vector field.
    BURNISH_MOTION_STEP = 4,
    /// Fractional bits of vectors and sample positions.
    BURNISH_MOTION_FRACTION = 6,
    /// The size of the largest block that is predicted at once.
    BURNISH_MOTION_BLOCK = 32,
    /// The shares of a cell's motions sum to this.
    BURNISH_MOTION_SHARES = 8,
    /// The most motions that a block is predicted by: four of each cell at its corners.
    BURNISH_MOTION_PREDICTIONS = 16,
};

/// A plane with its margin.
typedef struct {
    const uint8_t *origin;
    ptrdiff_t stride;
    int width, height;
} burnish_motion_plane;

/// A displacement in 1/64 sample.
typedef struct {
    int16_t x, y;
} burnish_motion_vector;

/// What a search needs to know of a patch.
typedef struct {
    /// Samples with 6 fractional bits, and differences between both neighbours (twice the gradient), rows in the order
    /// 0, 4, 1, 5, 2, 6, 3, 7.
    int16_t sample[64], dx[64], dy[64];
    /// Sums over the patch.
    int32_t xx, xy, yy, x, y;
} burnish_motion_patch;

/// Sums over a patch. d is the difference between a place and the patch, in 1/8.
typedef struct {
    int32_t d, dd, dx, dy;
} burnish_motion_match;

/// How one block is predicted from two planes: four taps across and four down around a place in each plane.
typedef struct {
    /// The top left of the 4x4 taps of the first sample.
    const uint8_t *at[2];
    ptrdiff_t stride[2];
    /// The taps of each plane sum to 64.
    int8_t horizontal[2][4];
    /// The taps of both planes together sum to 16384.
    int16_t vertical[2][4];
} burnish_motion_block;

/// The weights of a prediction in a block of 8 samples a row, in 1/32768: at sample x of row y the weight is first + across ·
/// x + (down + both · x) · y. All arithmetic is modulo 2 ^ 16, and all weights are below 32768.
typedef struct {
    int16_t first, across, down, both;
} burnish_motion_window;

typedef struct {
    /// out[x] = (upper[2x] + upper[2x + 1] + lower[2x] + lower[2x + 1] + 2) >> 2 for x < width. Writes nothing beyond.
    void (*halve)(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width);
    /// Makes the patch whose first sample is `at`. Reads one sample around it.
    void (*patch)(burnish_motion_patch *out, const uint8_t *at, ptrdiff_t stride);
    /// Compares a patch with the place `at` moved by x, y in 1/64 (0 ..< 64), sampled bilinearly. Reads 9 rows of 16.
    void (*match)(burnish_motion_match *out, const burnish_motion_patch *patch, const uint8_t *at, ptrdiff_t stride,
                  int x, int y);
    /// Sum of absolute differences, in 1/64, between two places of 8x8 samples, each sampled bilinearly. Reads 9 rows
    /// of 16.
    int32_t (*differ)(const uint8_t *a, ptrdiff_t a_stride, int ax, int ay, const uint8_t *b, ptrdiff_t b_stride,
                      int bx, int by);
    /// out[8·row + x], 8 samples a row, with 5 fractional bits. Reads 16 samples a row.
    void (*predict)(int16_t *out, const burnish_motion_block *block, int rows);
    /// The same from each plane alone. `vertical` sums to 16384 for each.
    void (*predict_each)(int16_t *first, int16_t *second, const burnish_motion_block *block, int rows);
    /// dst[x] = clamp((sum over k of predictions[k][8·row + x] · weight(windows[k], x, row) / 32768 + 16) >> 5) for x <
    /// width, at most 8. A single prediction has no window. Writes nothing beyond `width`.
    void (*blend)(uint8_t *dst, ptrdiff_t stride, const int16_t *const *predictions,
                  const burnish_motion_window *windows, int count, int width, int rows);
    /// out[x] = (out[x] + 2 · a[x] + b[x] + 2) >> 2 for x < width. Writes nothing beyond.
    void (*mix)(uint8_t *out, const uint8_t *a, const uint8_t *b, int width);
    /// sum[x] += weight · in[x] for x < width. The weights of a sum are at most 256 together. Writes nothing beyond.
    void (*add_weighted)(uint16_t *sum, const uint8_t *in, int weight, int width);
    /// out[x] = (sum[x] + 128) >> 8 for x < width. Writes nothing beyond.
    void (*mean)(uint8_t *out, const uint16_t *sum, int width);
} burnish_motion_kernels;

/// One direction of flow at one level.
typedef struct {
    const burnish_motion_kernels *kernels;
    burnish_motion_plane from, to;
    /// Cells of the field.
    int columns, rows;
    /// The field of the next coarser level, or null.
    const burnish_motion_vector *coarse;
    int coarse_columns, coarse_rows;
    /// In: the last pair's field if `seeded`. Out: where each cell of `from` lies in `to`.
    burnish_motion_vector *vectors;
    /// Sums of squared differences in 1/64 level², without the mean difference.
    int32_t *costs;
    int seeded;
    /// The most steps of descent.
    int iterations;
} burnish_motion_search;

/// Finds the vectors of rows first ..< last of cells. Rows do not depend on each other.
void burnish_motion_search_rows(const burnish_motion_search *search, int first, int last);

/// The motion of the synthesised picture at one cell.
typedef struct {
    burnish_motion_vector vector;
    /// Mean absolute difference between the two pictures there, in 1/64 level.
    uint16_t difference;
    /// The sum of both directions' vectors, which is 0 where they are opposite: |x| + |y|, in 1/64 sample.
    uint16_t disagreement;
    /// How far the path of the motion is from a straight line at this time. Added to the places in both pictures.
    burnish_motion_vector bend;
    /// Other motions that may pass here: forward and backward motion alone.
    burnish_motion_vector other[2];
    /// How much the vector, both others and no motion count for samples here, in 1/8.
    uint8_t share[4];
} burnish_motion_cell;

/// Motion seen from a picture between two others.
typedef struct {
    const burnish_motion_kernels *kernels;
    /// The pictures before and after.
    burnish_motion_plane planes[2];
    int columns, rows;
    /// From each picture to the other.
    const burnish_motion_vector *vectors[2];
    /// From the picture before to the one before it, and from the picture after to the one after it; null where that is not
    /// known. With them, motion changes its speed evenly.
    const burnish_motion_vector *outer[2];
    /// The same motions back, into the pair. Null where `outer` is.
    const burnish_motion_vector *inner[2];
    /// The time of the new picture, in 1/256 of the time between the two.
    int phase;
    /// How much the motion that fits best counts; each other one counts as 1.
    int preference;
    burnish_motion_cell *cells;
} burnish_motion_middle;

/// Decides on rows first ..< last of cells.
void burnish_motion_middle_rows(const burnish_motion_middle *middle, int first, int last);

/// Motion seen from a picture that follows two others.
typedef struct {
    const burnish_motion_kernels *kernels;
    /// The last two pictures.
    burnish_motion_plane planes[2];
    int columns, rows;
    /// From the last picture to the one before, and from that to the one before it.
    const burnish_motion_vector *last, *before;
    /// The time of the new picture after the last one, in 1/256 of the time between the other two.
    int distance;
    /// Two sums of absolute differences for each cell: between the last picture and its prediction with motion, and
    /// between it and a copy of the picture before.
    int32_t *trials;
    burnish_motion_cell *cells;
} burnish_motion_ahead;

/// Fills the trials of rows first ..< last of cells: it predicts the last picture from those before it.
void burnish_motion_try_rows(const burnish_motion_ahead *ahead, int first, int last);
/// Decides on rows first ..< last of cells, when the trials of all rows are there. Vectors are scaled to the distance,
/// and shrink to zero with the confidence in them.
void burnish_motion_ahead_rows(const burnish_motion_ahead *ahead, int first, int last);

/// Copies rows first ..< last of cells. Each vector becomes the median of its 3x3 neighbourhood, x and y separately.
void burnish_motion_smooth_rows(burnish_motion_cell *out, const burnish_motion_cell *cells, int columns, int rows,
                                int first, int last);

/// Motion of a picture between two others, by way of the pictures beyond them.
typedef struct {
    int columns, rows;
    /// The motion between the two.
    const burnish_motion_cell *cells;
    /// From the picture before to the one before it, and from the picture after to the one after it. Null where that is not
    /// known: then it is the two themselves that lie beyond.
    const burnish_motion_vector *beyond[2];
    /// The time of the new picture, in 1/256 of the time between the two.
    int phase;
    /// Scratch: a vector of each cell for each side.
    burnish_motion_vector *own[2];
    /// The motion between the pictures beyond, and that between the two by the motion beyond them alone.
    burnish_motion_cell *outer, *inner;
} burnish_motion_beyond;

/// Fills `outer` and `own` in rows first ..< last of cells.
void burnish_motion_beyond_rows(const burnish_motion_beyond *beyond, int first, int last);
/// Fills `inner` in rows first ..< last of cells, when `own` is there in all rows.
void burnish_motion_beyond_smooth_rows(const burnish_motion_beyond *beyond, int first, int last);

/// Taps at all 64 phases of a sample: horizontal ones sum to 64, vertical ones to 64 times the plane's weight.
typedef struct {
    int8_t horizontal[64][4];
    int16_t vertical[2][64][4];
} burnish_motion_taps;
/// Fills the taps. `weight` is the share of the second plane, in 1/256.
void burnish_motion_make_taps(burnish_motion_taps *taps, int weight);
/// Fills the taps for pictures of each plane alone.
void burnish_motion_make_taps_of_each(burnish_motion_taps *taps);

/// A plane of a picture between two others.
typedef struct {
    const burnish_motion_kernels *kernels;
    burnish_motion_plane planes[2];
    uint8_t *out;
    ptrdiff_t out_stride;
    /// Where it is not null, `out` is what the first plane says alone, and this what the second says; the taps are those of each.
    uint8_t *second;
    ptrdiff_t second_stride;
    int columns, rows;
    const burnish_motion_cell *cells;
    /// The width and height of a cell in samples of this plane.
    int size;
    /// Samples of this plane to one of the plane that the cells' vectors are in: 2 ^ shift.
    int shift;
    /// Where between the planes vectors are read, in 1/256.
    int phase;
    const burnish_motion_taps *taps;
    /// Whether the cells' other motions count, too.
    int others;
    /// Motions of the cells around a block that are less apart than this count as one, in quarters of this plane's samples.
    int alike;
    /// Where it is not null: a number for each 8x8 samples, `number_columns` in a row. What lies where no number is at most `most`
    /// stays as it is.
    const uint8_t *numbers;
    int number_columns, most;
} burnish_motion_synthesis;

/// Writes rows first ..< last of blocks. Block row r begins at sample row (r - 1/2) · size. There are rows + 1 of them.
void burnish_motion_synthesise_rows(const burnish_motion_synthesis *synthesis, int first, int last);
