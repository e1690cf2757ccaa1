#include <string.h>

#include "network.h"

/// Rows of the base's horizontal pass that are kept. Five are needed; with a power of two the place is easily computed.
enum { BASE_ROWS = 8 };

/// Bytes from a pixel to the one to its right.
static int neighbour(const burnish_network_kernels *kernels) { return kernels->striped ? 64 : 4; }

typedef struct {
    /// Pixels in a row of any layer, margin included.
    size_t pixels;
    /// Bytes from one group's plane to the next within a row.
    size_t plane;
} geometry;

static geometry measure(const burnish_network *network, int width) {
    geometry g;
    g.pixels = ((size_t)width + 2 * (size_t)network->layer_count + BURNISH_NETWORK_MARGIN + 15) / 16 * 16;
    g.plane = 4 * g.pixels;
    return g;
}

static int groups_of(const burnish_network *network, int layer) {
    return layer == 0 ? 1 : network->layers[layer - 1].groups;
}

/// Where a layer's ring of three rows begins; layer 0 is the expanded input. The last layer has none.
static size_t ring_offset(const burnish_network *network, geometry g, int layer) {
    size_t offset = 0;
    for (int l = 0; l < layer; l++) offset += 3 * g.plane * (size_t)groups_of(network, l);
    return offset;
}

/// How many pointers `lay_taps` writes.
static size_t tap_count(const burnish_network *network) {
    size_t count = 0;
    for (int l = 0; l < network->layer_count; l++) count += 3 * (size_t)network->layers[l].steps;
    return count;
}

/// Every layer's taps, for each of the three places that the middle one of its input rows can have in the ring. They
/// stay the same from row to row, and to compute them for each row would take a small network noticeable time. On the
/// way up the row below comes first, but it is still the last row of taps.
static void lay_taps(const uint8_t **taps, uint8_t *const *rings, const burnish_network *network, geometry g,
                     int neighbour, bool upward) {
    for (int l = 1; l <= network->layer_count; l++) {
        const int groups = groups_of(network, l - 1);
        const int columns = network->layers[l - 1].steps / 3 / groups;
        for (int middle = 0; middle < 3; middle++)
            for (int dy = -1; dy <= 1; dy++) {
                const int place = (middle + (upward ? -dy : dy) + 3) % 3;
                const uint8_t *row = rings[l - 1] + (size_t)(place * groups) * g.plane;
                for (int group = 0; group < groups; group++)
                    for (int dx = 0; dx < columns; dx++) *taps++ = row + (size_t)group * g.plane + neighbour * dx;
            }
    }
}

/// Bytes of a row of input samples: two for each pixel of a network that restores.
static size_t line_size(geometry g) { return 2 * g.pixels + 64; }

size_t burnish_network_scratch(const burnish_network *network, int width) {
    const geometry g = measure(network, width);
    const size_t rings = ring_offset(network, g, network->layer_count);
    const size_t doubled = 2 * g.pixels * sizeof(int16_t);
    return rings + 2 * line_size(g) + (BASE_ROWS + 2) * doubled + tap_count(network) * sizeof(uint8_t *);
}

void burnish_network_begin(burnish_network_strip *strip) {
    strip->next = strip->y - strip->network->layer_count;
    strip->next_base = strip->y - 2;
}

static int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

/// Copies `count` samples of a row from column x on. Samples outside are the nearest one inside.
static void fetch_row(uint8_t *line, const uint8_t *row, int last, int x, int count) {
    const int before = clamp(-x, 0, count), after = clamp(x + count - 1 - last, 0, count);
    memset(line, row[0], (size_t)before);
    if (before + after < count) memcpy(line + before, row + x + before, (size_t)(count - before - after));
    memset(line + count - after, row[last], (size_t)after);
}

/// The same of the picture's row y.
static void fetch(const burnish_network_strip *strip, uint8_t *line, int y, int x, int count) {
    const uint8_t *row = strip->in + clamp(y, 0, strip->picture_height - 1) * strip->in_stride;
    fetch_row(line, row, strip->picture_width - 1, x, count);
}

/// The same of the two rows of samples of a row of positions, into two lines.
static void fetch_phases(const burnish_network_strip *strip, uint8_t *line, size_t size, int y, int x, int count) {
    const int last = strip->picture_height - 1;
    const uint8_t *upper = strip->in + clamp(y, 0, last) * strip->in_stride, *lower = upper + strip->in_lower;
    // Outside, both are the picture's outermost row.
    if (y < 0 || y > last) {
        if ((y < 0) == strip->upward) upper = lower;
        else lower = upper;
    }
    fetch_row(line, upper, 2 * strip->picture_width - 1, 2 * x, 2 * count);
    fetch_row(line + size, lower, 2 * strip->picture_width - 1, 2 * x, 2 * count);
}

/// Writes an output row: what the four rows' weighted sum and the residual give.
static void write_row(const burnish_network_strip *strip, const int16_t *const *rows, const int16_t *weights,
                      const int16_t *residual, int row) {
    uint8_t *const out = strip->out + row * strip->out_stride + 2 * strip->x;
    strip->kernels->merge(out, rows, weights, residual, 2 * strip->width);
    if (strip->copy) memcpy(strip->copy + row * strip->copy_stride + 2 * strip->x, out, 2 * (size_t)strip->width);
}

