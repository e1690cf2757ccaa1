// The constants of the fusion network's arithmetic.
#pragma once

#include "fusion.h"

/// 16 / 49 in 1/32768.
#define FUSION_DETAIL 10700
/// Numbers of the last layer are in 1/256 and stand for powers of e; these are powers of 2.
#define FUSION_SCALE (1.44269504f / 256)
/// The least power.
#define FUSION_LEAST (-30.f)
/// 2 ^ x for 0 <= x < 1.
#define FUSION_POWER_1 0.693147f
#define FUSION_POWER_2 0.240227f
#define FUSION_POWER_3 0.0555041f
#define FUSION_POWER_4 0.00967f
