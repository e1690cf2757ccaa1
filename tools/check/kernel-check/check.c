// Compares the SIMD kernels of the networks and of the base that it was built with with their scalar references: all
// widths to 70 and some more, five kinds of content, canaries around the output, then whole strips of random networks.
// fusion.c has the network that fuses predictions.
// tools/check/kernels uses it for instruction sets that the machine lacks. For those that it has, the tests do the same
// and more. Exit status 1 when anything differs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "families.h"

enum { MARGIN = BURNISH_NETWORK_MARGIN, WIDEST = 700, ROOM = 4 * (WIDEST + 4 * MARGIN), CANARY = 0xa5 };

static uint64_t state = 88172645463325252u;
uint32_t random32(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}
int between(int low, int high) { return low + (int)(random32() % (uint32_t)(high - low + 1)); }

static const char *const contents[] = {"random", "zero", "maximum", "checkerboard", "extremes"};
static uint8_t content_byte(int content, int i) {
    switch (content) {
    case 0: return (uint8_t)random32();
    case 1: return 0;
    case 2: return 255;
    case 3: return i % 2 ? 255 : 0;
    default: return random32() & 1 ? 255 : 0;
    }
}

int failures, comparisons;
/// `payload` bytes of each row count; what lies behind `end` must be untouched.
static void compare(const char *what, int width, int content, const uint8_t *a, const uint8_t *b, size_t payload,
                    size_t end) {
    comparisons++;
    size_t i = 0;
    while (i < payload && a[i] == b[i]) i++;
    if (i == payload) {
        for (i = end; i < ROOM && b[i] == CANARY; i++) {}
        if (i == ROOM) return;
    }
    if (failures++ < 20) printf("%s differs: width %d, %s content, byte %zu\n", what, width, contents[content], i);
}

/// The most groups of four channels.
enum { GROUPS = 10 };
static uint8_t source[3 * GROUPS * ROOM], stripes[3 * GROUPS * ROOM], first[GROUPS][ROOM], second[GROUPS][ROOM];
static void clear(void) {
    memset(first, CANARY, sizeof first);
    memset(second, CANARY, sizeof second);
}

/// Pixels of four bytes in the order that `striped` kernels have them (network.h), two more vectors included, or back.
static void deal(uint8_t *striped, uint8_t *row, int width, bool back) {
    const int vectors = (width + 15) / 16;
    for (int v = 0; v < vectors + (back ? 0 : 2); v++)
        for (int lane = 0; lane < 16; lane++) {
            uint8_t *const a = striped + 64 * v + 4 * lane, *const b = row + 4 * (lane * vectors + v);
            if (back) memcpy(b, a, 4);
            else memcpy(a, b, 4);
        }
}

/// A layer as the `striped` kernels do it, from and to rows in their own order.
static void striped_layer(const burnish_network_kernels *simd, const uint8_t *const *plain, int rows, int width,
                          const burnish_network_layer *layer, int groups, bool last) {
    const uint8_t *taps[BURNISH_NETWORK_STEPS];
    for (int i = 0; i < rows; i++) deal(stripes + i * ROOM, source + i * ROOM, width, false);
    for (int i = 0; i < layer->steps; i++) {
        const ptrdiff_t at = plain[i] - source;
        taps[i] = stripes + at / ROOM * ROOM + 16 * (at % ROOM);
    }
    if (last) {
        simd->residual((int16_t *)second[0], (int16_t *)second[1], taps, width, layer);
        return;
    }
    static uint8_t out[GROUPS][ROOM];
    if (simd->begin) simd->begin(layer);
    simd->layer(out[0], ROOM, taps, width, layer);
    if (simd->end) simd->end();
    for (int g = 0; g < groups; g++) {
        deal(out[g], second[g], width, true);
        memset(second[g] + 4 * (width + MARGIN), CANARY, ROOM - 4 * (size_t)(width + MARGIN));
    }
}

enum { STEPS = 9 * GROUPS };
typedef struct {
    int8_t weights[GROUPS * STEPS * 16], tap_weights[GROUPS * STEPS * 16];
    /// Two pieces of three bands of 16 outputs, at the most.
    int8_t tile_weights[18 * 2 * 3 * 16 * 64];
    uint8_t order[GROUPS * STEPS], runs[GROUPS * (STEPS + 1)];
    int32_t bias[4 * GROUPS];
    int16_t mult[16 * GROUPS];
    uint8_t narrow[GROUPS];
    burnish_network_layer layer;
} random_layer;

