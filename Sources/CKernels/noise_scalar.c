#include <math.h>
#include <string.h>

#include "families.h"
#include "noise_taps.h"

#pragma STDC FP_CONTRACT OFF

enum { BLOCK = BURNISH_NOISE_BLOCK, STEP = BURNISH_NOISE_STEP, BANDS = BURNISH_NOISE_BANDS };

/// The product of two numbers with 15 fractional bits, rounded as vpmulhrsw does.
static int16_t times(int a, int b) { return (int16_t)((a * b + 0x4000) >> 15); }
static int16_t sum(int a, int b) { return (int16_t)(a + b); }
static int16_t difference(int a, int b) { return (int16_t)(a - b); }
static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

/// One dimension of the transform, down the columns. Its gain is 2 ^ shift / 2.
static void forward(int16_t *v, int shift) {
    const int c0 = NOISE_C0 << shift, c1 = NOISE_C1 << shift, c2 = NOISE_C2 << shift, c3 = NOISE_C3 << shift,
              c5 = NOISE_C5 << shift, c6 = NOISE_C6 << shift, c7 = NOISE_C7 << shift;
    for (int x = 0; x < BLOCK; x++) {
        int16_t *r = v + x;
        int a[4], b[4];
        for (int i = 0; i < 4; i++) a[i] = sum(r[8 * i], r[8 * (7 - i)]), b[i] = difference(r[8 * i], r[8 * (7 - i)]);
        const int e0 = sum(a[0], a[3]), e1 = sum(a[1], a[2]), e2 = difference(a[1], a[2]), e3 = difference(a[0], a[3]);
        r[0] = times(sum(e0, e1), c0);
        r[8] = sum(sum(times(b[0], c1), times(b[1], c3)), sum(times(b[2], c5), times(b[3], c7)));
        r[16] = sum(times(e3, c2), times(e2, c6));
        r[24] = difference(difference(times(b[0], c3), times(b[1], c7)), sum(times(b[2], c1), times(b[3], c5)));
        r[32] = times(difference(e0, e1), c0);
        r[40] = sum(difference(times(b[0], c5), times(b[1], c1)), sum(times(b[2], c7), times(b[3], c3)));
        r[48] = difference(times(e3, c6), times(e2, c2));
        r[56] = sum(difference(times(b[0], c7), times(b[1], c5)), difference(times(b[2], c3), times(b[3], c1)));
    }
}

/// One dimension of the inverse transform, down the columns. Its gain is 2 ^ shift / 2.
static void inverse(int16_t *v, int shift) {
    const int c0 = NOISE_C0 << shift, c1 = NOISE_C1 << shift, c2 = NOISE_C2 << shift, c3 = NOISE_C3 << shift,
              c5 = NOISE_C5 << shift, c6 = NOISE_C6 << shift, c7 = NOISE_C7 << shift;
    for (int x = 0; x < BLOCK; x++) {
        int16_t *r = v + x;
        const int y1 = r[8], y3 = r[24], y5 = r[40], y7 = r[56];
        const int t0 = times(sum(r[0], r[32]), c0), t1 = times(difference(r[0], r[32]), c0);
        const int t2 = sum(times(r[16], c2), times(r[48], c6)), t3 = difference(times(r[16], c6), times(r[48], c2));
        const int a[4] = {sum(t0, t2), sum(t1, t3), difference(t1, t3), difference(t0, t2)};
        const int b[4] = {
            sum(sum(times(y1, c1), times(y3, c3)), sum(times(y5, c5), times(y7, c7))),
            difference(difference(times(y1, c3), times(y3, c7)), sum(times(y5, c1), times(y7, c5))),
            sum(difference(times(y1, c5), times(y3, c1)), sum(times(y5, c7), times(y7, c3))),
            sum(difference(times(y1, c7), times(y3, c5)), difference(times(y5, c3), times(y7, c1))),
        };
        for (int i = 0; i < 4; i++) r[8 * i] = sum(a[i], b[i]), r[8 * (7 - i)] = difference(a[i], b[i]);
    }
}

static void transpose(int16_t *v) {
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < y; x++) {
            const int16_t other = v[8 * y + x];
            v[8 * y + x] = v[8 * x + y];
            v[8 * x + y] = other;
        }
}

static void transform(int16_t *v) { forward(v, 0), transpose(v), forward(v, 1); }
static void transform_back(int16_t *v) { inverse(v, 1), transpose(v), inverse(v, 2); }

static int filtered(const int16_t *at, ptrdiff_t step, const int16_t *taps) {
    return sum(sum(times(at[0], taps[0]), times(at[step], taps[1])),
               sum(times(at[2 * step], taps[2]), times(at[3 * step], taps[3])));
}

static void sample(int16_t *out, const burnish_noise_place *place, ptrdiff_t stride) {
    int16_t rows[11 * 8];
    for (int y = 0; y < 11; y++)
        for (int x = 0; x < 8; x++)
            rows[8 * y + x] = (int16_t)filtered(place->at + y * stride + x, 1, burnish_noise_taps[place->x]);
    for (int i = 0; i < 64; i++)
        out[i] = (int16_t)clamp(filtered(rows + i, 8, burnish_noise_taps[place->y]), NOISE_LEAST_SAMPLE,
                                NOISE_LARGEST_SAMPLE);
}

static int band(int i) {
    static const int bands[7] = {0, 1, 1, 2, 3, 3, 3};
    return bands[(i >> 4) + ((i & 7) >> 1)];
}

