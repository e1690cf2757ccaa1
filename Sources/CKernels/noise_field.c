// What all implementations of the noise filter share: its constants, and where blocks are found.
#include <math.h>
#include <string.h>

#include "motion_field.h"
#include "noise_taps.h"

#pragma STDC FP_CONTRACT OFF

const int16_t burnish_noise_taps[BURNISH_NOISE_PHASES][4] = {
    {0, 32767, 0, 0},
    {-900, 32460, 1268, -60},
    {-1568, 31584, 2976, -224},
    {-2028, 30212, 5052, -468},
    {-2304, 28416, 7424, -768},
    {-2420, 26268, 10020, -1100},
    {-2400, 23840, 12768, -1440},
    {-2268, 21204, 15596, -1764},
    {-2048, 18432, 18432, -2048},
    {-1764, 15596, 21204, -2268},
    {-1440, 12768, 23840, -2400},
    {-1100, 10020, 26268, -2420},
    {-768, 7424, 28416, -2304},
    {-468, 5052, 30212, -2028},
    {-224, 2976, 31584, -1568},
    {-60, 1268, 32460, -900},
};

const int16_t burnish_noise_window[64] = {
    47,   385,  862,   1200,  1200,  862,   385,  47, //
    385,  3122, 6992,  9729,  9729,  6992,  3122, 385, //
    862,  6992, 15662, 21792, 21792, 15662, 6992, 862, //
    1200, 9729, 21792, 30321, 30321, 21792, 9729, 1200, //
    1200, 9729, 21792, 30321, 30321, 21792, 9729, 1200, //
    862,  6992, 15662, 21792, 21792, 15662, 6992, 862, //
    385,  3122, 6992,  9729,  9729,  6992,  3122, 385, //
    47,   385,  862,   1200,  1200,  862,   385,  47,
};

void burnish_noise_make_model(burnish_noise_model *model, float deviation) {
    static const float counts[BURNISH_NOISE_BANDS] = {4, 20, 16, 24};
    // The transform's scale, and what rounding to 8 bits adds.
    const float variance = 64.0f * (deviation * deviation + 1.0f / 12);
    for (int band = 0; band < BURNISH_NOISE_BANDS; band++) {
        model->inverse[band] = 1 / (counts[band] * variance);
        // One standard deviation of the mean of so many squares.
        model->slack[band] = 1 + sqrtf(2 / counts[band]);
    }
    model->least = 1.0f / 16;
    model->threshold = 1.7f * sqrtf(variance);
}

/// The places of rounding to 1/16 sample are not worth the blur of sampling between samples.
static int is_still(int x, int y) { return x >= -1 && x <= 1 && y >= -1 && y <= 1; }

static void find_row(burnish_noise_place *places, const burnish_noise_plane *reference,
                     const burnish_noise_motion *motion, int row) {
    const int step = BURNISH_NOISE_STEP, reach = BURNISH_NOISE_MARGIN - BURNISH_NOISE_BLOCK;
    const int half = 1 << motion->shift >> 1;
    for (int block = 0; block < reference->count; block++) {
        // The block's first sample is half a block before its centre.
        const int x = step * (block - 1), y = step * (row - 1);
        burnish_motion_vector v = {0, 0};
        if (motion->vectors)
            v = burnish_motion_at(motion->vectors, motion->columns, motion->rows, (x + step) * 256 / motion->cell - 128,
                                  (y + step) * 256 / motion->cell - 128);
        int dx = (v.x + half) >> motion->shift, dy = (v.y + half) >> motion->shift;
        if (is_still(dx, dy)) dx = dy = 0;
        const int px = burnish_clamp(16 * x + dx, -16 * reach, 16 * (reference->width + reach - 16));
        const int py = burnish_clamp(16 * y + dy, -16 * reach, 16 * (reference->height + reach - 16));
        const int column = burnish_clamp((px + 16 * step + 8 * step) / (16 * step), 0, reference->count - 1);
        const int line = burnish_clamp((py + 16 * step + 8 * step) / (16 * step), 0, reference->rows - 1);
        places[block].at = reference->origin + ((py >> 4) - 1) * reference->stride + (px >> 4) - 1;
        places[block].variance = reference->variance + BURNISH_NOISE_BANDS * (line * reference->count + column);
        places[block].x = (int16_t)(px & 15);
        places[block].y = (int16_t)(py & 15);
    }
}

