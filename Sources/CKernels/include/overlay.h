#pragma once

#include <stdint.h>

/// Lays a row of light over samples: out[x] = light[x] + out[x] * rest[x] / 255, rounded, at most 255. `rest` is the part of a sample that
/// stays, of 255.
typedef void (*burnish_overlay_row_function)(uint8_t *out, const uint8_t *light, const uint8_t *rest, int width);

/// Mixes two values by a row of cover, of 255: out[x] = (low * (255 - cover[x]) + high * cover[x]) / 255, rounded. Vectorised by the
/// compiler, on every processor.
void burnish_overlay_mix(uint8_t *out, const uint8_t *cover, uint8_t low, uint8_t high, int width);
/// The means of squares of two by two samples.
void burnish_overlay_halve(uint8_t *out, const uint8_t *upper, const uint8_t *lower, int width);
/// Makes samples at least as large as those of another row.
void burnish_overlay_most(uint8_t *out, const uint8_t *other, int width);

typedef struct {
    burnish_overlay_row_function row;
} burnish_overlay_kernels;