/// As PackedLayer.isNarrow, for the four outputs of a group.
static uint8_t is_narrow(const random_layer *l, int steps, int group, int shift) {
    for (int c = 0; c < 4; c++) {
        int64_t largest = l->bias[4 * group + c];
        for (int i = 0; i < 16 * steps; i++) {
            const int weight = l->weights[group * steps * 16 + i];
            if (i / 4 % 4 == c && weight > 0) largest += 255 * weight;
        }
        const int64_t top = (largest < 65535 ? largest : 65535) >> shift;
        if (top > 32767) return 0;
        if (largest > 65535 && (top * l->mult[4 * (4 * group + c)] + 16384) >> 15 < 255) return 0;
    }
    return 1;
}

/// As TileWeights.swift has them.
static void fill_tile_weights(random_layer *l, int steps, int groups) {
    const int of = steps / 9, pieces = 3 * of > 16 ? 2 : 1, inputs = 3 * of / pieces;
    const int bands = (groups + 3) / 4, outputs = (4 * groups + bands - 1) / bands;
    int8_t *next = l->tile_weights;
    for (int place = 0; place < 6; place++)
        for (int column = 0; column < 3; column++)
            for (int piece = 0; piece < pieces; piece++)
                for (int output = 0; output < bands * outputs; output++, next += 64)
                    for (int i = 0; i < 4 * inputs && output < 4 * groups; i++) {
                        const int group = piece * inputs + i / 4, row = group / of;
                        const int down = (row - place % 3 + 3) % 3, up = (place % 3 - row + 3) % 3;
                        const int tap = ((place < 3 ? down : up) * of + group % of) * 3 + column;
                        next[i] = l->tap_weights[16 * (output / 4 * steps + tap) + 4 * (output % 4) + i % 4];
                    }
}

/// As TileDivision.suits.
static bool suits_tiles(int steps, int groups) {
    return steps == 9 * groups && (groups == 4 || groups == 8 || groups == 10);
}

