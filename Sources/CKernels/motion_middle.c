#include <stdlib.h>

#include "motion_field.h"
#include "motion_median.h"

#pragma STDC FP_CONTRACT OFF

/// The difference between the pictures at both ends of a vector through the cell's centre: the sum over a patch, in
/// 1/64.
static int difference(const burnish_motion_middle *m, int column, int row, burnish_motion_vector v) {
    int x = (BURNISH_MOTION_STEP * column - 2) * 64, y = (BURNISH_MOTION_STEP * row - 2) * 64;
    int ax = (v.x * m->phase + 128) >> 8, ay = (v.y * m->phase + 128) >> 8;
    burnish_motion_place a = burnish_motion_find(&m->planes[0], x - ax, y - ay, 9);
    burnish_motion_place b = burnish_motion_find(&m->planes[1], x + v.x - ax, y + v.y - ay, 9);
    return m->kernels->differ(a.at, m->planes[0].stride, a.x, a.y, b.at, m->planes[1].stride, b.x, b.y);
}

/// The difference without motion, but sampled at the fractions of a sample that `v` leads to: between samples there is less noise,
/// which alone makes a motion fit better than none.
static int still_difference(const burnish_motion_middle *m, int column, int row, burnish_motion_vector v) {
    int ax = (v.x * m->phase + 128) >> 8, ay = (v.y * m->phase + 128) >> 8;
    int x = (BURNISH_MOTION_STEP * column - 2) * 64 - ((ax + 32) & 63) + 32;
    int y = (BURNISH_MOTION_STEP * row - 2) * 64 - ((ay + 32) & 63) + 32;
    burnish_motion_place a = burnish_motion_find(&m->planes[0], x, y, 9);
    burnish_motion_place b = burnish_motion_find(&m->planes[1], x, y, 9);
    return m->kernels->differ(a.at, m->planes[0].stride, a.x, a.y, b.at, m->planes[1].stride, b.x, b.y);
}

/// A change of speed at one end of a motion, and how far it is believed, in 1/256.
typedef struct {
    int x, y, belief;
} change;

/// The change of speed between the pair and its neighbour on one side (0: before). x, y is where the motion v is in the picture at
/// that end, in 1/256 cell.
static change change_at(const burnish_motion_middle *m, int side, int x, int y, burnish_motion_vector v) {
    change c = {0, 0, 0};
    if (!m->outer[side]) return c;
    burnish_motion_vector p = burnish_motion_at(m->outer[side], m->columns, m->rows, x, y);
    burnish_motion_vector back = burnish_motion_at(m->inner[side], m->columns, m->rows, x + p.x, y + p.y);
    c.x = side ? p.x - v.x : v.x + p.x, c.y = side ? p.y - v.y : v.y + p.y;
    // Noise in vectors looks like a change. A change must be large against how far the neighbour's vectors, there and back, miss
    // where they began, and not too large against the motion.
    int size = abs(c.x) + abs(c.y), missed = abs(p.x + back.x) + abs(p.y + back.y);
    int all = abs(v.x) + abs(v.y) + abs(p.x) + abs(p.y);
    int moderate = burnish_clamp(256 - 256 * (size - 8) / (3 * all + 16), 0, 256);
    int certain = burnish_clamp(256 - 2560 * missed / (7 * size + 160), 0, 256);
    c.belief = moderate * certain >> 8;
    return c;
}

static int16_t rounded(int64_t value, int64_t divisor) {
    int64_t half = value < 0 ? -divisor / 2 : divisor / 2;
    return (int16_t)((value + half) / divisor);
}

/// How far the path through a cell is from a straight line, when speed changes evenly by the mean of both ends' changes.
/// `worth` says how much better the motion fits than none, in 1/256: where it is hardly better, its changes are noise. Changes on
/// which both ends agree are not.
static burnish_motion_vector bend(const burnish_motion_middle *m, int x, int y, burnish_motion_vector v, int worth) {
    burnish_motion_vector none = {0, 0};
    int ax = (v.x * m->phase + 128) >> 8, ay = (v.y * m->phase + 128) >> 8;
    change p = change_at(m, 0, x - ax, y - ay, v), q = change_at(m, 1, x + v.x - ax, y + v.y - ay, v);
    if (m->outer[0] && m->outer[1]) {
        int apart = abs(p.x - q.x) + abs(p.y - q.y), all = abs(p.x) + abs(p.y) + abs(q.x) + abs(q.y);
        // Fully when they differ by up to six tenths plus half a sample, and not at all at twice that. Where nothing moves, small
        // changes agree by chance: fully by up to six tenths less a sample, and not at all at twelve tenths less a sample.
        int moves = v.x || v.y;
        int agreement = burnish_clamp(512 - 1280 * (moves ? apart : apart + 64) / (3 * all + (moves ? 160 : 1)), 0,
                                      256);
        worth = agreement > worth ? agreement : worth;
    }
    p.belief = p.belief * worth >> 8, q.belief = q.belief * worth >> 8;
    int sum = p.belief + q.belief;
    if (!sum) return none;
    // 15/16 of half of the change times phase · (1 - phase).
    int64_t share = (int64_t)15 * m->phase * (256 - m->phase), whole = (int64_t)(sum > 256 ? sum : 256) << 21;
    return (burnish_motion_vector){rounded((p.belief * p.x + q.belief * q.x) * share, whole),
                                   rounded((p.belief * p.y + q.belief * q.y) * share, whole)};
}

