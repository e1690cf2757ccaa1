#include "color_rows.h"
#include "families.h"

static void rows8(const burnish_color_table *table, burnish_color_rows rows, int width) {
    burnish_color_rows_from(table, rows, 0, width, 0);
}

static void rows10(const burnish_color_table *table, burnish_color_rows rows, int width) {
    burnish_color_rows_from(table, rows, 0, width, 1);
}

void burnish_color_init_scalar(burnish_color_kernels *kernels) {
    kernels->rows8 = rows8;
    kernels->rows10 = rows10;
}
