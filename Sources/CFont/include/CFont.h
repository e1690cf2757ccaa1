// Draws glyphs with FreeType 2. Its own headers stay out of sight: they need a path of their own.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct burnish_font burnish_font;

/// What a glyph looks like. Valid until the next call with the font.
typedef struct {
    int width;
    int height;
    /// From the pen to the first column, and from the base line up to the first row.
    int left;
    int top;
    /// From the pen to the next glyph's.
    int advance;
    /// Bytes from a row to the next.
    int stride;
    /// How much of each sample is covered.
    const uint8_t *coverage;
} burnish_font_glyph;

/// Opens a font in memory, which stays the caller's until the font is closed.
/// - Returns: nil where it is no font, or one without outlines.
burnish_font *burnish_font_open(const uint8_t *bytes, size_t count);
void burnish_font_close(burnish_font *);

/// Makes lines so many samples high, from the top of the tallest glyph to the bottom of the lowest. `shape` is the width of a sample in its
/// heights.
/// - Returns: from the top to the base line; negative where the font has no such size.
int burnish_font_scale(burnish_font *, int height, double shape);

/// Draws a glyph.
/// - Returns: 0, or FreeType's error.
int burnish_font_draw(burnish_font *, uint32_t scalar, burnish_font_glyph *);
