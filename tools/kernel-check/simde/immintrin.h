// Stands in for the compiler's header where AVX-512 kernels are compiled for a machine without it (tools/check-kernels):
// SIMDe's intrinsics, and the few that SIMDe 0.7.4 lacks.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

typedef uint32_t __mmask32;

typedef union {
    simde__m512i all;
    simde__m128i quarter[4];
    int32_t lane[16];
} burnish_parts;

static inline simde__m512i burnish_srai_epi32(simde__m512i v, int count) {
    burnish_parts p = {.all = v};
    for (int i = 0; i < 16; i++) p.lane[i] >>= count;
    return p.all;
}
static inline simde__m512i _mm512_srav_epi32(simde__m512i v, simde__m512i counts) {
    burnish_parts p = {.all = v}, c = {.all = counts};
    for (int i = 0; i < 16; i++) p.lane[i] = (uint32_t)c.lane[i] < 32 ? p.lane[i] >> c.lane[i] : p.lane[i] >> 31;
    return p.all;
}
#define _mm512_srai_epi32(v, count) burnish_srai_epi32(v, count)

static inline simde__m512i _mm512_cvtepu8_epi16(simde__m256i v) {
    uint8_t bytes[32];
    simde_mm256_storeu_si256(bytes, v);
    uint16_t words[32];
    for (int i = 0; i < 32; i++) words[i] = bytes[i];
    return simde_mm512_loadu_si512(words);
}

#define _mm512_bsrli_epi128(v, count)                                                                      \
    __extension__({                                                                                        \
        burnish_parts p = {.all = (v)};                                                                    \
        for (int i = 0; i < 4; i++) p.quarter[i] = simde_mm_bsrli_si128(p.quarter[i], count);              \
        p.all;                                                                                             \
    })

static inline void _mm256_mask_storeu_epi8(void *to, __mmask32 kept, simde__m256i v) {
    uint8_t bytes[32];
    simde_mm256_storeu_si256(bytes, v);
    for (int i = 0; i < 32; i++)
        if (kept >> i & 1) ((uint8_t *)to)[i] = bytes[i];
}
