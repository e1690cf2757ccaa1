#include <string.h>

#include "scale.h"

size_t burnish_scale_scratch(int width) {
    return ((size_t)width + 2 * BURNISH_SCALE_MARGIN) * sizeof(int16_t) + 2 * (size_t)width;
}

void burnish_scale_band(const burnish_scale_kernels *kernels, const burnish_scale_filter *filter, uint8_t *out,
                        ptrdiff_t out_stride, int out_width, const uint8_t *in, ptrdiff_t in_stride, int width,
                        int height, int left, int right, int first, int last, void *scratch) {
    int16_t *const line = (int16_t *)scratch + BURNISH_SCALE_MARGIN;
    uint8_t *const whole = (uint8_t *)(line + width + BURNISH_SCALE_MARGIN);
    const int reach = filter->taps / 2;
    const int from = left - reach - 1 < 0 ? 0 : left - reach - 1;
    const int to = right + reach + 1 > width ? width : right + reach + 1;
    for (int y = first; y < last; y++) {
        const uint8_t *rows[8];
        for (int k = 0; k < filter->taps; k++) {
            int row = y / 2 - reach + (y & 1) + k;
            row = row < 0 ? 0 : row >= height ? height - 1 : row;
            rows[k] = in + row * in_stride + from;
        }
        kernels->vertical(line + from, rows, filter->vertical[y & 1], filter->taps, to - from);
        for (int x = 1; x <= reach + 1; x++) {
            if (from == 0) line[-x] = line[0];
            if (to == width) line[width - 1 + x] = line[width - 1];
        }
        uint8_t *const at = out + y * out_stride + 2 * left;
        if (2 * right <= out_width) {
            kernels->horizontal(at, line + left, filter, right - left);
        } else {
            kernels->horizontal(whole, line + left, filter, right - left);
            memcpy(at, whole, (size_t)(out_width - 2 * left));
        }
    }
}

enum { RESAMPLE_MARGIN = 32 };

size_t burnish_scale_resample_scratch(int width) { return ((size_t)width + 2 * RESAMPLE_MARGIN) * sizeof(int16_t); }

void burnish_scale_resample(const burnish_scale_kernels *kernels, const burnish_scale_axis *across,
                            const burnish_scale_axis *down, uint8_t *out, ptrdiff_t out_stride, const uint8_t *in,
                            ptrdiff_t in_stride, int first, int last, void *scratch) {
    int16_t *const line = (int16_t *)scratch + RESAMPLE_MARGIN;
    const int width = across->in, height = down->in;
    for (int y = first; y < last; y++) {
        const uint8_t *rows[8];
        for (int k = 0; k < 8; k++) {
            int row = down->first[y] + k;
            row = row < 0 ? 0 : row >= height ? height - 1 : row;
            rows[k] = in + row * in_stride;
        }
        kernels->vertical(line, rows, down->weights + 8 * y, 8, width);
        for (int x = 1; x <= 8; x++) line[-x] = line[0], line[width - 1 + x] = line[width - 1];
        kernels->resample(out + y * out_stride, line, across->first, across->weights, across->out);
    }
}
