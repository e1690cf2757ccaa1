#include "motion_field.h"
#include "motion_median.h"

// Where a picture between two others lies in the pictures around those, and where it lies in the two by the motion beyond
// them alone.

static int16_t limited(int v) { return (int16_t)burnish_clamp(v, INT16_MIN, INT16_MAX); }
static burnish_motion_vector vector(int x, int y) { return (burnish_motion_vector){limited(x), limited(y)}; }
/// A share of a length, in 1/256.
static int part(int length, int share) { return (length * share + 128) >> 8; }

/// The cell that is moved by these in the pictures before and after.
static burnish_motion_cell join(burnish_motion_vector before, burnish_motion_vector after, int phase) {
    const int vx = after.x - before.x, vy = after.y - before.y;
    return (burnish_motion_cell){.vector = vector(vx, vy),
                                 .bend = vector(part(vx, phase) + before.x, part(vy, phase) + before.y),
                                 .share = {BURNISH_MOTION_SHARES}};
}

/// Where a cell lies in a picture of the pair, by the motion from that to the picture beyond, which goes on evenly. The motion
/// of the place itself is found by trying again from there.
static burnish_motion_vector follow(const burnish_motion_beyond *b, const burnish_motion_vector *field, int column,
                                    int row, int share) {
    int x = 0, y = 0;
    for (int n = 0; n < 4; n++) {
        const burnish_motion_vector v = burnish_motion_at(field, b->columns, b->rows, 256 * column + x, 256 * row + y);
        const int nx = part(v.x, share), ny = part(v.y, share);
        if (nx == x && ny == y) break;
        x = nx, y = ny;
    }
    return vector(x, y);
}

void burnish_motion_beyond_rows(const burnish_motion_beyond *b, int first, int last) {
    for (int row = first; row < last; row++) {
        for (int column = 0; column < b->columns; column++) {
            const int i = row * b->columns + column;
            const burnish_motion_cell *cell = b->cells + i;
            const int ax = part(cell->vector.x, b->phase) - cell->bend.x,
                      ay = part(cell->vector.y, b->phase) - cell->bend.y;
            const burnish_motion_vector near[2] = {vector(-ax, -ay), vector(cell->vector.x - ax, cell->vector.y - ay)};
            burnish_motion_vector far[2];
            for (int side = 0; side < 2; side++) {
                const burnish_motion_vector *field = b->beyond[side];
                far[side] = near[side];
                b->own[side][i] = near[side];
                if (!field) continue;
                const burnish_motion_vector on = burnish_motion_at(
                    field, b->columns, b->rows, 256 * column + near[side].x, 256 * row + near[side].y);
                far[side] = vector(near[side].x + on.x, near[side].y + on.y);
                b->own[side][i] = follow(b, field, column, row, side ? 256 - b->phase : b->phase);
            }
            b->outer[i] = join(far[0], far[1], b->phase);
        }
    }
}

/// Sorts a number into the first `count`.
static void insert(int16_t *sorted, int count, int16_t v) {
    for (; count > 0 && sorted[count - 1] > v; count--) sorted[count] = sorted[count - 1];
    sorted[count] = v;
}

/// The median of the neighbourhood of 3x3 cells, as far as it is there: x and y separately, of two the larger.
static burnish_motion_vector median(const burnish_motion_beyond *b, const burnish_motion_vector *field, int column,
                                    int row) {
    int16_t x[9], y[9];
    int count = 0;
    for (int j = row > 0 ? row - 1 : 0; j <= row + 1 && j < b->rows; j++) {
        for (int i = column > 0 ? column - 1 : 0; i <= column + 1 && i < b->columns; i++, count++) {
            insert(x, count, field[j * b->columns + i].x);
            insert(y, count, field[j * b->columns + i].y);
        }
    }
    return (burnish_motion_vector){x[count / 2], y[count / 2]};
}

void burnish_motion_beyond_smooth_rows(const burnish_motion_beyond *b, int first, int last) {
    for (int row = first; row < last; row++) {
        const int is_inside = row > 0 && row + 1 < b->rows;
        for (int column = 0; column < b->columns;) {
            // Where all neighbours of four cells are there, their medians are found together.
            const int count = is_inside && column > 0 && column + 4 < b->columns ? 4 : 1;
            burnish_motion_vector medians[2][4];
            for (int side = 0; side < 2; side++) {
                const burnish_motion_vector *at = b->own[side] + (row - 1) * b->columns + column - 1;
                if (count == 1) medians[side][0] = median(b, b->own[side], column, row);
                else
                    burnish_motion_medians(medians[side], (const burnish_motion_vector *const[]){at, at + b->columns,
                                                                                                 at + 2 * b->columns});
            }
            for (int i = 0; i < count; i++, column++)
                b->inner[row * b->columns + column] = join(medians[0][i], medians[1][i], b->phase);
        }
    }
}
