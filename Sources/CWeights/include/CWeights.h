// The bytes of the trained weights in Sources/EnhanceNetworks/Weights. In C, because the compiler takes a file in at once; as an array
// literal of Swift they would take minutes.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *_Nonnull bytes;
    size_t count;
} burnish_weights;

extern const burnish_weights burnish_neural_s, burnish_neural_m, burnish_neural_s_calls, burnish_neural_m_calls,
    burnish_quality, burnish_quality_calls, burnish_restore_s, burnish_restore_m, burnish_fusion;