/// What a reference's uncertainty is, by what it was and by how far the block is from it.
static void judge(float *uncertainty, const int16_t *now, const int16_t *then, const uint16_t *variance,
                  const burnish_noise_model *model) {
    int32_t energy[BANDS] = {0};
    for (int i = 0; i < 64; i++) {
        const int d = difference(now[i], then[i]);
        energy[band(i)] += d * d;
    }
    for (int b = 0; b < BANDS; b++) {
        const float known = (float)variance[b] * (1.0f / 32768);
        const float v = known > model->least ? known : model->least;
        const float excess = (float)energy[b] * model->inverse[b] - (v + 1) * model->slack[b];
        uncertainty[b] = v + (excess > 0 ? excess : 0);
    }
}

static void block(const burnish_noise_row *row, int index, int16_t *kept, int16_t *shown) {
    int16_t now[64], then[BURNISH_NOISE_REFERENCES][64];
    const uint8_t *at = row->now + STEP * index;
    for (int i = 0; i < 64; i++) now[i] = (int16_t)(16 * at[(i >> 3) * row->stride + (i & 7)] + NOISE_LEAST_SAMPLE);
    transform(now);
    float u[BURNISH_NOISE_REFERENCES][BANDS];
    for (int r = 0; r < row->references; r++) {
        const burnish_noise_place *place = row->places[r] + index;
        sample(then[r], place, row->reference_stride[r]);
        transform(then[r]);
        judge(u[r], now, then[r], place->variance, row->model);
    }
    int16_t share[BURNISH_NOISE_REFERENCES][BANDS], variance[BANDS], threshold[BANDS];
    for (int b = 0; b < BANDS; b++) {
        float left = 1;
        if (row->references == 1) {
            const float part = 1 / (1 + u[0][b]);
            left = u[0][b] * part;
            share[0][b] = (int16_t)(part * 32767);
        } else if (row->references == 2) {
            const float product = u[0][b] * u[1][b], part = 1 / (product + (u[0][b] + u[1][b]));
            left = product * part;
            share[0][b] = (int16_t)(u[1][b] * part * 32767);
            share[1][b] = (int16_t)(u[0][b] * part * 32767);
        }
        variance[b] = (int16_t)(left * 32767);
        threshold[b] = (int16_t)(row->model->threshold * sqrtf(left));
    }
    for (int i = 0; i < 64; i++) {
        int v = now[i];
        for (int r = 0; r < row->references; r++)
            v = difference(v, times(difference(now[i], then[r][i]), share[r][band(i)]));
        kept[i] = (int16_t)v;
        const int size = v < 0 ? -v : v;
        const int above = clamp(size - (i ? threshold[band(i)] : 0), 0, 65535);
        const int firm = sum(above, times(above, NOISE_SLOPE));
        const int less = size < firm ? size : firm;
        shown[i] = (int16_t)(v < 0 ? -less : less);
    }
    transform_back(kept);
    transform_back(shown);
    if (row->variance)
        for (int b = 0; b < BANDS; b++) row->variance[BANDS * index + b] = (uint16_t)variance[b];
}

static void row(const burnish_noise_row *row) {
    const int width = STEP * row->count;
    // Sums of a whole row would need memory: go by steps, and keep the right halves of the last block.
    int16_t right[2][BLOCK][STEP] = {0};
    for (int index = 0; index < row->count; index++) {
        int16_t parts[2][64];
        block(row, index, parts[0], parts[1]);
        for (int part = 0; part < 2; part++) {
            int16_t *carry = row->carry + part * STEP * width + STEP * index;
            for (int y = 0; y < BLOCK; y++) {
                int16_t total[STEP];
                for (int x = 0; x < STEP; x++) {
                    const int16_t *window = burnish_noise_window + 8 * y + x, *v = parts[part] + 8 * y + x;
                    total[x] = sum(right[part][y][x], times(v[0], window[0]));
                    right[part][y][x] = times(v[STEP], window[STEP]);
                }
                if (y >= STEP) {
                    memcpy(carry + (y - STEP) * width, total, sizeof total);
                } else if (row->filtered) {
                    for (int x = 0; x < STEP; x++) {
                        const int v = sum(carry[y * width + x], total[x]);
                        if (part == 0)
                            row->filtered[y * row->filtered_stride + STEP * index + x] = (int16_t)clamp(
                                v, NOISE_LEAST_SAMPLE, NOISE_LARGEST_SAMPLE);
                        else
                            row->shrunk[y * row->shrunk_stride + STEP * index + x] = (uint8_t)clamp(
                                (v + 8 - NOISE_LEAST_SAMPLE) >> 4, 0, 255);
                    }
                }
            }
        }
    }
}

static int32_t operate(const uint8_t *p, ptrdiff_t stride) {
    const int32_t corners = p[-stride - 1] + p[-stride + 1] + p[stride - 1] + p[stride + 1];
    return corners - 2 * (p[-stride] + p[-1] + p[1] + p[stride]) + 4 * p[0];
}

static void measure(burnish_noise_sums *out, const uint8_t *now, ptrdiff_t stride, const uint8_t *before,
                    ptrdiff_t before_stride, int squares) {
    for (int square = 0; square < squares; square++) {
        burnish_noise_sums sums = {0, 0, 0};
        for (int y = 0; y < BURNISH_NOISE_SQUARE; y++) {
            for (int x = square * BURNISH_NOISE_SQUARE; x < (square + 1) * BURNISH_NOISE_SQUARE; x++) {
                const int32_t a = operate(now + y * stride + x, stride);
                const int32_t b = operate(before + y * before_stride + x, before_stride);
                sums.detail += (uint32_t)(a * a);
                sums.change += (uint32_t)((a - b) * (a - b));
                sums.level += now[y * stride + x];
            }
        }
        out[square] = sums;
    }
}

void burnish_noise_init_scalar(burnish_noise_kernels *kernels) {
    kernels->row = row;
    kernels->measure = measure;
}
