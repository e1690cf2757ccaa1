#include "families.h"

static void vertical(int16_t *out, const uint8_t *const *rows, const int16_t *coefficients, int taps, int width) {
    for (int x = 0; x < width; x++) {
        int32_t sum = 128;
        for (int k = 0; k < taps; k++) sum += coefficients[k] * rows[k][x];
        out[x] = (int16_t)(sum >> 8);
    }
}

static void horizontal(uint8_t *out, const int16_t *in, const burnish_scale_filter *filter, int width) {
    for (int x = 0; x < width; x++) {
        for (int phase = 0; phase < 2; phase++) {
            int32_t sum = 1 << 19;
            for (int k = 0; k <= filter->taps; k++) sum += filter->horizontal[phase][k] * in[x - filter->taps / 2 + k];
            const int32_t value = sum >> 20;
            out[2 * x + phase] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

static void resample(uint8_t *out, const int16_t *in, const int32_t *first, const int16_t *weights, int width) {
    for (int x = 0; x < width; x++) {
        int32_t sum = 1 << 19;
        for (int k = 0; k < 8; k++) sum += weights[8 * x + k] * in[first[x] + k];
        const int32_t value = sum >> 20;
        out[x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

void burnish_scale_init_scalar(burnish_scale_kernels *kernels) {
    kernels->vertical = vertical;
    kernels->horizontal = horizontal;
    kernels->resample = resample;
}
