// Interlaced pictures: the rows of the missing field, and whether two fields belong to different moments.
//
// The filters across rows are those of W3FDIF (Weston: Deinterlacing of Video Data, BBC Research, US patent 4789893,
// expired); the limits on how far the result may leave the temporal mean follow the idea of YADIF, as in bwdif. Unlike
// those, nothing here reads a picture that comes later. All arithmetic is in integers, so that every implementation gives
// the same bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    /// The width of a block in samples, and its height in rows of one field.
    BURNISH_COMB_WIDTH = 16,
    BURNISH_COMB_ROWS = 8,
};

/// The rows around a missing row.
typedef struct {
    /// The kept field: 3 rows and 1 row above, 1 row and 3 rows below.
    const uint8_t *kept[4];
    /// The kept field of the picture before: 1 row above and 1 row below.
    const uint8_t *before[2];
    /// The missing row's field at the two nearest moments: 4 and 2 rows above, the row, 2 and 4 rows below.
    const uint8_t *near[2][5];
    /// The missing row in two pictures, the older first.
    const uint8_t *change[2];
    /// 1 where the moment of the new row lies between those of `change`, 0 where it follows them.
    int shift;
} burnish_deinterlace_rows;

/// Sums over one block, each over the rows of one field.
typedef struct {
    /// |row - mean of the rows beside it|, which belong to the other field.
    uint32_t other;
    /// |row - mean of the rows 2 above and 2 below|, which belong to the same field.
    uint32_t same;
    /// |row of the picture before - mean of the rows beside it|.
    uint32_t before;
    /// |row - row of the picture before|.
    uint32_t change;
} burnish_comb_sums;

typedef struct {
    /// Writes `width` samples of a missing row.
    void (*row)(uint8_t *out, const burnish_deinterlace_rows *rows, int width);
    /// The same from the kept field alone.
    void (*row_alone)(uint8_t *out, const uint8_t *const *kept, int width);
    /// Fills the sums of `blocks` blocks that lie side by side. `row` is the first row of a field, `before` the same row of
    /// the picture before. Reads 2 rows above and 16 below, and nothing beyond the last block.
    void (*combs)(burnish_comb_sums *out, const uint8_t *row, ptrdiff_t stride, const uint8_t *before,
                  ptrdiff_t before_stride, int blocks);
} burnish_deinterlace_kernels;
