#include <stdlib.h>
#include <string.h>

#include "fusion.h"

enum { FEATURES = BURNISH_FUSION_FEATURES, CHOICES = BURNISH_FUSION_CHOICES, RING = 4 };

static size_t rounded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/// Bytes of a row of activations.
static size_t row_bytes(int width, int channels) {
    return rounded((size_t)(width + 1 + BURNISH_FUSION_MARGIN) * (size_t)channels * sizeof(int16_t));
}

static size_t sum_bytes(int width) { return rounded(2 * (size_t)(2 * width + 32) * sizeof(uint16_t)); }

size_t burnish_fusion_scratch(const burnish_fusion *fusion) {
    const int half = fusion->half[0].width, quarter = fusion->quarter[0].width;
    // The row more is of zeros, above and below the features.
    const size_t features = (1 + RING) * row_bytes(half, FEATURES) + sum_bytes(half);
    const size_t raised = row_bytes(quarter, fusion->network->up.outputs), choices = 2 * row_bytes(half, CHOICES);
    size_t most = features > raised ? features : raised;
    most = most > choices ? most : choices;
    return BURNISH_FUSION_PAIR_SCRATCH + most;
}

static const burnish_fusion_plane *result(const burnish_fusion *fusion, int step) {
    switch (step) {
    case BURNISH_FUSION_DOWN:
    case BURNISH_FUSION_INNER + 1: return &fusion->quarter[0];
    case BURNISH_FUSION_INNER:
    case BURNISH_FUSION_INNER + 2:
    case BURNISH_FUSION_UP: return &fusion->quarter[1];
    case BURNISH_FUSION_MIDDLE: return &fusion->half[1];
    default: return &fusion->half[0];
    }
}

int burnish_fusion_rows(const burnish_fusion *fusion, int step) { return result(fusion, step)->height; }

/// A row's pixel of zeros to the left, for rows -1 ... height.
static int16_t *row(const burnish_fusion_plane *plane, int y) { return plane->rows + y * plane->stride; }

/// Makes the pixel after a row's last one zero again: kernels may write there.
static void end_row(int16_t *row, int width, int channels) {
    memset(row + (ptrdiff_t)(width + 1) * channels, 0, (size_t)channels * sizeof *row);
}

/// Two rows of a layer, or one where `out[1]` is null: from four rows, or from three.
static void two_rows(const burnish_fusion *fusion, int16_t *const *out, const int16_t *const *rows,
                     const int16_t *const *added, int positive, int width, const burnish_fusion_layer *layer,
                     void *scratch) {
    if (out[1] && fusion->kernels->pair && layer->places) {
        fusion->kernels->pair(out, rows, added, positive, width, layer, scratch);
        return;
    }
    for (int i = 0; i < 2 && out[i]; i++) fusion->kernels->layer(out[i], rows + i, added[i], positive, width, layer);
}

/// A convolution from one plane to another.
static void convolve(const burnish_fusion *fusion, const burnish_fusion_layer *layer, const burnish_fusion_plane *from,
                     const burnish_fusion_plane *to, int adds, int first, int last, void *scratch) {
    for (int y = first; y < last; y += 2) {
        const int16_t *rows[4], *added[2] = {NULL, NULL};
        int16_t *out[2] = {NULL, NULL};
        for (int i = 0; i < 2 && y + i < last; i++) {
            out[i] = row(to, y + i) + to->channels;
            if (adds) added[i] = row(from, y + i) + from->channels;
        }
        for (int k = 0; k < 4; k++) rows[k] = row(from, y + k - 1);
        two_rows(fusion, out, rows, added, 1, to->width, layer, scratch);
        for (int i = 0; i < 2 && out[i]; i++) end_row(row(to, y + i), to->width, to->channels);
    }
}

/// The layer whose step is 2.
static void run_down(const burnish_fusion *fusion, int first, int last) {
    const burnish_fusion_plane *from = &fusion->half[0], *to = &fusion->quarter[0];
    for (int y = first; y < last; y++) {
        const int16_t *rows[3];
        for (int k = 0; k < 3; k++) rows[k] = row(from, 2 * y + k - 1);
        fusion->kernels->layer(row(to, y) + to->channels, rows, NULL, 1, to->width, &fusion->network->down);
        end_row(row(to, y), to->width, to->channels);
    }
}

/// The first layer, from features that are made row by row.
static void run_first(const burnish_fusion *fusion, int first, int last, uint8_t *scratch) {
    const burnish_fusion_plane *to = &fusion->half[0];
    const size_t bytes = row_bytes(to->width, FEATURES);
    int16_t *zeros = (int16_t *)(scratch + BURNISH_FUSION_PAIR_SCRATCH);
    uint8_t *ring = (uint8_t *)zeros + bytes;
    uint16_t *sums = (uint16_t *)(ring + RING * bytes);
    memset(zeros, 0, bytes);
    int made = first - 1;
    for (int y = first; y < last; y += 2) {
        const int16_t *rows[4], *const added[2] = {NULL, NULL};
        int16_t *out[2] = {NULL, NULL};
        for (int i = 0; i < 2 && y + i < last; i++) out[i] = row(to, y + i) + to->channels;
        for (; made <= y + 1 + (out[1] != NULL); made++) {
            if (made < 0 || made >= to->height) continue;
            int16_t *features = (int16_t *)(ring + (size_t)(made % RING) * bytes);
            memset(features, 0, FEATURES * sizeof *features);
            fusion->kernels->features(features + FEATURES, &fusion->pictures, made, to->width, sums);
            end_row(features, to->width, FEATURES);
        }
        for (int k = 0; k < 4; k++) {
            const int at = y + k - 1;
            rows[k] = at < 0 || at >= to->height ? zeros : (int16_t *)(ring + (size_t)(at % RING) * bytes);
        }
        two_rows(fusion, out, rows, added, 1, to->width, &fusion->network->first, scratch);
        for (int i = 0; i < 2 && out[i]; i++) end_row(row(to, y + i), to->width, to->channels);
    }
}

