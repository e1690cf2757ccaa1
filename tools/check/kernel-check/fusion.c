// Compares the kernels of the fusion network with their scalar references (check.h): every shape of a layer, every
// remainder of a width, weights whose sums come close to 32 bits and results beyond 16, then whole pictures.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum {
    WIDEST = 97,
    MARGIN = BURNISH_FUSION_MARGIN,
    FEATURES = BURNISH_FUSION_FEATURES,
    CHOICES = BURNISH_FUSION_CHOICES,
    PLANES = BURNISH_FUSION_PICTURES + 1,
    CHANNELS = 128,
    NUMBERS = CHANNELS * (WIDEST + MARGIN),
    CANARY = 0x5a5a,
};

enum content { RANDOM, SMALL, ZERO, MOST, LEAST, EXTREMES, CONTENTS };
static const char *const contents[] = {"random", "small", "zero", "greatest", "least", "extremes"};
/// How large inputs are for tiles: all small, all at the limit, one beyond it, any.
enum { WITHIN, LIMIT, OUTLIER, ANY, SIZES };
static int16_t number(enum content content) {
    switch (content) {
    case SMALL: return (int16_t)between(-300, 300);
    case ZERO: return 0;
    case MOST: return INT16_MAX;
    case LEAST: return INT16_MIN;
    case EXTREMES: return random32() & 1 ? INT16_MAX : INT16_MIN;
    default: return (int16_t)random32();
    }
}

static int16_t input[4][2 * NUMBERS], added[2][NUMBERS], first[2][NUMBERS], second[2][NUMBERS];
static void fill(int16_t *to, int count, enum content content) {
    for (int i = 0; i < count; i++) to[i] = number(content);
}
/// Makes many of the numbers zero, or most.
static void thin(int16_t *to, int count) {
    const int most = between(3, 9);
    for (int i = 0; i < count; i++)
        if (between(0, 9) < most) to[i] = 0;
}
static void clear(void) {
    for (int i = 0; i < NUMBERS; i++) first[0][i] = first[1][i] = second[0][i] = second[1][i] = CANARY;
}

/// `payload` bytes count; what lies behind `end` must be untouched.
static void compare(const char *what, int width, enum content content, const void *a, const void *b, size_t payload,
                    size_t end) {
    comparisons++;
    const uint8_t *p = a, *q = b;
    size_t i = 0;
    while (i < payload && p[i] == q[i]) i++;
    if (i == payload) {
        for (i = end; i < 2 * NUMBERS && q[i] == (CANARY & 0xff); i++) {}
        if (i == 2 * NUMBERS) return;
    }
    if (failures++ < 20) printf("%s differs: width %d, %s content, byte %zu\n", what, width, contents[content], i);
}

