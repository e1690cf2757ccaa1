// SIMD kernels and their one dispatch table.
#pragma once

#include <stdint.h>
#include <stddef.h>
