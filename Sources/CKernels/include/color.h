// Colours by a table: what every colour becomes, as Y, U and V.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Nodes of the table on each axis, and the distance between two in samples of 10 bits.
#define BURNISH_COLOR_NODES 33
#define BURNISH_COLOR_STEP 32
/// Between the nodes lie 32 x 32 x 32 cells, Y the fastest, then U, then V.
#define BURNISH_COLOR_CELLS 32768
/// An entry is a sample of 8 bits times this.
#define BURNISH_COLOR_ONE 128

/// What the colours at the corners of each cell become: eight entries of each component, so that one load brings all that a colour may need.
/// Bit 0 of a corner's number is set where Y is the upper one, bit 1 where U is, bit 2 where V is. Aligned to 16 bytes.
typedef struct {
    const int16_t *y, *u, *v;
    /// Where the nodes of chroma lie. A sample of 10 bits at a distance d from grey (512) lies min(d, knee) * inner / 4096 + max(d - knee, 0) *
    /// outer / 4096 from the middle node, in 32nds of the distance between two nodes. Both products are rounded to the nearest. They are at
    /// most 512 for d = 512, and 511 for d = 511. With 4096 and 4096 nodes are 32 samples apart, as those of Y.
    int16_t knee, inner, outer;
} burnish_color_table;

/// Fills the cells of one component from its nodes (33 x 33 x 33, Y the fastest). Node n of Y is the sample 32 n of 10 bits, or 8 n of 8 bits.
void burnish_color_fill(int16_t *cells, const int16_t *nodes);

/// Two rows of luma and the row of chroma between them.
typedef struct {
    uint8_t *y0, *y1, *u, *v;
    /// Samples of 8 bits, or of 10 bits in 16.
    const void *from_y0, *from_y1, *from_u, *from_v;
    /// What is added to luma and chroma before they are rounded down, for each of 16 samples of a row: 0 ... ONE - 1. The second eight
    /// are like the first.
    const int16_t *dither0, *dither1;
} burnish_color_rows;

typedef struct {
    /// Looks up two rows. Between nodes the value is that of the tetrahedron around the colour (Sakamoto and Itooka), in whole numbers.
    /// Each sample of luma is looked up with the chroma that it shares, and chroma with the mean of its four samples of luma. `width` is
    /// that of luma; chroma has (width + 1) / 2 samples. Where a row or column of luma is missing at an edge, the other one stands for
    /// it: pass the same row twice. Samples of 10 bits that are larger than 1023 count as 1023.
    void (*rows8)(const burnish_color_table *table, burnish_color_rows rows, int width);
    void (*rows10)(const burnish_color_table *table, burnish_color_rows rows, int width);
} burnish_color_kernels;

/// Samples of the full range in the limited one: 16 + range / 255 of a sample, so that `middle` stays where it is if it is not 0. Rounds to
/// the nearest. The compiler makes vectors of it.
void burnish_color_limit(uint8_t *to, const uint8_t *from, int width, int range, int middle);
