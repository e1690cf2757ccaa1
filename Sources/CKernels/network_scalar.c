#include "families.h"

static int32_t clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

static void expand(uint8_t *out, const uint8_t *row, int width) {
    for (int x = 0; x < width; x++)
        for (int k = 0; k < 4; k++) out[4 * x + k] = row[x + k];
}

static void phases(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width) {
    for (int x = 0; x < width; x++)
        for (int c = 0; c < 2; c++) {
            out[4 * x + c] = upper[2 * x + c];
            out[4 * x + 2 + c] = lower[2 * x + c];
        }
}

/// Output channel c of a group at pixel x, before the last clamp.
static int32_t output(const uint8_t *const *taps, int x, const burnish_network_layer *layer, int group, int c) {
    const int8_t *weights = layer->weights + (ptrdiff_t)group * layer->steps * 16 + 4 * c;
    const uint8_t *order = layer->order + (ptrdiff_t)group * layer->steps;
    int32_t sum = layer->bias[4 * group + c];
    for (int step = 0; step < layer->steps; step++)
        for (int k = 0; k < 4; k++) sum += weights[16 * step + k] * taps[order[step]][4 * x + k];
    const int32_t t = clamp(sum >> layer->shift, -32768, 32767);
    return (t * layer->mult[16 * group + 4 * c] + 16384) >> 15;
}

static void layer(uint8_t *out, ptrdiff_t plane, const uint8_t *const *taps, int width,
                  const burnish_network_layer *layer) {
    for (int group = 0; group < layer->groups; group++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 4; c++)
                out[plane * group + 4 * x + c] = (uint8_t)clamp(output(taps, x, layer, group, c), 0, 255);
}

static void residual(int16_t *upper, int16_t *lower, const uint8_t *const *taps, int width,
                     const burnish_network_layer *layer) {
    for (int x = 0; x < width; x++) {
        for (int c = 0; c < 2; c++) {
            upper[2 * x + c] = (int16_t)output(taps, x, layer, 0, c);
            lower[2 * x + c] = (int16_t)output(taps, x, layer, 0, 2 + c);
        }
    }
}

static void cubic(int16_t *out, const uint8_t *row, int width) {
    for (int x = 0; x < width; x++) {
        const uint8_t *p = row + x;
        out[2 * x] = (int16_t)((-3 * p[-2] + 29 * p[-1] + 111 * p[0] - 9 * p[1] + 4) >> 3);
        out[2 * x + 1] = (int16_t)((-9 * p[-1] + 111 * p[0] + 29 * p[1] - 3 * p[2] + 4) >> 3);
    }
}

static void merge(uint8_t *out, const int16_t *const *rows, const int16_t *weights, const int16_t *residual,
                  int width) {
    for (int x = 0; x < width; x++) {
        int32_t sum = 16;
        for (int k = 0; k < 4; k++) sum += weights[k] * rows[k][x];
        out[x] = (uint8_t)clamp(((sum >> 5) + residual[x] + 32) >> 6, 0, 255);
    }
}

void burnish_network_init_scalar(burnish_network_kernels *kernels) {
    *kernels = (burnish_network_kernels){expand, layer, residual, cubic, merge, phases};
}
