// What the checks of tools/check/kernels share.
#pragma once

#include "CKernels.h"

extern int failures, comparisons;

uint32_t random32(void);
/// A random number from `low` to `high`.
int between(int low, int high);

/// Compares the kernels of the fusion network: each of them, then whole pictures.
void check_fusion(const burnish_fusion_kernels *plain, const burnish_fusion_kernels *simd);
