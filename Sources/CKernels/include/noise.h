// Temporal noise filtering of a plane: blocks of 8x8 samples, four apart, are compared with where they were in filtered
// pictures (one before; for files one after, too), and mixed with them in the frequency domain.
//
// Each block is a Kalman filter for each of four bands of frequencies. The reference says how uncertain it is (its variance,
// relative to the noise's). What the difference shows beyond noise and that adds to it. Filtering patches recursively with
// Kalman filters follows Arias and Morel, "Kalman Filtering of Patches for Frame-Recursive Video Denoising", CVPR Workshops
// 2019; here with a fixed transform, the discrete cosine transform, and few numbers for each block. What is left of the noise
// is reduced by shrinking coefficients (Gao, Bruce: "WaveShrink with Firm Shrinkage", Statistica Sinica 7, 1997).
//
// Samples of filtered pictures are in 1/16 level less 2048. The arithmetic on samples is in 16-bit integers. That on the four
// numbers of a block is in IEEE single precision, one operation at a time, so that every implementation gives the same bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "motion.h"

enum {
    /// The width and height of a block, and the distance between blocks.
    BURNISH_NOISE_BLOCK = 8,
    BURNISH_NOISE_STEP = 4,
    /// Bands of frequencies. Coefficient (u, v) belongs to the band of u / 2 + v / 2: 0; 1 and 2; 3; 4 to 6.
    BURNISH_NOISE_BANDS = 4,
    /// Samples around each plane on all four sides. They repeat the nearest sample of the plane.
    BURNISH_NOISE_MARGIN = 32,
    /// The most references.
    BURNISH_NOISE_REFERENCES = 2,
    /// A variance as large as the noise's.
    BURNISH_NOISE_ONE = 32767,
    /// The width and height of the squares in which noise is measured.
    BURNISH_NOISE_SQUARE = 16,
    /// The phases of a sample at which references are sampled.
    BURNISH_NOISE_PHASES = 16,
};

/// What is known of the noise of a plane. Coefficients have 8 to one level.
typedef struct {
    /// For each band: 1 / (coefficients in it · variance of one).
    float inverse[BURNISH_NOISE_BANDS];
    /// For each band: how many times the expected energy a difference may have by chance.
    float slack[BURNISH_NOISE_BANDS];
    /// The least variance of a reference, relative to the noise's.
    float least;
    /// Coefficients below this times the root of their relative variance become zero.
    float threshold;
} burnish_noise_model;

/// Where a block is found in a reference.
typedef struct {
    /// The sample one to the left and one above the block's first.
    const int16_t *at;
    /// The block's relative variances there, in 1/32767.
    const uint16_t *variance;
    /// The fraction of a sample, in 1/16.
    int16_t x, y;
} burnish_noise_place;

/// A row of blocks.
typedef struct {
    const burnish_noise_model *model;
    /// Blocks in the row, an even number.
    int count;
    /// How many references there are: 0 to 2.
    int references;
    /// The first sample of the first block in the noisy plane.
    const uint8_t *now;
    ptrdiff_t stride;
    /// For each reference and block.
    const burnish_noise_place *places[BURNISH_NOISE_REFERENCES];
    ptrdiff_t reference_stride[BURNISH_NOISE_REFERENCES];
    /// In: the lower halves of the blocks above. Out: of these. 4 rows of filtered samples and then 4 of shrunk ones, each
    /// 4 · count samples.
    int16_t *carry;
    /// Out: the first 4 rows of the blocks, filtered. Null to fill only `carry`.
    int16_t *filtered;
    ptrdiff_t filtered_stride;
    /// Out: the same, shrunk, in levels.
    uint8_t *shrunk;
    ptrdiff_t shrunk_stride;
    /// Out: four relative variances for each block. May be null.
    uint16_t *variance;
} burnish_noise_row;

