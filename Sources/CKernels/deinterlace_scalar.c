#include "deinterlace_taps.h"
#include "families.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t distance(int32_t a, int32_t b) { return a < b ? b - a : a - b; }
static uint8_t sample(int32_t v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

/// The product with a tap, rounded (pmulhrsw).
static int32_t times(int32_t value, int32_t tap) { return (value * 32 * tap + (1 << 14)) >> 15; }

static int32_t alone(const uint8_t *const *kept, int x) {
    return times(kept[1][x] + kept[2][x], TAP_ALONE_1) - times(kept[0][x] + kept[3][x], TAP_ALONE_3);
}

static void row(uint8_t *out, const burnish_deinterlace_rows *rows, int width) {
    const uint8_t *const *a = rows->near[0], *const *b = rows->near[1], *const *kept = rows->kept;
    for (int x = 0; x < width; x++) {
        const int32_t above = kept[1][x], below = kept[2][x];
        const int32_t change = distance(rows->change[0][x], rows->change[1][x]);
        const int32_t beside = (distance(rows->before[0][x], above) + distance(rows->before[1][x], below)) >> 1;
        const int32_t mean = (a[2][x] + b[2][x]) >> 1;
        int32_t limit = larger(change >> rows->shift, beside);
        if (limit) {
            // Where the mean lies between what its own field has further up and down, a wider limit does no harm.
            const int32_t up = ((a[1][x] + b[1][x]) >> 1) - above, down = ((a[3][x] + b[3][x]) >> 1) - below;
            const int32_t highest = larger(larger(mean - below, mean - above), smaller(up, down));
            const int32_t lowest = smaller(smaller(mean - below, mean - above), larger(up, down));
            limit = larger(larger(limit, lowest), -highest);
        }
        int32_t v;
        if (distance(above, below) > change) {
            v = times(a[2][x] + b[2][x], TAP_NEAR_0) - times(a[1][x] + b[1][x] + a[3][x] + b[3][x], TAP_NEAR_2) +
                times(a[0][x] + b[0][x] + a[4][x] + b[4][x], TAP_NEAR_4) + times(above + below, TAP_KEPT_1) -
                times(kept[0][x] + kept[3][x], TAP_KEPT_3);
        } else {
            v = alone(kept, x);
        }
        v = (v + 16) >> 5;
        out[x] = sample(larger(smaller(v, mean + limit), mean - limit));
    }
}

static void row_alone(uint8_t *out, const uint8_t *const *kept, int width) {
    for (int x = 0; x < width; x++) out[x] = sample((alone(kept, x) + 16) >> 5);
}

static uint32_t mean(uint32_t a, uint32_t b) { return (a + b + 1) >> 1; }

static void combs(burnish_comb_sums *out, const uint8_t *row, ptrdiff_t stride, const uint8_t *before,
                  ptrdiff_t before_stride, int blocks) {
    for (int block = 0; block < blocks; block++) {
        burnish_comb_sums sums = {0, 0, 0, 0};
        for (int y = 0; y < 2 * BURNISH_COMB_ROWS; y += 2) {
            for (int x = 16 * block; x < 16 * block + 16; x++) {
                const uint8_t *here = row + y * stride + x;
                const int32_t old = before[y * before_stride + x];
                const int32_t beside = (int32_t)mean(here[-stride], here[stride]);
                sums.other += (uint32_t)distance(*here, beside);
                sums.same += (uint32_t)distance(*here, (int32_t)mean(here[-2 * stride], here[2 * stride]));
                sums.before += (uint32_t)distance(old, beside);
                sums.change += (uint32_t)distance(*here, old);
            }
        }
        out[block] = sums;
    }
}

void burnish_deinterlace_init_scalar(burnish_deinterlace_kernels *kernels) {
    kernels->row = row;
    kernels->row_alone = row_alone;
    kernels->combs = combs;
}
