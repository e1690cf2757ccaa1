// C that only the kernels' checks and benchmarks use.
#pragma once

#include <stdint.h>

/// A loop that multiplies bytes as fast as one core can.
typedef struct {
    /// Does `iterations` times `multiplications` multiplications of bytes, with their additions, all in registers.
    void (*bytes)(int64_t iterations);
    int multiplications;
} burnish_peak_loop;

/// The fastest loop for these CPU features (`BURNISH_CPU_…` in CKernels' cpu.h).
burnish_peak_loop burnish_peak(uint32_t features);

/// One 3x3 layer in floating point, for tests to compare the integers with: out[y][x][outputs] from
/// in[height + 2][width + 2][inputs]; weights are [outputs][3][3][inputs]. `rectify` replaces what is negative by 0.
void burnish_network_float_layer(float *out, const float *in, int width, int height, int inputs, int outputs,
                                 const float *weights, const float *bias, int rectify);