/// Sums over one square of samples, for the estimate of noise. The operator is 1 -2 1 across and down, whose squared
/// coefficients sum to 36 (Immerkaer: Fast Noise Variance Estimation, Computer Vision and Image Understanding 64(2), 1996).
typedef struct {
    /// Squares of the operator's results in this picture.
    uint32_t detail;
    /// Squares of the difference of its results in this picture and in the one before.
    uint32_t change;
    /// Samples.
    uint32_t level;
} burnish_noise_sums;

typedef struct {
    /// Filters a row of blocks. Writes 4 rows of 4 · count samples.
    void (*row)(const burnish_noise_row *row);
    /// Fills the sums of `squares` squares that lie side by side. Reads one sample around them.
    void (*measure)(burnish_noise_sums *out, const uint8_t *now, ptrdiff_t stride, const uint8_t *before,
                    ptrdiff_t before_stride, int squares);
} burnish_noise_kernels;

/// The constants of a noise's standard deviation, in levels.
void burnish_noise_make_model(burnish_noise_model *model, float deviation);

/// A filtered plane with its margin, and how certain it is.
typedef struct {
    const int16_t *origin;
    ptrdiff_t stride;
    int width, height;
    /// Four for each block.
    const uint16_t *variance;
    /// Blocks in a row, and rows of them.
    int count, rows;
} burnish_noise_plane;

/// A field of vectors into a reference.
typedef struct {
    const burnish_motion_vector *vectors;
    int columns, rows;
    /// The size of a cell in samples of the filtered plane.
    int cell;
    /// Vectors are in 1/16 sample of the filtered plane times 2 ^ shift.
    int shift;
} burnish_noise_motion;

/// A plane that is filtered.
typedef struct {
    const burnish_noise_kernels *kernels;
    const burnish_noise_model *model;
    /// The noisy plane, with its margin.
    burnish_motion_plane now;
    /// How many references there are: 0 to 2.
    int references;
    burnish_noise_plane reference[BURNISH_NOISE_REFERENCES];
    burnish_noise_motion motion[BURNISH_NOISE_REFERENCES];
    /// Blocks in a row, an even number: at least width / 4 + 1, rounded up. There are height / 4 + 1 rows, rounded up.
    int count;
    /// The results. Up to 8 samples beyond the planes' edges are written, too.
    int16_t *filtered;
    ptrdiff_t filtered_stride;
    uint8_t *shrunk;
    ptrdiff_t shrunk_stride;
    uint16_t *variance;
    /// Scratch: places for each reference and block; 32 numbers for each block.
    burnish_noise_place *places;
    int16_t *carry;
} burnish_noise_filter;

/// Filters rows first ..< last of blocks. Row r of blocks completes the rows of samples from 4 · (r - 1) on. A call that does
/// not go on where the last one with the same scratch ended `begins`.
void burnish_noise_filter_rows(const burnish_noise_filter *filter, int first, int last, int begins);

/// Copies the samples of the rows from the noisy plane instead. That is what is done when there is no time.
void burnish_noise_copy_rows(const burnish_noise_filter *filter, int first, int last);

/// How far a block that is given out may be from what the filter makes of it now.
typedef struct {
    /// In levels: any sample.
    int sample;
    /// In quarters of a level: the mean of the block.
    int mean;
} burnish_noise_distance;

/// A plane whose blocks of 8x8 samples are given out as they were given out last, where they still are what the filter makes.
typedef struct {
    int width, height;
    /// The plane as it came, now and last.
    const uint8_t *now, *before;
    ptrdiff_t now_stride, before_stride;
    /// What the filter makes of it now.
    const uint8_t *shown;
    ptrdiff_t shown_stride;
    /// What was given out last. In the end: what is given out now.
    uint8_t *given;
    ptrdiff_t given_stride;
    /// Where it is given out.
    uint8_t *output;
    ptrdiff_t output_stride;
    /// For blocks that came as they had come last, and for others. A negative number holds no block.
    burnish_noise_distance same, other;
} burnish_noise_holding;

/// Gives out rows first ..< last of blocks.
void burnish_noise_hold_rows(const burnish_noise_holding *holding, int first, int last);
