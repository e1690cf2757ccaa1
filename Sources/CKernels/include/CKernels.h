// SIMD kernels in C with one run-time dispatch table. A family is a header with a struct of typed function pointers,
// a scalar file, and a file for each instruction set with one function that puts its kernels into the struct.
// docs/design/kernels.md says how to add one.
#pragma once

#include "color.h"
#include "cpu.h"
#include "deinterlace.h"
#include "fusion.h"
#include "light.h"
#include "mask.h"
#include "network.h"
#include "motion.h"
#include "noise.h"
#include "scale.h"
#include "overlay.h"
#include "sharpen.h"

/// Every kernel, as chosen for one set of CPU features. A table is a value: tests hold several side by side.
typedef struct {
    uint32_t features;
    burnish_scale_kernels scale;
    burnish_network_kernels network;
    /// Like `network`, but these kernels may read `tile_weights`. For networks that have them.
    burnish_network_kernels tiled_network;
    burnish_motion_kernels motion;
    burnish_sharpen_kernels sharpen;
    burnish_overlay_kernels overlay;
    burnish_color_kernels color;
    burnish_deinterlace_kernels deinterlace;
    burnish_noise_kernels noise;
    burnish_fusion_kernels fusion;
} burnish_kernels;

/// Fills the table with the scalar references, then replaces what the given features allow. `features` must be a
/// subset of what `burnish_cpu_detect` found.
void burnish_kernels_init(burnish_kernels *table, uint32_t features);
