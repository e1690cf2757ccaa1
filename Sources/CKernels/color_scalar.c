#include "color_rows.h"
#include "families.h"

static void rows8(const burnish_color_table *table, burnish_color_rows rows, int width) {
    burnish_color_rows_plain(table, rows, width, 0);
}

static void rows10(const burnish_color_table *table, burnish_color_rows rows, int width) {
    burnish_color_rows_plain(table, rows, width, 1);
}

void burnish_color_init_scalar(burnish_color_kernels *kernels) {
    kernels->rows8 = rows8;
    kernels->rows10 = rows10;
}

void burnish_color_fill(int16_t *cells, const int16_t *nodes) {
    for (int v = 0; v < 32; v++)
        for (int u = 0; u < 32; u++)
            for (int y = 0; y < 32; y++) {
                const int16_t *node = nodes + y + COLOR_NODES * (u + COLOR_NODES * v);
                for (int corner = 0; corner < 8; corner++)
                    *cells++ = node[(corner & 1) + COLOR_NODES * ((corner >> 1 & 1) + COLOR_NODES * (corner >> 2))];
            }
}

void burnish_color_limit(uint8_t *to, const uint8_t *from, int width, int range, int middle) {
    // The factor in 1/65536, and what begins the range or its middle, with a half for rounding.
    const uint32_t factor = (uint32_t)((range * 65536 + 127) / 255);
    const uint32_t offset = (middle ? (uint32_t)middle * 65536 - (uint32_t)middle * factor : 16 * 65536) + 32768;
    for (int x = 0; x < width; x++) to[x] = (uint8_t)((from[x] * factor + offset) >> 16);
}
