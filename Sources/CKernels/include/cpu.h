// CPU features that kernels are written for, and their detection. One flag stands for a whole generation of processors.
// A kernel may use every instruction that its flag stands for.
#pragma once

#include <stdint.h>

enum {
    /// AVX2, FMA and BMI (Haswell, Zen, and later).
    BURNISH_CPU_AVX2 = 1 << 0,
    /// AVX-512 F, BW, DQ, VL and VNNI (Cascade Lake, Ice Lake, Zen 4, and later). Implies AVX2.
    BURNISH_CPU_AVX512 = 1 << 1,
    /// Arm's Advanced SIMD with the dot-product instructions.
    BURNISH_CPU_NEON = 1 << 2,
    /// AMX's tiles with 8-bit products (Sapphire Rapids and later). Implies AVX-512.
    BURNISH_CPU_AMX = 1 << 3,
};

/// The features that this processor and this operating system support. Reads CPUID. Where there is AMX, asks Linux to
/// let this process use it. Call it once.
uint32_t burnish_cpu_detect(void);