/// As TileWeights has them.
static void add_places(burnish_fusion_layer *layer) {
    static const int factors[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
    const int inputs = layer->inputs, taps = 9 * inputs;
    int16_t *const places = malloc(sizeof *places * (size_t)(16 * inputs * layer->outputs)), *next = places;
    layer->most = INT16_MAX / 4;
    for (int output = 0; output < layer->outputs; output++) {
        int64_t sum = 1;
        for (int i = 0; i < taps; i++) sum += abs(layer->weights[output * taps + i]);
        const int64_t most = ((1 << 29) - 1 - abs(layer->bias[output])) / sum;
        if (most < layer->most) layer->most = (int)most;
    }
    for (int output = 0; output < layer->outputs;) {
        const int lanes = 8 * burnish_fusion_chunk((layer->outputs - output) / 8);
        for (int place = 0; place < 16; place++)
            for (int i = 0; i < inputs; i += 2)
                for (int lane = 0; lane < 2 * lanes; lane++) {
                    const int16_t *own = layer->weights + (output + lane / 2) * taps + i + lane % 2;
                    int weight = 0;
                    for (int t = 0; t < 9; t++)
                        weight += factors[place / 4][t / 3] * factors[place % 4][t % 3] * own[t * inputs];
                    *next++ = (int16_t)weight;
                    if (weight != (int16_t)weight) layer->most = 0;
                }
        output += lanes;
    }
    layer->places = layer->most ? places : NULL;
    if (!layer->places) free(places);
}

/// A layer whose sums stay within 32 bits for inputs of a magnitude up to `most`.
/// - gentle: whether results fit 16 bits mostly.
static burnish_fusion_layer random_layer(int inputs, int outputs, int kernel, int step, int most, int gentle) {
    const int taps = kernel * kernel * inputs, kind = between(0, 2);
    int limit = (int)(((1ll << 31) - 100000001) / ((long long)taps * most));
    if (limit > INT16_MAX) limit = INT16_MAX;
    const size_t bytes = sizeof(int16_t) * (size_t)(taps * outputs);
    int16_t *const weights = malloc(bytes), *const packed = malloc(bytes);
    int32_t *const bias = malloc(sizeof *bias * (size_t)outputs);
    for (int i = 0; i < taps * outputs; i++)
        weights[i] = (int16_t)(gentle || kind ? between(-limit, limit) : i / taps & 1 ? limit : -limit);
    for (int i = 0; i < outputs; i++) bias[i] = gentle ? between(-100000, 100000) : between(-100000000, 100000000);
    int16_t *next = packed;
    for (int output = 0; output < outputs;) {
        const int lanes = 8 * burnish_fusion_chunk((outputs - output) / 8);
        for (int tap = 0; tap < taps; tap += 2)
            for (int lane = 0; lane < lanes; lane++)
                for (int i = 0; i < 2; i++) *next++ = weights[(output + lane) * taps + tap + i];
        output += lanes;
    }
    enum { CHUNK = BURNISH_FUSION_SCATTERED };
    const int chunks = (outputs + CHUNK - 1) / CHUNK;
    int16_t *const scattered = calloc((size_t)(chunks * CHUNK * taps), sizeof *scattered);
    for (int output = 0; output < outputs; output++) {
        const int first = output / 16 * 16, halves = first + 8 == outputs ? 4 : 8, at = output - first;
        const int place = first % CHUNK + at / halves * 8 + at % halves;
        for (int tap = 0; tap < taps; tap++) {
            const int row = tap / (kernel * inputs), column = tap / inputs % kernel, in = tap % inputs;
            scattered[((output / CHUNK * kernel + row) * inputs + in) * kernel * CHUNK + column * CHUNK + place] =
                weights[output * taps + tap];
        }
    }
    burnish_fusion_layer layer = {.inputs = inputs,
                                  .outputs = outputs,
                                  .kernel = kernel,
                                  .step = step,
                                  .shift = gentle ? between(12, 15) : between(0, 24),
                                  .weights = weights,
                                  .packed = packed,
                                  .scattered = scattered,
                                  .bias = bias};
    if (kernel == 3 && step == 1) add_places(&layer);
    return layer;
}
static void free_layer(const burnish_fusion_layer *layer) {
    free((void *)layer->weights);
    free((void *)layer->packed);
    free((void *)layer->scattered);
    free((void *)layer->bias);
    free((void *)layer->places);
}

static void check_layer(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd, const int shape[4],
                        int width, enum content content) {
    const burnish_fusion_layer layer = random_layer(shape[0], shape[1], shape[2], shape[3], 32768, 0);
    const int start = between(0, 7), count = layer.inputs * (layer.step * (width + MARGIN) + 2), thins = between(0, 1);
    const int16_t *rows[3];
    for (int i = 0; i < 3; i++) {
        rows[i] = input[i] + start;
        fill(input[i] + start, count, content);
        if (thins) thin(input[i] + start, count);
    }
    fill(added[0], layer.outputs * (width + MARGIN), content == SMALL ? SMALL : EXTREMES);
    const int adds = between(0, 1), positive = between(0, 1);
    clear();
    plain->layer(first[0], rows, adds ? added[0] : NULL, positive, width, &layer);
    simd->layer(second[0], rows, adds ? added[0] : NULL, positive, width, &layer);
    char what[64];
    snprintf(what, sizeof what, "fusion layer %d to %d, %dx%d, step %d", shape[0], shape[1], shape[2], shape[2],
             shape[3]);
    const size_t pixel = sizeof(int16_t) * (size_t)layer.outputs;
    compare(what, width, content, first[0], second[0], pixel * (size_t)width, pixel * (size_t)(width + MARGIN));
    free_layer(&layer);
}

/// Two rows by tiles beside the same rows one by one.
static void check_pair(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd, const int shape[4],
                       int width, int size) {
    const burnish_fusion_layer layer = random_layer(shape[0], shape[1], shape[2], shape[3], 32768, between(0, 1));
    static uint8_t scratch[BURNISH_FUSION_PAIR_SCRATCH] __attribute__((aligned(64)));
    const int count = layer.inputs * (width + MARGIN + 2), adds = between(0, 1), positive = between(0, 1);
    const int thins = between(0, 1);
    const int16_t *rows[4], *plus[2];
    for (int i = 0; i < 4; i++) {
        rows[i] = input[i];
        for (int k = 0; k < count; k++)
            input[i][k] = (int16_t)(size == ANY     ? number(RANDOM)
                                    : size == LIMIT ? (between(0, 1) ? layer.most : -layer.most)
                                                    : between(-layer.most, layer.most));
        if (thins) thin(input[i], count);
    }
    if (size == OUTLIER) input[between(0, 3)][between(0, layer.inputs * (width + 2) - 1)] = INT16_MIN;
    for (int i = 0; i < 2; i++) {
        fill(added[i], layer.outputs * (width + MARGIN), EXTREMES);
        plus[i] = adds ? added[i] : NULL;
    }
    clear();
    for (int i = 0; i < 2; i++) plain->layer(first[i], rows + i, plus[i], positive, width, &layer);
    int16_t *const out[2] = {second[0], second[1]};
    if (layer.places) simd->pair(out, rows, plus, positive, width, &layer, scratch);
    else failures++;
    char what[64];
    snprintf(what, sizeof what, "fusion pair %d to %d, inputs %d", shape[0], shape[1], size);
    const size_t pixel = sizeof(int16_t) * (size_t)layer.outputs;
    for (int i = 0; i < 2; i++)
        compare(what, width, RANDOM, first[i], second[i], pixel * (size_t)width, pixel * (size_t)(width + MARGIN));
    free_layer(&layer);
}

/// Pictures with their margins.
typedef struct {
    uint8_t *memory;
    size_t bytes;
    burnish_fusion_pictures pictures;
} planes;

static planes random_planes(int width, int height, enum content content) {
    const int margin = BURNISH_MOTION_MARGIN, stride = width + 2 * margin + between(0, 3);
    const int size = stride * (height + 2 * margin), distance = content == SMALL ? 3 : content == ZERO ? 0 : 255;
    planes p = {.memory = malloc((size_t)(PLANES * size)), .bytes = (size_t)(PLANES * size)};
    for (int i = 0; i < size; i++) {
        const int value = content == EXTREMES ? 255 * between(0, 1) : between(0, 255);
        for (int k = 0; k < PLANES; k++) {
            const int v = content == EXTREMES ? 255 * between(0, 1) : value + between(-distance, distance);
            p.memory[k * size + i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
    }
    for (int k = 0; k < PLANES; k++) {
        const burnish_motion_plane plane = {.origin = p.memory + k * size + margin * stride + margin,
                                            .stride = stride,
                                            .width = width,
                                            .height = height};
        *(k == PLANES - 1 ? &p.pictures.made : &p.pictures.prediction[k]) = plane;
    }
    return p;
}

static void check_pictures(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd, int width,
                           enum content content) {
    static uint16_t sums[2 * (2 * WIDEST + 32)];
    planes p = random_planes(2 * width, 8, content);
    clear();
    plain->features(first[0], &p.pictures, 1, width, sums);
    simd->features(second[0], &p.pictures, 1, width, sums);
    const size_t pixel = sizeof(int16_t) * FEATURES;
    compare("fusion features", width, content, first[0], second[0], pixel * (size_t)width,
            pixel * (size_t)(width + MARGIN));
    free(p.memory);

    // From choices that are nearly alike to such that exclude all others but one.
    p = random_planes(width, 8, content);
    const int bits = between(0, 11), has_lower = between(0, 3) != 0;
    for (int i = 0; i < CHOICES * (width / 2 + 8); i++) input[0][i] = (int16_t)(number(content) >> bits);
    clear();
    plain->choose((uint8_t *)first[0], has_lower ? (uint8_t *)first[1] : NULL, input[0], &p.pictures, 1, width);
    simd->choose((uint8_t *)second[0], has_lower ? (uint8_t *)second[1] : NULL, input[0], &p.pictures, 1, width);
    for (int i = 0; i < 2; i++)
        compare("fusion choose", width, content, first[i], second[i], (size_t)width, (size_t)width);
    free(p.memory);

    const int channels = 8 * between(1, 4);
    fill(input[0], 4 * channels * width, content);
    clear();
    for (int i = 0; i < 2; i++) {
        for (int at = 0; at < 2 * channels * width && at < NUMBERS; at++) first[i][at] = (int16_t)between(0, INT16_MAX);
        memcpy(second[i], first[i], sizeof first[i]);
    }
    plain->raise(first[0], first[1], input[0], channels, width);
    simd->raise(second[0], second[1], input[0], channels, width);
    const size_t row = 2 * sizeof(int16_t) * (size_t)(channels * width);
    for (int i = 0; i < 2; i++) compare("fusion raise", width, content, first[i], second[i], row, row);
}

/// Changes the samples of predictions that nothing needs.
static void spoil(const burnish_fusion *fusion) {
    const int columns = (fusion->width + BURNISH_FUSION_BLOCK - 1) / BURNISH_FUSION_BLOCK;
    for (int k = 0; k < BURNISH_FUSION_PICTURES; k++) {
        const burnish_motion_plane *plane = &fusion->pictures.prediction[k];
        for (int y = 0; y < fusion->height; y++)
            for (int x = 0; x < fusion->width; x++)
                if (fusion->distance[y / BURNISH_FUSION_BLOCK * columns + x / BURNISH_FUSION_BLOCK] ==
                    BURNISH_FUSION_FAR)
                    ((uint8_t *)plane->origin)[y * plane->stride + x] = (uint8_t)between(0, 255);
    }
}

/// Every step of a picture, in pieces of a few rows.
/// - moving: where to compute only what blocks need in which something moves. May be null.
static void run(const burnish_fusion_kernels *kernels, const burnish_fusion_network *network, const planes *p,
                uint8_t *out, int width, int height, uint8_t *moving) {
    const int quarter = (width + 3) / 4, down = (height + 3) / 4;
    burnish_fusion fusion = {.kernels = kernels,
                             .network = network,
                             .pictures = p->pictures,
                             .out = out,
                             .out_stride = width,
                             .width = width,
                             .height = height};
    int16_t *memory[4];
    for (int i = 0; i < 4; i++) {
        const int times = i < 2 ? 2 : 1, channels = i < 2 ? network->first.outputs : network->down.outputs;
        const ptrdiff_t stride = (channels * (times * quarter + 1 + MARGIN) + 31) & ~31;
        memory[i] = calloc((size_t)(stride * (times * down + 2)), sizeof(int16_t));
        *(i < 2 ? &fusion.half[i] : &fusion.quarter[i - 2]) = (burnish_fusion_plane){.rows = memory[i] + stride,
                                                                                     .stride = stride,
                                                                                     .width = times * quarter,
                                                                                     .height = times * down,
                                                                                     .channels = channels};
    }
    const int rows = (height + BURNISH_FUSION_BLOCK - 1) / BURNISH_FUSION_BLOCK;
    fusion.moving = moving;
    if (moving) {
        fusion.distance = malloc((size_t)(rows * ((width + BURNISH_FUSION_BLOCK - 1) / BURNISH_FUSION_BLOCK)));
        burnish_fusion_reach(&fusion, 0, rows);
        spoil(&fusion);
    }
    void *const scratch = aligned_alloc(64, (burnish_fusion_scratch(&fusion) + 63) / 64 * 64);
    for (int step = 0; step < BURNISH_FUSION_STEPS; step++) {
        const int rows = burnish_fusion_rows(&fusion, step);
        for (int y = 0; y < rows; y += 5) burnish_fusion_run(&fusion, step, y, y + 5 < rows ? y + 5 : rows, scratch);
    }
    free(scratch);
    free(fusion.distance);
    for (int i = 0; i < 4; i++) free(memory[i]);
}

static void check_whole(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd, int half, int quarter,
                        int width, int height, enum content content) {
    const burnish_fusion_network network = {
        .first = random_layer(FEATURES, half, 3, 1, 4081, 1),
        .down = random_layer(half, quarter, 3, 2, 32768, 1),
        .inner = {random_layer(quarter, quarter, 3, 1, 32768, 1), random_layer(quarter, quarter, 3, 1, 32768, 1),
                  random_layer(quarter, quarter, 3, 1, 32768, 1)},
        .up = random_layer(quarter, 4 * half, 1, 1, 32768, 1),
        .middle = {random_layer(half, half, 3, 1, 32768, 1), random_layer(half, half, 3, 1, 32768, 1)},
        .last = random_layer(half, CHOICES, 3, 1, 32768, 1)};
    planes p = random_planes(width, height, content);
    const size_t size = (size_t)(width * height);
    uint8_t *const out[2] = {malloc(size), malloc(size)};
    uint8_t *const unspoilt = malloc(p.bytes);
    memcpy(unspoilt, p.memory, p.bytes);
    run(plain, &network, &p, out[0], width, height, NULL);
    // All, then less and less.
    for (int share = 1; share < 100; share *= 3) {
        const int columns = (width + BURNISH_FUSION_BLOCK - 1) / BURNISH_FUSION_BLOCK;
        uint8_t *const moving = malloc(size);
        for (size_t i = 0; i < size; i++) moving[i] = between(0, share - 1) == 0;
        memset(out[1], CANARY & 0xff, size);
        run(simd, &network, &p, out[1], width, height, share == 1 ? NULL : moving);
        memcpy(p.memory, unspoilt, p.bytes);
        int differs = 0;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const int block = y / BURNISH_FUSION_BLOCK * columns + x / BURNISH_FUSION_BLOCK;
                differs |= out[1][y * width + x] != (moving[block] ? out[0][y * width + x] : CANARY & 0xff);
            }
        comparisons++;
        free(moving);
        if (!differs) continue;
        failures++;
        printf("fusion of %dx%d pictures by %d and %d channels differs, one block of %d moves\n", width, height, half,
               quarter, share);
    }
    for (int i = 0; i < 2; i++) free(out[i]);
    free(unspoilt);
    free(p.memory);
    const burnish_fusion_layer *const layers[] = {&network.first,     &network.down,      &network.inner[0],
                                                  &network.inner[1],  &network.inner[2],  &network.up,
                                                  &network.middle[0], &network.middle[1], &network.last};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) free_layer(layers[i]);
}

void check_fusion(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd) {
    // Every shape of the shipped network, and every number of vectors of outputs that kernels treat alike.
    static const int shapes[][4] = {
        {FEATURES, 32, 3, 1}, {32, 64, 3, 2}, {64, 64, 3, 1}, {64, 128, 1, 1}, {32, 32, 3, 1}, {32, CHOICES, 3, 1},
        {8, 8, 3, 1},         {8, 8, 3, 2},   {16, 16, 3, 2}, {24, 24, 3, 2},  {16, 40, 3, 1}, {8, 48, 3, 1},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int width = 1; width <= 26; width++) check_layer(plain, simd, shapes[s], width, RANDOM);
        for (int content = 0; content < CONTENTS; content++)
            check_layer(plain, simd, shapes[s], between(1, 26), content);
        if (shapes[s][2] != 3 || shapes[s][3] != 1) continue;
        for (int width = 1; width <= 27; width++) check_pair(plain, simd, shapes[s], width, width % SIZES);
        for (int size = 0; size < SIZES; size++) check_pair(plain, simd, shapes[s], WIDEST - size, size);
    }
    for (int width = 1; width <= 36; width++)
        for (int content = 0; content < CONTENTS; content++) check_pictures(plain, simd, width, content);
    check_whole(plain, simd, 32, 64, 61, 38, RANDOM);
    check_whole(plain, simd, 32, 64, 96, 24, SMALL);
    check_whole(plain, simd, 8, 24, 3, 5, EXTREMES);
    check_whole(plain, simd, 16, 24, 203, 137, RANDOM);
}
