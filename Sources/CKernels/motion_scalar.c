#include <stdlib.h>

#include "families.h"

static void halve(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x++)
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

/// The product of two numbers with 15 fractional bits, rounded as vpmulhrsw does.
static inline int multiply(int a, int b) { return (a * b + 0x4000) >> 15; }

/// Where row y of a patch is stored.
static inline int place(int y) { return 8 * (2 * (y & 3) + (y >> 2)); }

static void patch(burnish_motion_patch *out, const uint8_t *at, ptrdiff_t stride) {
    int xx = 0, xy = 0, yy = 0, sx = 0, sy = 0;
    for (int y = 0; y < 8; y++, at += stride) {
        for (int x = 0; x < 8; x++) {
            int dx = at[x + 1] - at[x - 1], dy = at[x + stride] - at[x - stride];
            out->sample[place(y) + x] = (int16_t)(at[x] << 6);
            out->dx[place(y) + x] = (int16_t)dx;
            out->dy[place(y) + x] = (int16_t)dy;
            xx += dx * dx, xy += dx * dy, yy += dy * dy, sx += dx, sy += dy;
        }
    }
    out->xx = xx, out->xy = xy, out->yy = yy, out->x = sx, out->y = sy;
}

/// 8x8 bilinear samples with 6 fractional bits.
static void sample(int16_t *out, const uint8_t *at, ptrdiff_t stride, int fx, int fy) {
    int rows[9][8];
    for (int y = 0; y < 9; y++, at += stride)
        for (int x = 0; x < 8; x++) rows[y][x] = at[x] * (64 - fx) + at[x + 1] * fx;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            out[8 * y + x] = (int16_t)(rows[y][x] + multiply(rows[y + 1][x] - rows[y][x], fy << 9));
}

static void match(burnish_motion_match *out, const burnish_motion_patch *patch, const uint8_t *at, ptrdiff_t stride,
                  int fx, int fy) {
    int16_t moved[64];
    sample(moved, at, stride, fx, fy);
    int sum = 0, squares = 0, dx = 0, dy = 0;
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) {
            int i = place(y) + x, d = (moved[8 * y + x] - patch->sample[i]) >> 3;
            sum += d, squares += d * d, dx += d * patch->dx[i], dy += d * patch->dy[i];
        }
    }
    out->d = sum, out->dd = squares, out->dx = dx, out->dy = dy;
}

static int32_t differ(const uint8_t *a, ptrdiff_t a_stride, int ax, int ay, const uint8_t *b, ptrdiff_t b_stride,
                      int bx, int by) {
    int16_t p[64], q[64];
    sample(p, a, a_stride, ax, ay);
    sample(q, b, b_stride, bx, by);
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += abs(p[i] - q[i]);
    return sum;
}

/// A plane's part of a prediction at a sample.
static int part(const burnish_motion_block *block, int p, int x, int y) {
    int sum = 0;
    for (int j = 0; j < 4; j++) {
        const uint8_t *at = block->at[p] + (y + j) * block->stride[p] + x;
        int row = 0;
        for (int i = 0; i < 4; i++) row += at[i] * block->horizontal[p][i];
        sum += multiply(row, block->vertical[p][j]);
    }
    return sum;
}

static void predict(int16_t *out, const burnish_motion_block *block, int rows) {
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < 8; x++) out[8 * y + x] = (int16_t)(part(block, 0, x, y) + part(block, 1, x, y));
}

static void predict_each(int16_t *first, int16_t *second, const burnish_motion_block *block, int rows) {
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < 8; x++) {
            first[8 * y + x] = (int16_t)part(block, 0, x, y);
            second[8 * y + x] = (int16_t)part(block, 1, x, y);
        }
    }
}

static int weight(const burnish_motion_window *w, int x, int y) {
    return (int16_t)(w->first + w->across * x + (w->down + w->both * x) * y);
}

static void blend(uint8_t *dst, ptrdiff_t stride, const int16_t *const *predictions,
                  const burnish_motion_window *windows, int count, int width, int rows) {
    for (int y = 0; y < rows; y++, dst += stride) {
        for (int x = 0; x < width; x++) {
            int sum = 0, i = 8 * y + x;
            if (count == 1) sum = predictions[0][i];
            else
                for (int k = 0; k < count; k++) sum += multiply(predictions[k][i], weight(windows + k, x, y));
            sum = (sum + 16) >> 5;
            dst[x] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
        }
    }
}

static void mix(uint8_t *out, const uint8_t *a, const uint8_t *b, int width) {
    for (int x = 0; x < width; x++) out[x] = (uint8_t)((out[x] + 2 * a[x] + b[x] + 2) >> 2);
}

static void add_weighted(uint16_t *sum, const uint8_t *in, int weight, int width) {
    for (int x = 0; x < width; x++) sum[x] = (uint16_t)(sum[x] + weight * in[x]);
}

static void mean(uint8_t *out, const uint16_t *sum, int width) {
    for (int x = 0; x < width; x++) out[x] = (uint8_t)((sum[x] + 128) >> 8);
}

void burnish_motion_init_scalar(burnish_motion_kernels *kernels) {
    kernels->halve = halve;
    kernels->patch = patch;
    kernels->match = match;
    kernels->differ = differ;
    kernels->predict = predict;
    kernels->predict_each = predict_each;
    kernels->blend = blend;
    kernels->mix = mix;
    kernels->add_weighted = add_weighted;
    kernels->mean = mean;
}
