#include <math.h>

#include "families.h"
#include "fusion_constants.h"

#pragma STDC FP_CONTRACT OFF

enum { PICTURES = BURNISH_FUSION_PICTURES, FEATURES = BURNISH_FUSION_FEATURES, CHOICES = BURNISH_FUSION_CHOICES };

static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
static int sample(const burnish_motion_plane *plane, int x, int y) { return plane->origin[y * plane->stride + x]; }

/// How far a sample is from the mean of the 7x7 around it, in 1/16.
static int detail(const burnish_motion_plane *made, int x, int y) {
    int sum = 0;
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++) sum += sample(made, x + i, y + j);
    return ((49 * sample(made, x, y) - sum) * (2 * FUSION_DETAIL) + 32768) >> 16;
}

static void features(int16_t *out, const burnish_fusion_pictures *pictures, int y, int width, uint16_t *sums) {
    (void)sums;
    for (int x = 0; x < width; x++) {
        for (int place = 0; place < 4; place++) {
            const int sx = 2 * x + (place & 1), sy = 2 * y + (place >> 1), made = sample(&pictures->made, sx, sy);
            int16_t *at = out + FEATURES * x + place;
            for (int k = 0; k < PICTURES; k++)
                at[4 * k] = (int16_t)(16 * (sample(pictures->prediction + k, sx, sy) - made));
            at[4 * PICTURES] = (int16_t)detail(&pictures->made, sx, sy);
        }
    }
}

static void layer(int16_t *out, const int16_t *const *rows, const int16_t *added, int positive, int width,
                  const burnish_fusion_layer *layer) {
    const int across = layer->kernel * layer->inputs;
    for (int x = 0; x < width; x++) {
        for (int c = 0; c < layer->outputs; c++) {
            const int16_t *weights = layer->weights + (ptrdiff_t)c * layer->kernel * across;
            int32_t sum = layer->bias[c];
            for (int row = 0; row < layer->kernel; row++)
                for (int i = 0; i < across; i++)
                    sum += weights[row * across + i] * rows[row][(ptrdiff_t)x * layer->step * layer->inputs + i];
            int v = clamp(sum >> layer->shift, INT16_MIN, INT16_MAX);
            if (added) v = clamp(v + added[layer->outputs * x + c], INT16_MIN, INT16_MAX);
            out[layer->outputs * x + c] = (int16_t)(positive && v < 0 ? 0 : v);
        }
    }
}

static void raise(int16_t *upper, int16_t *lower, const int16_t *from, int channels, int width) {
    for (int x = 0; x < width; x++) {
        for (int i = 0; i < 4 * channels; i++) {
            int16_t *at = (i < 2 * channels ? upper : lower) + 2 * channels * x + i % (2 * channels);
            *at = (int16_t)clamp(*at + from[4 * channels * x + i], 0, INT16_MAX);
        }
    }
}

/// 2 ^ (difference / 256 · log2 e), no less than 2 ^ -30.
static float weight(int difference) {
    const float exact = (float)difference * FUSION_SCALE;
    const float t = exact > FUSION_LEAST ? exact : FUSION_LEAST;
    const float whole = floorf(t), x = t - whole;
    const float part = 1 + x * (FUSION_POWER_1 + x * (FUSION_POWER_2 + x * (FUSION_POWER_3 + x * FUSION_POWER_4)));
    return ldexpf(1, (int)whole) * part;
}

/// The sample at x, y. `choices` has its first number, the others follow in steps of 4.
static uint8_t choose_sample(const int16_t *choices, const burnish_fusion_pictures *pictures, int x, int y) {
    const int made = sample(&pictures->made, x, y);
    int most = choices[0], least = made, greatest = made;
    for (int k = 1; k <= PICTURES; k++) most = choices[4 * k] > most ? choices[4 * k] : most;
    float sum = 0, difference = 0;
    for (int k = 0; k < PICTURES; k++) {
        const int value = sample(pictures->prediction + k, x, y);
        const float e = weight(choices[4 * k] - most);
        sum += e;
        difference += e * (float)(value - made);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    sum += weight(choices[4 * PICTURES] - most);
    const float residual = (float)choices[4 * (PICTURES + 1)] * (1.0f / 64);
    const float v = (float)made + difference / sum + residual;
    return (uint8_t)clamp((int)floorf(v + 0.5f), least, greatest);
}

static void choose(uint8_t *upper, uint8_t *lower, const int16_t *choices, const burnish_fusion_pictures *pictures,
                   int y, int width) {
    for (int x = 0; x < width; x++) {
        const int16_t *at = choices + CHOICES * (x >> 1) + (x & 1);
        upper[x] = choose_sample(at, pictures, x, 2 * y);
        if (lower) lower[x] = choose_sample(at + 2, pictures, x, 2 * y + 1);
    }
}

void burnish_fusion_init_scalar(burnish_fusion_kernels *kernels) {
    *kernels = (burnish_fusion_kernels){features, layer, NULL, raise, choose};
}
