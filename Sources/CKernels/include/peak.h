// How fast this core can multiply bytes at all: what the networks' speed is measured against.
#pragma once

#include <stdint.h>

typedef struct {
    /// Does `iterations` times `multiplications` multiplications of bytes, with their additions, all in registers.
    void (*bytes)(int64_t iterations);
    int multiplications;
} burnish_peak_kernels;
