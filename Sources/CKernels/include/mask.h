// Parts of planes that nobody is to recognise: blocks of one value, or a smooth way between the blocks' means. Plain C that a compiler
// makes vectors of; a mask covers little of a picture.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A part of a plane. Samples have 8 bits, or up to 12 in 16.
typedef struct {
    void *samples;
    /// Bytes from one row to the next.
    ptrdiff_t stride;
    int width, height;
} burnish_mask_part;

/// How many blocks lie side by side on a length: each is `block` long, and the last one takes what is left, because a narrow block would
/// show what lies below it. At least 1.
int burnish_mask_blocks(int length, int block);

void burnish_mask_fill8(burnish_mask_part part, int value);
void burnish_mask_fill16(burnish_mask_part part, int value);

/// Gives each block its rounded mean.
void burnish_mask_pixelate8(burnish_mask_part part, int block);
void burnish_mask_pixelate16(burnish_mask_part part, int block);

/// Gives each sample the value at its place between the rounded means of the four blocks around it, as if each mean stood in the middle
/// of its block (bilinear interpolation in whole numbers). Outside of the middles the nearest ones hold.
/// - `means`: room for all blocks; `line`: room for those of a row.
void burnish_mask_blur8(burnish_mask_part part, int block, uint16_t *means, int32_t *line);
void burnish_mask_blur16(burnish_mask_part part, int block, uint16_t *means, int32_t *line);
