#pragma once

#include <stdint.h>

/// Lays a row of light over samples: out[x] = light[x] + out[x] * rest[x] / 255, rounded, at most 255. `rest` is the part of a sample that
/// stays, of 255.
typedef void (*burnish_overlay_row_function)(uint8_t *out, const uint8_t *light, const uint8_t *rest, int width);

typedef struct {
    burnish_overlay_row_function row;
} burnish_overlay_kernels;
