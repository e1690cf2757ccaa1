#include "CFont.h"

#include <ft2build.h>
#include <stdlib.h>
#include FT_FREETYPE_H

struct burnish_font {
    FT_Library library;
    FT_Face face;
};

burnish_font *burnish_font_open(const uint8_t *bytes, size_t count) {
    burnish_font *font = calloc(1, sizeof *font);
    if (!font) return NULL;
    if (FT_Init_FreeType(&font->library) == 0 &&
        FT_New_Memory_Face(font->library, bytes, (FT_Long)count, 0, &font->face) == 0 && FT_IS_SCALABLE(font->face) &&
        font->face->units_per_EM > 0)
        return font;
    burnish_font_close(font);
    return NULL;
}

void burnish_font_close(burnish_font *font) {
    if (!font) return;
    if (font->face) FT_Done_Face(font->face);
    if (font->library) FT_Done_FreeType(font->library);
    free(font);
}

int burnish_font_scale(burnish_font *font, int height, double shape) {
    const FT_Face face = font->face;
    const long above = face->ascender, below = -face->descender;
    if (above <= 0 || above + below <= 0) return -1;
    const long em = (long)height * face->units_per_EM / (above + below);
    const double across = (double)em / shape;
    if (FT_Set_Pixel_Sizes(face, (FT_UInt)(across > 1 ? across : 1), (FT_UInt)(em > 1 ? em : 1)) != 0) return -1;
    return (int)((height * above + (above + below) / 2) / (above + below));
}

int burnish_font_draw(burnish_font *font, uint32_t scalar, burnish_font_glyph *glyph) {
    const FT_Error error = FT_Load_Char(font->face, scalar, FT_LOAD_RENDER | FT_LOAD_NO_BITMAP | FT_LOAD_TARGET_LIGHT);
    if (error != 0) return error;
    const FT_GlyphSlot slot = font->face->glyph;
    if (slot->bitmap.pixel_mode != FT_PIXEL_MODE_GRAY || slot->bitmap.pitch < 0) return FT_Err_Invalid_Glyph_Format;
    *glyph = (burnish_font_glyph){
        .width = (int)slot->bitmap.width,
        .height = (int)slot->bitmap.rows,
        .left = slot->bitmap_left,
        .top = slot->bitmap_top,
        .advance = (int)((slot->advance.x + 32) >> 6),
        .stride = slot->bitmap.pitch,
        .coverage = slot->bitmap.buffer,
    };
    return 0;
}
