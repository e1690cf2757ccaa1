// Each family's initialisers, one an instruction set; only dispatch.c calls them.
#pragma once

#include "CKernels.h"

void burnish_scale_init_scalar(burnish_scale_kernels *);
void burnish_scale_init_avx2(burnish_scale_kernels *);