/// How much each of four motions counts: the more the less the pictures at its two ends differ (in 1/64 · 64 level). No one
/// knows which is right, and the mean of several is nearer to it than the best, most of all where noise decides between them.
static void share(uint8_t *shares, const int *differences, int preference) {
    float weight[4], sum = 0;
    for (int k = 0; k < 4; k++) {
        weight[k] = (float)(k ? 1 : preference) / (float)(differences[k] + 2048);
        sum += weight[k];
    }
    int rest = BURNISH_MOTION_SHARES;
    for (int k = 1; k < 4; k++) {
        shares[k] = (uint8_t)(int)(weight[k] / sum * BURNISH_MOTION_SHARES + 0.5f);
        rest -= shares[k];
    }
    shares[0] = (uint8_t)rest;
}

static void decide(const burnish_motion_middle *m, int column, int row) {
    int i = row * m->columns + column, x = 256 * column, y = 256 * row;
    // The motion that passes here at the new picture's time: forward from its origin, backward from its destination.
    burnish_motion_vector f = m->vectors[0][i], b = m->vectors[1][i];
    burnish_motion_vector mean = {(int16_t)((f.x - b.x) >> 1), (int16_t)((f.y - b.y) >> 1)};
    for (int step = 0; step < 3; step++) {
        int ax = (mean.x * m->phase + 128) >> 8, ay = (mean.y * m->phase + 128) >> 8;
        f = burnish_motion_at(m->vectors[0], m->columns, m->rows, x - ax, y - ay);
        b = burnish_motion_at(m->vectors[1], m->columns, m->rows, x + mean.x - ax, y + mean.y - ay);
        burnish_motion_vector next = {(int16_t)((f.x - b.x) >> 1), (int16_t)((f.y - b.y) >> 1)};
        if (next.x == mean.x && next.y == mean.y) break;
        mean = next;
    }
    const burnish_motion_vector tried[4] = {
        mean, f, {(int16_t)burnish_clamp(-b.x, -32768, 32767), (int16_t)burnish_clamp(-b.y, -32768, 32767)}, {0, 0}};
    burnish_motion_vector best = tried[0];
    int least = difference(m, column, row, best), cost = least;
    int differences[4] = {least, least, least, least};
    for (int k = 1; k < 4; k++) {
        differences[k] = least;
        if (tried[k].x == best.x && tried[k].y == best.y) continue;
        int d = differences[k] = difference(m, column, row, tried[k]);
        int c = d;
        if (k == 3) {
            // In flat places no motion fits by chance, so its difference counts a quarter more. But what moves gains more than
            // two levels by that: where a motion gains less, and does not fit well either, it is noise, of coding
            // above all.
            int between = still_difference(m, column, row, best), noise = least < 16 * 64 ? 8 * least : 16 * 8 * 64;
            d = between < d ? between : d;
            c = d + d / 4 - noise;
        }
        if (c < cost) cost = c, least = d, best = tried[k];
    }
    burnish_motion_cell cell = {best,
                                (uint16_t)burnish_clamp(least >> 6, 0, 65535),
                                (uint16_t)burnish_clamp(abs(f.x + b.x) + abs(f.y + b.y), 0, 65535),
                                {0, 0},
                                {tried[1], tried[2]},
                                {BURNISH_MOTION_SHARES, 0, 0, 0}};
    // Where both pictures are equal nothing moves, so that a repeated picture is repeated.
    if (best.x || best.y || least) {
        int64_t none = differences[3];
        cell.bend = bend(m, x, y, best, burnish_clamp((int)(512 - 512 * (int64_t)(least + 64) / (none + 64)), 0, 256));
        differences[0] = least;
        // Where nothing moves, motions fit noise. They count as if they fitted by eight levels less.
        for (int k = 1; k < 3 && !best.x && !best.y; k++)
            if (tried[k].x || tried[k].y) differences[k] += 8 * 64 * 64;
        share(cell.share, differences, m->preference);
    }
    m->cells[i] = cell;
}

void burnish_motion_middle_rows(const burnish_motion_middle *middle, int first, int last) {
    for (int row = first; row < last; row++)
        for (int column = 0; column < middle->columns; column++) decide(middle, column, row);
}

enum {
    /// Cells of a row that are smoothed at a time.
    SOME = 64,
};

void burnish_motion_smooth_rows(burnish_motion_cell *out, const burnish_motion_cell *cells, int columns, int rows,
                                int first, int last) {
    for (int row = first; row < last; row++) {
        for (int left = 0; left < columns; left += SOME) {
            const int rest = columns - left, count = rest < SOME ? rest : SOME;
            burnish_motion_vector lines[3][SOME + 6] = {0}, medians[SOME + 4];
            for (int j = 0; j < 3; j++) {
                const burnish_motion_cell *line = cells + burnish_clamp(row + j - 1, 0, rows - 1) * columns;
                for (int i = -1; i <= count; i++)
                    lines[j][i + 1] = line[burnish_clamp(left + i, 0, columns - 1)].vector;
            }
            for (int i = 0; i < count; i += 4)
                burnish_motion_medians(
                    medians + i, (const burnish_motion_vector *const[]){lines[0] + i, lines[1] + i, lines[2] + i});
            for (int i = 0; i < count; i++) {
                burnish_motion_cell *to = out + row * columns + left + i;
                *to = cells[row * columns + left + i];
                to->vector = medians[i];
            }
        }
    }
}
