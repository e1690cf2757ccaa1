#include "cpu.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/// Which register states the operating system saves: XCR0.
static uint64_t enabled_states(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/// Tiles are 8 KiB of state in every thread that uses them, so Linux gives them only to a process that asks. All
/// threads of this process have them from then on.
static bool may_use_tiles(void) {
#if defined(__linux__)
    const long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

uint32_t burnish_cpu_detect(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t needed = bit_OSXSAVE | bit_AVX | bit_FMA | bit_POPCNT;
    if ((c & needed) != needed) return 0;
    const uint64_t states = enabled_states();
    const uint64_t ymm = 0x06, zmm = 0xe6;
    if ((states & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;

    uint32_t flags = 0;
    const uint32_t haswell = bit_AVX2 | bit_BMI | bit_BMI2;
    if ((b & haswell) == haswell) flags |= BURNISH_CPU_AVX2;
    const uint32_t skylake = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (flags && (states & zmm) == zmm && (b & skylake) == skylake && (c & bit_AVX512VNNI)) flags |= BURNISH_CPU_AVX512;
    const uint64_t tiles = 0x60000;
    const uint32_t amx_tile = 1u << 24, amx_int8 = 1u << 25, both = amx_tile | amx_int8;
    if (flags & BURNISH_CPU_AVX512 && (states & tiles) == tiles && (d & both) == both && may_use_tiles())
        flags |= BURNISH_CPU_AMX;
    return flags;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <asm/hwcap.h>

uint32_t burnish_cpu_detect(void) { return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? BURNISH_CPU_NEON : 0; }

#else

uint32_t burnish_cpu_detect(void) { return 0; }

#endif
