// Stands in for the compiler's header where AVX-512 kernels are compiled for a machine without it (tools/check/kernels):
// SIMDe's intrinsics, and the few that SIMDe 0.7.4 lacks.
#pragma once

#include <assert.h>
#include <string.h>

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

typedef uint32_t __mmask32;
#ifndef _MM_FROUND_NO_EXC
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#endif

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

#define _mm512_i32gather_epi32(places, base, scale) burnish_gather(places, base, scale)
static inline simde__m512i burnish_gather(simde__m512i places, const void *base, int scale) {
    burnish_parts p = {.all = places};
    for (int i = 0; i < 16; i++) memcpy(&p.lane[i], (const uint8_t *)base + (long)p.lane[i] * scale, 4);
    return p.all;
}
#define _mm512_i32scatter_epi32(base, places, v, scale) burnish_scatter(base, places, v, scale)
static inline void burnish_scatter(void *base, simde__m512i places, simde__m512i v, int scale) {
    burnish_parts p = {.all = places}, from = {.all = v};
    for (int i = 0; i < 16; i++) memcpy((uint8_t *)base + (long)p.lane[i] * scale, &from.lane[i], 4);
}

static inline simde__m512i _mm512_cvtepu8_epi16(simde__m256i v) {
    uint8_t bytes[32];
    simde_mm256_storeu_si256(bytes, v);
    uint16_t words[32];
    for (int i = 0; i < 32; i++) words[i] = bytes[i];
    return simde_mm512_loadu_si512(words);
}

/// Lanes as single-precision numbers.
typedef union {
    simde__m512 all;
    float lane[16];
} burnish_floats;

static inline simde__m512i _mm512_cvtepu8_epi32(simde__m128i v) {
    uint8_t bytes[16];
    simde_mm_storeu_si128(bytes, v);
    burnish_parts p;
    for (int i = 0; i < 16; i++) p.lane[i] = bytes[i];
    return p.all;
}
static inline simde__m512i _mm512_cvtepi16_epi32(simde__m256i v) {
    int16_t words[16];
    simde_mm256_storeu_si256(words, v);
    burnish_parts p;
    for (int i = 0; i < 16; i++) p.lane[i] = words[i];
    return p.all;
}
static inline simde__m512 _mm512_cvtepi32_ps(simde__m512i v) {
    burnish_parts p = {.all = v};
    burnish_floats f;
    for (int i = 0; i < 16; i++) f.lane[i] = (float)p.lane[i];
    return f.all;
}
/// For numbers that fit 32 bits.
static inline simde__m512i _mm512_cvttps_epi32(simde__m512 v) {
    burnish_floats f = {.all = v};
    burnish_parts p;
    for (int i = 0; i < 16; i++) p.lane[i] = (int32_t)f.lane[i];
    return p.all;
}
static inline simde__m128i _mm512_cvtusepi32_epi8(simde__m512i v) {
    burnish_parts p = {.all = v};
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++) bytes[i] = (uint32_t)p.lane[i] < 255 ? (uint8_t)p.lane[i] : 255;
    return simde_mm_loadu_si128(bytes);
}

static inline __mmask32 _mm512_cmpgt_epu16_mask(simde__m512i a, simde__m512i b) {
    uint16_t p[32], q[32];
    simde_mm512_storeu_si512(p, a);
    simde_mm512_storeu_si512(q, b);
    __mmask32 mask = 0;
    for (int i = 0; i < 32; i++) mask |= (__mmask32)(p[i] > q[i]) << i;
    return mask;
}

#define _mm512_bsrli_epi128(v, count) \
    __extension__({ \
        burnish_parts p = {.all = (v)}; \
        for (int i = 0; i < 4; i++) p.quarter[i] = simde_mm_bsrli_si128(p.quarter[i], count); \
        p.all; \
    })

static inline void _mm256_mask_storeu_epi8(void *to, __mmask32 kept, simde__m256i v) {
    uint8_t bytes[32];
    simde_mm256_storeu_si256(bytes, v);
    for (int i = 0; i < 32; i++)
        if (kept >> i & 1) ((uint8_t *)to)[i] = bytes[i];
}

// AMX's tiles, as the manual describes them, with its faults as assertions.
typedef struct {
    int rows, bytes;
    uint8_t data[16][64];
} burnish_tile;
static burnish_tile burnish_tiles[8];
static int burnish_tiles_configured;

static inline void _tile_loadconfig(const void *config) {
    const uint8_t *c = config;
    assert(c[0] == 1 && c[1] == 0);
    memset(burnish_tiles, 0, sizeof burnish_tiles);
    for (int t = 0; t < 8; t++) {
        burnish_tiles[t].bytes = c[16 + 2 * t] | c[17 + 2 * t] << 8;
        burnish_tiles[t].rows = c[48 + t];
        assert(burnish_tiles[t].bytes <= 64 && burnish_tiles[t].rows <= 16);
    }
    burnish_tiles_configured = 1;
}
static inline void _tile_zero(int tile) { memset(burnish_tiles[tile].data, 0, sizeof burnish_tiles[tile].data); }
static inline void _tile_release(void) { burnish_tiles_configured = 0; }
static inline void _tile_loadd(int tile, const void *base, long stride) {
    burnish_tile *t = &burnish_tiles[tile];
    assert(burnish_tiles_configured && t->rows && t->bytes);
    memset(t->data, 0, sizeof t->data);
    for (int r = 0; r < t->rows; r++) memcpy(t->data[r], (const uint8_t *)base + r * stride, (size_t)t->bytes);
}
static inline void _tile_stored(int tile, void *base, long stride) {
    const burnish_tile *t = &burnish_tiles[tile];
    assert(burnish_tiles_configured && t->rows && t->bytes);
    for (int r = 0; r < t->rows; r++) memcpy((uint8_t *)base + r * stride, t->data[r], (size_t)t->bytes);
}
/// Signed bytes of `a` by unsigned ones of `b`.
static inline void _tile_dpbsud(int to, int a, int b) {
    burnish_tile *c = &burnish_tiles[to];
    const burnish_tile *x = &burnish_tiles[a], *y = &burnish_tiles[b];
    assert(burnish_tiles_configured && c->rows == x->rows && c->bytes == y->bytes && x->bytes == 4 * y->rows);
    for (int m = 0; m < c->rows; m++)
        for (int n = 0; n < c->bytes / 4; n++) {
            int32_t sum;
            memcpy(&sum, &c->data[m][4 * n], 4);
            for (int k = 0; k < y->rows; k++)
                for (int i = 0; i < 4; i++) sum += (int8_t)x->data[m][4 * k + i] * y->data[k][4 * n + i];
            memcpy(&c->data[m][4 * n], &sum, 4);
        }
}
