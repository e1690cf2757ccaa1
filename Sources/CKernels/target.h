// Instruction sets by function attribute, so that no file needs compiler flags of its own and a package that depends on
// this one can be resolved by version. Include it after the intrinsics' headers. End each block with
// BURNISH_TARGET_END.
#pragma once

#define BURNISH_PRAGMA(text) _Pragma(#text)
#define BURNISH_TARGET_AVX2 \
    BURNISH_PRAGMA(clang attribute push(__attribute__((target("avx2,popcnt,fma,bmi,bmi2"))), apply_to = function))
#define BURNISH_TARGET_AVX512 \
    BURNISH_PRAGMA(clang attribute push( \
        __attribute__((target("avx2,popcnt,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
        apply_to = function))
#define BURNISH_TARGET_AMX \
    BURNISH_PRAGMA(clang attribute push( \
        __attribute__(( \
            target("avx2,popcnt,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8"))), \
        apply_to = function))
#define BURNISH_TARGET_NEON \
    BURNISH_PRAGMA(clang attribute push(__attribute__((target("dotprod"))), apply_to = function))
#define BURNISH_TARGET_END BURNISH_PRAGMA(clang attribute pop)
