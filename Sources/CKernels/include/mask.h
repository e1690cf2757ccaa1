// Parts of planes that nobody is to recognise: blocks of one value, or a smooth way between the blocks' means. Plain C that a compiler
// makes vectors of: a mask covers little of a picture.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A part of a plane. Samples have 8 bits, or up to 12 in 16. Blocks have at most 256 samples on a side; the last one of a row or column
/// takes what is left, because a narrow block would show what lies below it.
typedef struct {
    void *samples;
    /// Bytes from one row to the next.
    ptrdiff_t stride;
    int width, height;
} burnish_mask_part;

/// What the effects work with: `sums` has `width` entries, `lines` twice as many.
typedef struct {
    uint32_t *sums;
    int32_t *lines;
} burnish_mask_memory;

void burnish_mask_fill8(burnish_mask_part part, int value);
void burnish_mask_fill16(burnish_mask_part part, int value);

/// Gives each block its rounded mean.
void burnish_mask_pixelate8(burnish_mask_part part, int block, burnish_mask_memory memory);
void burnish_mask_pixelate16(burnish_mask_part part, int block, burnish_mask_memory memory);

/// Gives each sample the value at its place between the rounded means of the four blocks around it, as if each mean stood in the middle
/// of its block (bilinear interpolation in whole numbers). Outside of the middles the nearest ones hold.
void burnish_mask_blur8(burnish_mask_part part, int block, burnish_mask_memory memory);
void burnish_mask_blur16(burnish_mask_part part, int block, burnish_mask_memory memory);
