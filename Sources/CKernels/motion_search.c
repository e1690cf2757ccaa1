#include <stdlib.h>

#include "motion_place.h"

#pragma STDC FP_CONTRACT OFF

enum {
    /// A mean squared difference of (1/2 level)². Below it a patch is good enough.
    GOOD = 64 * 64 / 4,
    /// How far descent may move from where it began.
    REACH = 4 * 64,
};

typedef struct {
    int cost;
    /// The gradient of the cost, without the mean difference.
    float x, y;
} evaluation;

static evaluation evaluate(const burnish_motion_search *search, const burnish_motion_patch *patch, int x, int y) {
    burnish_motion_place place = burnish_motion_find(&search->to, x, y, 9);
    burnish_motion_match match;
    search->kernels->match(&match, patch, place.at, search->to.stride, place.x, place.y);
    float mean = (float)match.d * (1.0f / 64);
    evaluation result = {match.dd - (int)((int64_t)match.d * match.d >> 6), (float)match.dx - mean * (float)patch->x,
                         (float)match.dy - mean * (float)patch->y};
    return result;
}

static int round_to_int(float v) { return (int)(v < 0 ? v - 0.5f : v + 0.5f); }

static burnish_motion_vector doubled(burnish_motion_vector v) {
    burnish_motion_vector d = {(int16_t)burnish_clamp(2 * v.x, -32768, 32767),
                               (int16_t)burnish_clamp(2 * v.y, -32768, 32767)};
    return d;
}

/// The vectors to begin with: no motion, the coarser level's nearest three, the left neighbour's, the last pair's.
static int candidates(burnish_motion_vector *out, const burnish_motion_search *s, int column, int row) {
    int count = 0;
    out[count++] = (burnish_motion_vector){0, 0};
    if (s->coarse) {
        int x = burnish_clamp(column >> 1, 0, s->coarse_columns - 1),
            y = burnish_clamp(row >> 1, 0, s->coarse_rows - 1);
        int nx = burnish_clamp(column & 1 ? x + 1 : x - 1, 0, s->coarse_columns - 1);
        int ny = burnish_clamp(row & 1 ? y + 1 : y - 1, 0, s->coarse_rows - 1);
        out[count++] = doubled(s->coarse[y * s->coarse_columns + x]);
        out[count++] = doubled(s->coarse[y * s->coarse_columns + nx]);
        out[count++] = doubled(s->coarse[ny * s->coarse_columns + x]);
    }
    const burnish_motion_vector *here = s->vectors + row * s->columns + column;
    if (column > 0) out[count++] = here[-1];
    if (s->seeded) out[count++] = here[0];
    return count;
}

static int is_near(burnish_motion_vector a, burnish_motion_vector b) {
    return abs(a.x - b.x) < 7 && abs(a.y - b.y) < 7;
}

static void find(const burnish_motion_search *s, int column, int row) {
    const int x = (BURNISH_MOTION_STEP * column - 2) * 64, y = (BURNISH_MOTION_STEP * row - 2) * 64;
    burnish_motion_patch patch;
    s->kernels->patch(&patch, s->from.origin + (y >> 6) * s->from.stride + (x >> 6), s->from.stride);

    burnish_motion_vector starts[6];
    int count = candidates(starts, s, column, row);
    burnish_motion_vector best = starts[0];
    evaluation state = evaluate(s, &patch, x, y);
    for (int k = 1; k < count && state.cost > GOOD; k++) {
        int known = 0;
        for (int i = 0; i < k; i++) known |= is_near(starts[i], starts[k]);
        if (known) continue;
        evaluation other = evaluate(s, &patch, x + starts[k].x, y + starts[k].y);
        if (other.cost < state.cost) state = other, best = starts[k];
    }

    // Descend by the patch's own gradients, which stay the same. That is the inverse in inverse search.
    const float xx = (float)patch.xx - (float)patch.x * (float)patch.x * (1.0f / 64) + 16;
    const float xy = (float)patch.xy - (float)patch.x * (float)patch.y * (1.0f / 64);
    const float yy = (float)patch.yy - (float)patch.y * (float)patch.y * (1.0f / 64) + 16;
    // Gradients are doubled, differences are in 1/8 and vectors in 1/64.
    const float scale = 16.0f / (xx * yy - xy * xy);
    const burnish_motion_vector start = best;
    for (int i = 0; i < s->iterations && state.cost > GOOD; i++) {
        float dx = (yy * state.x - xy * state.y) * scale, dy = (xx * state.y - xy * state.x) * scale;
        if (!(dx > -REACH && dx < REACH && dy > -REACH && dy < REACH)) break;
        int nx = best.x - round_to_int(dx), ny = best.y - round_to_int(dy);
        if (abs(nx - start.x) > REACH || abs(ny - start.y) > REACH || nx != (int16_t)nx || ny != (int16_t)ny) break;
        if (nx == best.x && ny == best.y) break;
        evaluation next = evaluate(s, &patch, x + nx, y + ny);
        if (next.cost >= state.cost) break;
        int gain = state.cost - next.cost;
        state = next;
        best.x = (int16_t)nx, best.y = (int16_t)ny;
        if (dx * dx + dy * dy < 4 || gain < state.cost / 100) break;
    }
    s->vectors[row * s->columns + column] = best;
    s->costs[row * s->columns + column] = state.cost;
}

void burnish_motion_search_rows(const burnish_motion_search *search, int first, int last) {
    for (int row = first; row < last; row++)
        for (int column = 0; column < search->columns; column++) find(search, column, row);
}