static void run_up(const burnish_fusion *fusion, int first, int last, int16_t *scratch) {
    const burnish_fusion_plane *from = &fusion->quarter[1], *to = &fusion->half[0];
    for (int y = first; y < last; y++) {
        const int16_t *at = row(from, y) + from->channels;
        fusion->kernels->layer(scratch, &at, NULL, 0, from->width, &fusion->network->up);
        fusion->kernels->raise(row(to, 2 * y) + to->channels, row(to, 2 * y + 1) + to->channels, scratch, to->channels,
                               from->width);
    }
}

static void run_last(const burnish_fusion *fusion, int first, int last, uint8_t *scratch) {
    const burnish_fusion_plane *from = &fusion->half[0];
    int16_t *choices = (int16_t *)(scratch + BURNISH_FUSION_PAIR_SCRATCH);
    const size_t bytes = row_bytes(from->width, CHOICES);
    // The last row may lie below the picture.
    const int end = (fusion->height + 1) / 2 < last ? (fusion->height + 1) / 2 : last;
    for (int y = first; y < end; y += 2) {
        const int16_t *rows[4], *const added[2] = {NULL, NULL};
        int16_t *out[2] = {choices, y + 1 < end ? choices + bytes / sizeof *choices : NULL};
        for (int k = 0; k < 4; k++) rows[k] = row(from, y + k - 1);
        two_rows(fusion, out, rows, added, 0, from->width, &fusion->network->last, scratch);
        for (int i = 0; i < 2 && out[i]; i++) {
            const int top = 2 * (y + i);
            uint8_t *upper = fusion->out + top * fusion->out_stride;
            uint8_t *lower = top + 1 < fusion->height ? upper + fusion->out_stride : NULL;
            fusion->kernels->choose(upper, lower, out[i], &fusion->pictures, y + i, fusion->width);
        }
    }
}

void burnish_fusion_run(const burnish_fusion *fusion, int step, int first, int last, void *scratch) {
    const burnish_fusion_network *network = fusion->network;
    const burnish_fusion_plane *half = fusion->half, *quarter = fusion->quarter;
    const burnish_fusion_layer *inner = network->inner, *middle = network->middle;
    switch (step) {
    case BURNISH_FUSION_FIRST: run_first(fusion, first, last, scratch); break;
    case BURNISH_FUSION_DOWN: run_down(fusion, first, last); break;
    case BURNISH_FUSION_INNER: convolve(fusion, inner, quarter, quarter + 1, 0, first, last, scratch); break;
    case BURNISH_FUSION_INNER + 1: convolve(fusion, inner + 1, quarter + 1, quarter, 1, first, last, scratch); break;
    case BURNISH_FUSION_INNER + 2: convolve(fusion, inner + 2, quarter, quarter + 1, 1, first, last, scratch); break;
    case BURNISH_FUSION_UP: run_up(fusion, first, last, scratch); break;
    case BURNISH_FUSION_MIDDLE: convolve(fusion, middle, half, half + 1, 0, first, last, scratch); break;
    case BURNISH_FUSION_MIDDLE + 1: convolve(fusion, middle + 1, half + 1, half, 1, first, last, scratch); break;
    case BURNISH_FUSION_LAST: run_last(fusion, first, last, scratch); break;
    }
}

/// Whether the picture is the mean of the pair in a block, to 9/64 level.
static int is_mean(const burnish_fusion_pictures *pictures, int phase, int left, int top, int width, int height) {
    const burnish_motion_plane *made = &pictures->made, *a = &pictures->prediction[0], *b = &pictures->prediction[1];
    int apart = 0;
    for (int y = top; y < top + height; y++) {
        const uint8_t *m = made->origin + y * made->stride, *p = a->origin + y * a->stride,
                      *q = b->origin + y * b->stride;
        for (int x = left; x < left + width; x++)
            apart += abs(m[x] - ((p[x] * (256 - phase) + q[x] * phase + 128) >> 8));
    }
    return 64 * apart <= 9 * width * height;
}

void burnish_fusion_keep(const burnish_fusion *fusion, int phase, int first, int last) {
    const burnish_motion_plane *made = &fusion->pictures.made;
    for (int row = first; row < last; row++) {
        const int top = row * BURNISH_FUSION_BLOCK, down = fusion->height - top;
        const int height = down < BURNISH_FUSION_BLOCK ? down : BURNISH_FUSION_BLOCK;
        for (int left = 0; left < fusion->width; left += BURNISH_FUSION_BLOCK) {
            const int rest = fusion->width - left, width = rest < BURNISH_FUSION_BLOCK ? rest : BURNISH_FUSION_BLOCK;
            if (!is_mean(&fusion->pictures, phase, left, top, width, height)) continue;
            for (int y = top; y < top + height; y++)
                memcpy(fusion->out + y * fusion->out_stride + left, made->origin + y * made->stride + left,
                       (size_t)width);
        }
    }
}