static void fill_layer(random_layer *l, int steps, int groups, int reach, int gentle) {
    memset(l, 0, sizeof *l);
    for (int i = 0; i < groups * steps * 16; i++) l->weights[i] = (int8_t)between(-reach, reach - 1);
    if (steps == 3)
        for (int i = 3; i < groups * steps * 16; i += 4) l->weights[i] = 0;
    for (int g = 0; g < groups; g++) {
        uint8_t *order = l->order + g * steps;
        for (int i = 0; i < steps; i++) order[i] = (uint8_t)i;
        for (int i = steps - 1; i > 0; i--) {
            const int j = between(0, i);
            const uint8_t t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        for (int i = 0; i < steps; i++)
            memcpy(l->tap_weights + 16 * (g * steps + order[i]), l->weights + 16 * (g * steps + i), 16);
        // Runs of one step: two products of at most 255 and 64 fit 16 bits.
        memset(l->runs + g * (steps + 1), 1, (size_t)steps);
    }
    for (int i = 0; i < 4 * groups; i++) {
        l->bias[i] = between(-70000, 70000);
        const int16_t mult = (int16_t)(gentle ? between(3000, 32767) : between(1, 32767));
        for (int k = 0; k < 4; k++) l->mult[4 * i + k] = mult;
    }
    if (suits_tiles(steps, groups)) fill_tile_weights(l, steps, groups);
    const int shift = between(0, 7);
    for (int g = 0; g < groups; g++) l->narrow[g] = is_narrow(l, steps, g, shift);
    l->layer = (burnish_network_layer){.steps = steps,
                                       .groups = groups,
                                       .shift = shift,
                                       .weights = l->weights,
                                       .order = l->order,
                                       .runs = l->runs,
                                       .tap_weights = l->tap_weights,
                                       .tile_weights = suits_tiles(steps, groups) ? l->tile_weights : NULL,
                                       .bias = l->bias,
                                       .mult = l->mult,
                                       .narrow = l->narrow};
}

static void check_network(const burnish_network_kernels *plain, const burnish_network_kernels *simd, int width,
                          int content) {
    static random_layer l;
    const size_t end = 4 * (size_t)(width + MARGIN);
    for (int i = 0; i < 3 * GROUPS * ROOM; i++) source[i] = content_byte(content, i);
    for (int kind = 0; kind < 9; kind++) {
        // The first layer; layers of 8, 16, 32 and 40 channels; the last layer after these.
        static const char *const names[] = {"first layer", "layer 8",     "layer 16",    "layer 32",   "layer 40",
                                            "residual 8",  "residual 16", "residual 32", "residual 40"};
        static const int widths[] = {1, 2, 4, 8, 10};
        const bool last = kind > 4;
        const int in_groups = widths[last ? kind - 4 : kind], steps = kind == 0 ? 3 : 9 * in_groups;
        const int groups = last ? 1 : kind == 0 ? 4 : in_groups;
        fill_layer(&l, steps, groups, content == 0 ? 20 : 64, content == 0);
        const uint8_t *taps[BURNISH_NETWORK_STEPS];
        const int place = between(0, 2);
        for (int i = 0; i < steps; i++)
            taps[i] = source +
                      (kind == 0 ? i * ROOM : (i / 3 + place * in_groups) % (3 * in_groups) * ROOM + 4 * (i % 3));
        clear();
        if (simd->striped) {
            if (!last) plain->layer(first[0], ROOM, taps, width, &l.layer);
            else plain->residual((int16_t *)first[0], (int16_t *)first[1], taps, width, &l.layer);
            striped_layer(simd, taps, kind == 0 ? 3 : 3 * in_groups, width, &l.layer, groups, last);
        } else if (!last) {
            plain->layer(first[0], ROOM, taps, width, &l.layer);
            simd->layer(second[0], ROOM, taps, width, &l.layer);
        } else {
            plain->residual((int16_t *)first[0], (int16_t *)first[1], taps, width, &l.layer);
            simd->residual((int16_t *)second[0], (int16_t *)second[1], taps, width, &l.layer);
        }
        for (int g = 0; g < (last ? 2 : groups); g++)
            compare(names[kind], width, content, first[g], second[g], 4 * (size_t)width, end);
    }
    clear();
    plain->expand(first[0], source, width);
    if (simd->striped) {
        simd->expand(stripes, source, width);
        deal(stripes, second[0], width, true);
    } else simd->expand(second[0], source, width);
    compare("expand", width, content, first[0], second[0], 4 * (size_t)width, end);
    clear();
    plain->phases(first[0], source, source + ROOM, width);
    if (simd->striped) {
        simd->phases(stripes, source, source + ROOM, width);
        deal(stripes, second[0], width, true);
    } else simd->phases(second[0], source, source + ROOM, width);
    compare("phases", width, content, first[0], second[0], 4 * (size_t)width, end);
    clear();
    plain->cubic((int16_t *)first[0], source + 2, width);
    simd->cubic((int16_t *)second[0], source + 2, width);
    compare("cubic", width, content, first[0], second[0], 4 * (size_t)width, end);

    static int16_t rows[5][WIDEST + 4 * MARGIN];
    for (int r = 0; r < 5; r++)
        for (int x = 0; x < WIDEST + 4 * MARGIN; x++) {
            const int byte = content_byte(content, r + x);
            rows[r][x] = (int16_t)(r < 4 ? byte * 19 - 382 : (byte - 128) * 255);
        }
    const int16_t *const bases[4] = {rows[0], rows[1], rows[2], rows[3]};
    static const int16_t weights[2][4] = {{-3, 29, 111, -9}, {-9, 111, 29, -3}};
    for (int phase = 0; phase < 2; phase++) {
        clear();
        plain->merge(first[0], bases, weights[phase], rows[4], width);
        simd->merge(second[0], bases, weights[phase], rows[4], width);
        compare("merge", width, content, first[0], second[0], (size_t)width, (size_t)width);
    }
}

static void check_scale(const burnish_scale_kernels *plain, const burnish_scale_kernels *simd, int width, int content) {
    static const int16_t weights[2][8] = {{-1200, 13500, 5200, -1116},
                                          {-400, 1100, -2800, 14600, 5000, -1900, 1000, -216}};
    static int16_t line[WIDEST + 2 * BURNISH_SCALE_MARGIN];
    for (int i = 0; i < 12 * ROOM; i++) source[i] = content_byte(content, i);
    for (int x = 0; x < WIDEST + 2 * BURNISH_SCALE_MARGIN; x++)
        line[x] = (int16_t)(content_byte(content, x) * 90 - 3000);
    for (int k = 0; k < 2; k++) {
        const int taps = k ? 8 : 4;
        const uint8_t *rows[8];
        for (int i = 0; i < taps; i++) rows[i] = source + i * ROOM + 1;
        clear();
        plain->vertical((int16_t *)first[0], rows, weights[k], taps, width);
        simd->vertical((int16_t *)second[0], rows, weights[k], taps, width);
        compare("vertical", width, content, first[0], second[0], 2 * (size_t)width, 2 * (size_t)width);
        burnish_scale_filter filter = {.taps = taps};
        for (int i = 0; i < taps; i++) {
            filter.horizontal[0][i] = weights[k][i];
            filter.horizontal[1][1 + i] = weights[k][taps - 1 - i];
        }
        clear();
        plain->horizontal(first[0], line + BURNISH_SCALE_MARGIN, &filter, width);
        simd->horizontal(second[0], line + BURNISH_SCALE_MARGIN, &filter, width);
        compare("horizontal", width, content, first[0], second[0], 2 * (size_t)width, 2 * (size_t)width);
    }
}

static void check_sharpen(const burnish_sharpen_kernels *plain, const burnish_sharpen_kernels *simd, int width,
                          int content) {
    for (int i = 0; i < 12 * ROOM; i++) source[i] = content_byte(content, i / ROOM + i % ROOM);
    const int amount = between(0, BURNISH_SHARPEN_FULL);
    clear();
    plain->row(first[0], source, source + ROOM + 1, source + 2 * ROOM, width, amount);
    simd->row(second[0], source, source + ROOM + 1, source + 2 * ROOM, width, amount);
    compare("sharpen", width, content, first[0], second[0], (size_t)width, (size_t)width);
}

/// A whole picture, in strips of the width given, each from its top and from its bottom to where they meet. Sizes are in
/// positions (network.h).
static void check_strips(const burnish_network_kernels *plain, const burnish_network_kernels *simd, bool restores,
                         int layers, int groups, int width, int height, int strip) {
    static random_layer random[BURNISH_NETWORK_LAYERS];
    burnish_network network = {.layer_count = layers, .restores = restores};
    for (int l = 0; l < layers; l++) {
        fill_layer(&random[l], l > 0 ? 9 * groups : restores ? 9 : 3, l == layers - 1 ? 1 : groups, 12, 1);
        network.layers[l] = random[l].layer;
    }
    const int side = restores ? 2 : 1;
    const size_t size = 4 * (size_t)(width * height), samples = (size_t)(side * side * width * height);
    uint8_t *const in = malloc(samples), *const out[2] = {malloc(size), malloc(size)};
    uint8_t *const scratch = aligned_alloc(64, (burnish_network_scratch(&network, strip) + 63) / 64 * 64);
    for (size_t i = 0; i < samples; i++) in[i] = (uint8_t)random32();
    uint8_t *const plain_scratch = aligned_alloc(64, (burnish_network_scratch(&network, width) + 63) / 64 * 64);
    burnish_network_strip whole = {.kernels = plain,
                                   .network = &network,
                                   .in = in,
                                   .in_stride = side * side * width,
                                   .in_lower = side * width,
                                   .picture_width = width,
                                   .picture_height = height,
                                   .out = out[0],
                                   .out_stride = 2 * width,
                                   .width = width,
                                   .scratch = plain_scratch};
    burnish_network_begin(&whole);
    burnish_network_advance(&whole, height);
    free(plain_scratch);
    for (int x = 0; x < width; x += strip)
        for (int upward = 0; upward < 2; upward++) {
            burnish_network_strip s = whole;
            s.kernels = simd;
            s.out = out[1];
            s.x = x;
            s.width = strip < width - x ? strip : width - x;
            s.upward = upward;
            s.scratch = scratch;
            if (upward) {
                s.in += (height - 1) * s.in_stride;
                s.out += (2 * height - 1) * s.out_stride;
                s.in_stride = -s.in_stride;
                s.out_stride = -s.out_stride;
            }
            const int rows = upward ? height - height * 2 / 3 : height * 2 / 3;
            burnish_network_begin(&s);
            burnish_network_advance(&s, rows / 3);
            burnish_network_advance(&s, rows);
        }
    comparisons++;
    if (memcmp(out[0], out[1], size)) {
        failures++;
        printf("a picture of %dx%d by %d layers of %d channels differs%s\n", width, height, layers, 4 * groups,
               restores ? ", restored" : "");
    }
    free(scratch);
    free(in);
    free(out[0]);
    free(out[1]);
}

void burnish_check_simd(burnish_kernels *table);

int main(void) {
    burnish_kernels plain, simd;
    burnish_scale_init_scalar(&plain.scale);
    burnish_network_init_scalar(&plain.network);
    burnish_sharpen_init_scalar(&plain.sharpen);
    burnish_fusion_init_scalar(&plain.fusion);
    simd = plain;
    burnish_check_simd(&simd);
    const int larger[] = {79, 80, 81, 97, 129, 255, 320, 640};
    for (int i = 1; i < 70 + (int)(sizeof larger / sizeof *larger); i++) {
        const int width = i <= 70 ? i : larger[i - 70];
        for (int content = 0; content < 5; content++) {
            check_network(&plain.network, &simd.network, width, content);
            check_scale(&plain.scale, &simd.scale, width, content);
            check_sharpen(&plain.sharpen, &simd.sharpen, width, content);
        }
    }
    for (int restores = 0; restores < 2; restores++) {
        check_strips(&plain.network, &simd.network, restores, 5, 2, 97, 31, 64);
        check_strips(&plain.network, &simd.network, restores, 7, 4, 203, 12, 203);
        check_strips(&plain.network, &simd.network, restores, 5, 8, 90, 14, 61);
        check_strips(&plain.network, &simd.network, restores, 5, 10, 75, 12, 75);
        check_strips(&plain.network, &simd.network, restores, 5, 4, 3, 2, 3);
    }
    if (simd.fusion.layer != plain.fusion.layer) check_fusion(&plain.fusion, &simd.fusion);
    printf("%d comparisons, %d differences\n", comparisons, failures);
    return failures != 0;
}
