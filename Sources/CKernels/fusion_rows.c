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

static int blocks(int samples) { return (samples + BURNISH_FUSION_BLOCK - 1) / BURNISH_FUSION_BLOCK; }

/// How far the results of a step reach, in blocks, through the steps after it.
static int reach(int step) {
    switch (step) {
    case BURNISH_FUSION_FIRST:
    case BURNISH_FUSION_DOWN: return 3;
    case BURNISH_FUSION_INNER:
    case BURNISH_FUSION_INNER + 1: return 2;
    case BURNISH_FUSION_LAST: return 0;
    default: return 1;
    }
}

/// Columns of a step's result that somebody needs.
typedef struct {
    int first, last;
} span;

/// The first span from column `from` on, of rows y ..< y + count. It is empty at the row's end. Gaps of up to `gap` blocks
/// belong to it.
static span next_span(const burnish_fusion *fusion, int step, int from, int y, int count, int gap) {
    const burnish_fusion_plane *plane = result(fusion, step);
    const int width = plane->width;
    if (!fusion->distance) return (span){from, width};
    const int side = BURNISH_FUSION_BLOCK / (step < BURNISH_FUSION_DOWN || step > BURNISH_FUSION_UP ? 2 : 4);
    const int columns = blocks(fusion->width), end = blocks(fusion->height) - 1, most = reach(step);
    const int first = y / side, last = (y + count - 1) / side;
    const uint8_t *upper = fusion->distance + (first < end ? first : end) * columns;
    const uint8_t *lower = fusion->distance + (last < end ? last : end) * columns;
    int x = from / side;
    while (x < columns && upper[x] > most && lower[x] > most) x++;
    int past = x;
    for (int i = x; i < columns && i <= past + gap; i++)
        if (upper[i] <= most || lower[i] <= most) past = i + 1;
    return (span){x * side < width ? x * side : width, past * side < width ? past * side : width};
}

/// Kernels do some pixels at a time, so smaller gaps save nothing.
enum { SMALL_GAP = 2 };

/// Two rows or one of a 3x3 layer whose step is 1, in the columns that somebody needs.
static void needed_columns(const burnish_fusion *fusion, int step, int y, int16_t *const *out,
                           const int16_t *const *rows, const int16_t *const *added, int positive,
                           const burnish_fusion_layer *layer, void *scratch) {
    const int width = result(fusion, step)->width;
    for (span s = {0, 0}; s.last < width;) {
        s = next_span(fusion, step, s.last, y, out[1] ? 2 : 1, SMALL_GAP);
        if (s.first == s.last) return;
        int16_t *to[2] = {out[0] + s.first * layer->outputs, out[1] ? out[1] + s.first * layer->outputs : NULL};
        const int16_t *from[4], *plus[2];
        for (int k = 0; k < 4; k++) from[k] = rows[k] + s.first * layer->inputs;
        for (int i = 0; i < 2; i++) plus[i] = added[i] ? added[i] + s.first * layer->outputs : NULL;
        two_rows(fusion, to, from, plus, positive, s.last - s.first, layer, scratch);
    }
}

/// A convolution from one plane to another.
static void convolve(const burnish_fusion *fusion, int step, const burnish_fusion_layer *layer,
                     const burnish_fusion_plane *from, int adds, int first, int last, void *scratch) {
    const burnish_fusion_plane *to = result(fusion, step);
    for (int y = first; y < last; y += 2) {
        const int16_t *rows[4], *added[2] = {NULL, NULL};
        int16_t *out[2] = {NULL, NULL};
        for (int i = 0; i < 2 && y + i < last; i++) {
            out[i] = row(to, y + i) + to->channels;
            if (adds) added[i] = row(from, y + i) + from->channels;
        }
        for (int k = 0; k < 4; k++) rows[k] = row(from, y + k - 1);
        needed_columns(fusion, step, y, out, rows, added, 1, layer, scratch);
        for (int i = 0; i < 2 && out[i]; i++) end_row(row(to, y + i), to->width, to->channels);
    }
}

/// The layer whose step is 2.
static void run_down(const burnish_fusion *fusion, int first, int last) {
    const burnish_fusion_plane *from = &fusion->half[0], *to = &fusion->quarter[0];
    for (int y = first; y < last; y++) {
        for (span s = {0, 0}; s.last < to->width;) {
            s = next_span(fusion, BURNISH_FUSION_DOWN, s.last, y, 1, SMALL_GAP);
            if (s.first == s.last) break;
            const int16_t *rows[3];
            for (int k = 0; k < 3; k++) rows[k] = row(from, 2 * y + k - 1) + 2 * s.first * from->channels;
            fusion->kernels->layer(row(to, y) + (1 + s.first) * to->channels, rows, NULL, 1, s.last - s.first,
                                   &fusion->network->down);
        }
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
        const span s = next_span(fusion, BURNISH_FUSION_FIRST, 0, y, out[1] ? 2 : 1, 0);
        for (int i = 0; i < 2 && out[i] && s.first == s.last; i++) end_row(row(to, y + i), to->width, to->channels);
        if (s.first == s.last) continue;
        if (made < y - 1) made = y - 1;
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
        needed_columns(fusion, BURNISH_FUSION_FIRST, y, out, rows, added, 1, &fusion->network->first, scratch);
        for (int i = 0; i < 2 && out[i]; i++) end_row(row(to, y + i), to->width, to->channels);
    }
}

