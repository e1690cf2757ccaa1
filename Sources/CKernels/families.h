// Each family's initialisers, one for each instruction set. Only dispatch.c calls them.
#pragma once

#include "CKernels.h"

void burnish_scale_init_scalar(burnish_scale_kernels *);
void burnish_scale_init_avx2(burnish_scale_kernels *);
void burnish_scale_init_avx512(burnish_scale_kernels *);
void burnish_scale_init_neon(burnish_scale_kernels *);

void burnish_network_init_scalar(burnish_network_kernels *);
void burnish_network_init_avx2(burnish_network_kernels *);
void burnish_network_init_avx512(burnish_network_kernels *);
/// Call it after `burnish_network_init_avx512`.
void burnish_network_init_amx(burnish_network_kernels *);
void burnish_network_init_neon(burnish_network_kernels *);

void burnish_motion_init_scalar(burnish_motion_kernels *);
void burnish_motion_init_avx2(burnish_motion_kernels *);

void burnish_sharpen_init_scalar(burnish_sharpen_kernels *);
void burnish_sharpen_init_avx2(burnish_sharpen_kernels *);
void burnish_sharpen_init_neon(burnish_sharpen_kernels *);

void burnish_color_init_scalar(burnish_color_kernels *);
void burnish_color_init_avx2(burnish_color_kernels *);

void burnish_deinterlace_init_scalar(burnish_deinterlace_kernels *);
void burnish_deinterlace_init_avx2(burnish_deinterlace_kernels *);

void burnish_noise_init_scalar(burnish_noise_kernels *);
void burnish_noise_init_avx2(burnish_noise_kernels *);

void burnish_fusion_init_scalar(burnish_fusion_kernels *);
void burnish_fusion_init_avx2(burnish_fusion_kernels *);
/// Call it after `burnish_fusion_init_avx2`, of which it leaves some.
void burnish_fusion_init_avx512(burnish_fusion_kernels *);
void burnish_fusion_init_neon(burnish_fusion_kernels *);

void burnish_overlay_init_scalar(burnish_overlay_kernels *);
void burnish_overlay_init_avx2(burnish_overlay_kernels *);