/// Adds the rows of the last layer to the input's, which are the base of a network that restores.
static void restore(const burnish_network_strip *strip, int16_t *wide, const int16_t *upper, const int16_t *lower,
                    int y) {
    // `merge` shifts by 5, and the base is in 64ths.
    static const int16_t weights[4] = {64 << 5, 0, 0, 0};
    const int16_t *const rows[4] = {wide, wide, wide, wide};
    for (int phase = 0; phase < 2; phase++) {
        const ptrdiff_t below = (phase == 1) != strip->upward ? strip->in_lower : 0;
        const uint8_t *in = strip->in + y * strip->in_stride + below + 2 * strip->x;
        for (int x = 0; x < 2 * strip->width; x++) wide[x] = in[x];
        write_row(strip, rows, weights, phase ? lower : upper, 2 * y + phase);
    }
}

/// Adds the rows of the last layer to the base. The base's weights are the same in both directions.
static void finish(burnish_network_strip *strip, uint8_t *base, size_t doubled, uint8_t *line, const int16_t *upper,
                   const int16_t *lower, int y) {
    static const int16_t weights[2][4] = {{-3, 29, 111, -9}, {-9, 111, 29, -3}};
    for (; strip->next_base <= y + 2; strip->next_base++) {
        fetch(strip, line, strip->next_base, strip->x - 2, strip->width + 4);
        int16_t *out = (int16_t *)(base + (size_t)(strip->next_base & (BASE_ROWS - 1)) * doubled);
        strip->kernels->cubic(out, line + 2, strip->width);
    }
    for (int phase = 0; phase < 2; phase++) {
        const int16_t *rows[4];
        for (int k = 0; k < 4; k++)
            rows[k] = (const int16_t *)(base + (size_t)((y - 2 + phase + k) & (BASE_ROWS - 1)) * doubled);
        write_row(strip, rows, weights[phase], phase ? lower : upper, 2 * y + phase);
    }
}

void burnish_network_advance(burnish_network_strip *strip, int end) {
    const burnish_network *network = strip->network;
    const int count = network->layer_count;
    const geometry g = measure(network, strip->width);
    uint8_t *rings[BURNISH_NETWORK_LAYERS + 1];
    for (int l = 0; l <= count; l++) rings[l] = strip->scratch + ring_offset(network, g, l);
    const size_t doubled = 2 * g.pixels * sizeof(int16_t);
    uint8_t *const base = rings[count];
    int16_t *const upper = (int16_t *)(base + BASE_ROWS * doubled);
    int16_t *const lower = upper + 2 * g.pixels;
    const uint8_t **const taps = (const uint8_t **)(lower + 2 * g.pixels);
    uint8_t *const line = (uint8_t *)(taps + tap_count(network));
    lay_taps(taps, rings, network, g, neighbour(strip->kernels), strip->upward);

    // Row r of layer l needs the rows r - 1 ... r + 1 of the layer before: when input row t is there, layer l can have
    // row t - l, from t = y - count + 2l on. Rows are counted from the first input row, so that a ring's place is row %
    // 3. Outside of the picture all input rows are the same. So are the rows of layer l that depend on no other: those
    // up to row -l, and from row height - 1 + l on. They are copied from the row before. The outermost row of phases
    // is not the same as those outside, which repeat one row of samples.
    const int apart = network->restores;
    const burnish_network_kernels *const kernels = strip->kernels;
    if (kernels->begin) kernels->begin(&network->layers[1]);
    const int first = strip->y - count, widest = strip->width + 2 * count - 2;
    for (; strip->next < end + count; strip->next++) {
        const int t = strip->next - first;
        uint8_t *const input = rings[0] + (size_t)(t % 3) * g.plane;
        if (network->restores) {
            const int all = strip->width + 2 * count;
            fetch_phases(strip, line, line_size(g), strip->next, strip->x - count, all);
            kernels->phases(input, line, line + line_size(g), kernels->striped ? widest : all);
        } else {
            fetch(strip, line, strip->next, strip->x - count, strip->width + 2 * count);
            kernels->expand(input, line, widest);
        }
        const uint8_t **next_taps = taps;
        for (int l = 1; l <= count && t >= 2 * l; l++) {
            const burnish_network_layer *layer = &network->layers[l - 1];
            const uint8_t *const *const at = next_taps + (t - l) % 3 * layer->steps;
            next_taps += 3 * layer->steps;
            const int width = kernels->striped ? widest : strip->width + 2 * (count - l);
            if (l < count) {
                const size_t row = (size_t)layer->groups * g.plane;
                uint8_t *out = rings[l] + (size_t)((t - l) % 3) * row;
                if (t > 2 * l && (strip->next + apart <= 0 || strip->next - apart >= strip->picture_height + 2 * l))
                    memcpy(out, rings[l] + (size_t)((t - l - 1) % 3) * row, row);
                else kernels->layer(out, (ptrdiff_t)g.plane, at, width, layer);
            } else {
                if (strip->upward) kernels->residual(lower, upper, at, width, layer);
                else kernels->residual(upper, lower, at, width, layer);
                const int y = strip->next - count;
                if (network->restores) restore(strip, (int16_t *)base, upper, lower, y);
                else finish(strip, base, doubled, line, upper, lower, y);
            }
        }
    }
    if (kernels->end) kernels->end();
}