/// The columns are those of quarters.
static void run_up(const burnish_fusion *fusion, int first, int last, int16_t *scratch) {
    const burnish_fusion_plane *from = &fusion->quarter[1], *to = &fusion->half[0];
    for (int y = first; y < last; y++) {
        for (span s = {0, 0}; s.last < from->width;) {
            s = next_span(fusion, BURNISH_FUSION_UP, s.last, y, 1, SMALL_GAP);
            if (s.first == s.last) break;
            const int16_t *at = row(from, y) + (1 + s.first) * from->channels;
            const ptrdiff_t left = (ptrdiff_t)(1 + 2 * s.first) * to->channels;
            fusion->kernels->layer(scratch, &at, NULL, 0, s.last - s.first, &fusion->network->up);
            fusion->kernels->raise(row(to, 2 * y) + left, row(to, 2 * y + 1) + left, scratch, to->channels,
                                   s.last - s.first);
        }
    }
}

/// The samples of pixels first ..< last of two rows.
static void choose(const burnish_fusion *fusion, const int16_t *choices, int y, span s) {
    const int left = 2 * s.first, right = 2 * s.last < fusion->width ? 2 * s.last : fusion->width;
    burnish_fusion_pictures pictures = fusion->pictures;
    for (int k = 0; k < BURNISH_FUSION_PICTURES; k++) pictures.prediction[k].origin += left;
    pictures.made.origin += left;
    uint8_t *upper = fusion->out + 2 * y * fusion->out_stride + left;
    uint8_t *lower = 2 * y + 1 < fusion->height ? upper + fusion->out_stride : NULL;
    fusion->kernels->choose(upper, lower, choices + (ptrdiff_t)s.first * CHOICES, &pictures, y, right - left);
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
        needed_columns(fusion, BURNISH_FUSION_LAST, y, out, rows, added, 0, &fusion->network->last, scratch);
        for (int i = 0; i < 2 && out[i]; i++) {
            for (span s = {0, 0}; s.last < from->width;) {
                s = next_span(fusion, BURNISH_FUSION_LAST, s.last, y + i, 1, 0);
                if (s.first == s.last) break;
                choose(fusion, out[i], y + i, s);
            }
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
    case BURNISH_FUSION_INNER: convolve(fusion, step, inner, quarter, 0, first, last, scratch); break;
    case BURNISH_FUSION_INNER + 1: convolve(fusion, step, inner + 1, quarter + 1, 1, first, last, scratch); break;
    case BURNISH_FUSION_INNER + 2: convolve(fusion, step, inner + 2, quarter, 1, first, last, scratch); break;
    case BURNISH_FUSION_UP: run_up(fusion, first, last, scratch); break;
    case BURNISH_FUSION_MIDDLE: convolve(fusion, step, middle, half, 0, first, last, scratch); break;
    case BURNISH_FUSION_MIDDLE + 1: convolve(fusion, step, middle + 1, half + 1, 1, first, last, scratch); break;
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

void burnish_fusion_look(const burnish_fusion *fusion, int phase, int first, int last) {
    uint8_t *moving = fusion->moving + first * blocks(fusion->width);
    for (int row = first; row < last; row++) {
        const int top = row * BURNISH_FUSION_BLOCK, down = fusion->height - top;
        const int height = down < BURNISH_FUSION_BLOCK ? down : BURNISH_FUSION_BLOCK;
        for (int left = 0; left < fusion->width; left += BURNISH_FUSION_BLOCK) {
            const int rest = fusion->width - left, width = rest < BURNISH_FUSION_BLOCK ? rest : BURNISH_FUSION_BLOCK;
            *moving++ = !is_mean(&fusion->pictures, phase, left, top, width, height);
        }
    }
}

/// Whether something moves in a block `distance` blocks away at most.
static int moves_within(const burnish_fusion *fusion, int distance, int x, int y) {
    const int columns = blocks(fusion->width), rows = blocks(fusion->height);
    const int left = x > distance ? x - distance : 0, right = x + distance < columns ? x + distance : columns - 1;
    const int bottom = y + distance < rows ? y + distance : rows - 1;
    for (int j = y > distance ? y - distance : 0; j <= bottom; j++)
        if (memchr(fusion->moving + j * columns + left, 1, (size_t)(right + 1 - left))) return 1;
    return 0;
}

void burnish_fusion_reach(const burnish_fusion *fusion, int first, int last) {
    const int columns = blocks(fusion->width);
    for (int y = first; y < last; y++) {
        for (int x = 0; x < columns; x++) {
            int distance = 0;
            while (distance < BURNISH_FUSION_FAR && !moves_within(fusion, distance, x, y)) distance++;
            fusion->distance[y * columns + x] = (uint8_t)distance;
        }
    }
}