/// Everything about a row of blocks but where it is in the references.
static burnish_noise_row describe(const burnish_noise_filter *filter, int row) {
    const int x = -BURNISH_NOISE_STEP, y = BURNISH_NOISE_STEP * (row - 1);
    burnish_noise_row result = {
        .model = filter->model,
        .count = filter->count,
        .references = filter->references,
        .now = filter->now.origin + y * filter->now.stride + x,
        .stride = filter->now.stride,
        .carry = filter->carry,
        .filtered = filter->filtered + y * filter->filtered_stride + x,
        .filtered_stride = filter->filtered_stride,
        .shrunk = filter->shrunk + y * filter->shrunk_stride + x,
        .shrunk_stride = filter->shrunk_stride,
        .variance = filter->variance + BURNISH_NOISE_BANDS * row * filter->count,
    };
    return result;
}

void burnish_noise_filter_rows(const burnish_noise_filter *filter, int first, int last, int begins) {
    const size_t rows = 2 * BURNISH_NOISE_STEP;
    if (begins && first == 0)
        memset(filter->carry, 0, rows * BURNISH_NOISE_STEP * filter->count * sizeof *filter->carry);
    // Another thread writes the row above, but this one needs the lower halves of its blocks.
    for (int index = begins && first > 0 ? first - 1 : first; index < last; index++) {
        burnish_noise_row row = describe(filter, index);
        if (index < first) row.filtered = NULL, row.shrunk = NULL, row.variance = NULL;
        for (int r = 0; r < filter->references; r++) {
            burnish_noise_place *places = filter->places + r * filter->count;
            find_row(places, filter->reference + r, filter->motion + r, index);
            row.places[r] = places;
            row.reference_stride[r] = filter->reference[r].stride;
        }
        filter->kernels->row(&row);
    }
}

void burnish_noise_copy_rows(const burnish_noise_filter *filter, int first, int last) {
    const int width = BURNISH_NOISE_STEP * filter->count;
    for (int index = first; index < last; index++) {
        const burnish_noise_row row = describe(filter, index);
        for (int y = 0; y < BURNISH_NOISE_STEP; y++) {
            const uint8_t *from = row.now + y * row.stride;
            int16_t *filtered = row.filtered + y * row.filtered_stride;
            memcpy(row.shrunk + y * row.shrunk_stride, from, (size_t)width);
            for (int x = 0; x < width; x++) filtered[x] = (int16_t)(16 * from[x] + NOISE_LEAST_SAMPLE);
        }
        for (int i = 0; i < BURNISH_NOISE_BANDS * filter->count; i++) row.variance[i] = BURNISH_NOISE_ONE;
    }
}

static int is_within(burnish_noise_distance limit, int largest, int sum, int samples) {
    return largest <= limit.sample && 4 * (sum < 0 ? -sum : sum) <= limit.mean * samples;
}

/// Inlined with a constant width and height for all blocks but those at the right and at the bottom.
static inline void hold_block(const burnish_noise_holding *h, int x, int y, int width, int height) {
    const uint8_t *now = h->now + y * h->now_stride + x, *before = h->before + y * h->before_stride + x;
    const uint8_t *shown = h->shown + y * h->shown_stride + x;
    uint8_t *given = h->given + y * h->given_stride + x, *output = h->output + y * h->output_stride + x;
    int change = 0;
    for (int row = 0; row < height && !change; row++)
        change = memcmp(now + row * h->now_stride, before + row * h->before_stride, (size_t)width);
    const burnish_noise_distance limit = change ? h->other : h->same;
    int largest = 0, sum = 0;
    for (int row = 0; row < height && limit.sample >= 0; row++) {
        for (int i = 0; i < width; i++) {
            const int apart = shown[row * h->shown_stride + i] - given[row * h->given_stride + i];
            const int size = apart < 0 ? -apart : apart;
            largest = size > largest ? size : largest;
            sum += apart;
        }
    }
    const int is_held = is_within(limit, largest, sum, width * height);
    for (int row = 0; row < height; row++) {
        if (!is_held) memcpy(given + row * h->given_stride, shown + row * h->shown_stride, (size_t)width);
        memcpy(output + row * h->output_stride, given + row * h->given_stride, (size_t)width);
    }
}

void burnish_noise_hold_rows(const burnish_noise_holding *holding, int first, int last) {
    const int side = BURNISH_NOISE_BLOCK;
    for (int y = side * first; y < side * last; y += side) {
        const int height = holding->height - y < side ? holding->height - y : side;
        int x = 0;
        if (height == side)
            for (; x + side <= holding->width; x += side) hold_block(holding, x, y, side, side);
        for (; x < holding->width; x += side)
            hold_block(holding, x, y, holding->width - x < side ? holding->width - x : side, height);
    }
}
