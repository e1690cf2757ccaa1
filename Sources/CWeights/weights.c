#include "CWeights.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t neural_s[] = {
#embed "../EnhanceNetworks/Weights/neural-s.bnw"
};
static const uint8_t neural_m[] = {
#embed "../EnhanceNetworks/Weights/neural-m.bnw"
};
static const uint8_t neural_s_calls[] = {
#embed "../EnhanceNetworks/Weights/neural-s-calls.bnw"
};
static const uint8_t neural_m_calls[] = {
#embed "../EnhanceNetworks/Weights/neural-m-calls.bnw"
};
static const uint8_t quality[] = {
#embed "../EnhanceNetworks/Weights/quality.bnw"
};
static const uint8_t quality_calls[] = {
#embed "../EnhanceNetworks/Weights/quality-calls.bnw"
};
static const uint8_t restore_s[] = {
#embed "../EnhanceNetworks/Weights/restore-s.bnw"
};
static const uint8_t restore_m[] = {
#embed "../EnhanceNetworks/Weights/restore-m.bnw"
};
static const uint8_t fusion[] = {
#embed "../EnhanceNetworks/Weights/fusion.bnf"
};

const burnish_weights burnish_neural_s = {neural_s, sizeof neural_s};
const burnish_weights burnish_neural_m = {neural_m, sizeof neural_m};
const burnish_weights burnish_neural_s_calls = {neural_s_calls, sizeof neural_s_calls};
const burnish_weights burnish_neural_m_calls = {neural_m_calls, sizeof neural_m_calls};
const burnish_weights burnish_quality = {quality, sizeof quality};
const burnish_weights burnish_quality_calls = {quality_calls, sizeof quality_calls};
const burnish_weights burnish_restore_s = {restore_s, sizeof restore_s};
const burnish_weights burnish_restore_m = {restore_m, sizeof restore_m};
const burnish_weights burnish_fusion = {fusion, sizeof fusion};
