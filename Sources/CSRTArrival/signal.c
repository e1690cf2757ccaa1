#define _GNU_SOURCE
#include "tap.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct burnish_srt_signal {
    _Atomic uint32_t references;
    /// The futex.
    _Atomic uint32_t count;
    _Atomic uint32_t waiters;
};

burnish_srt_signal *burnish_srt_signal_create(void) {
    burnish_srt_signal *signal = calloc(1, sizeof *signal);
    if (!signal) abort();
    atomic_init(&signal->references, 1);
    return signal;
}

burnish_srt_signal *burnish_srt_signal_retain(burnish_srt_signal *signal) {
    atomic_fetch_add(&signal->references, 1);
    return signal;
}

void burnish_srt_signal_release(burnish_srt_signal *signal) {
    if (atomic_fetch_sub(&signal->references, 1) == 1) free(signal);
}

uint32_t burnish_srt_signal_count(const burnish_srt_signal *signal) { return atomic_load(&signal->count); }

void burnish_srt_signal_raise(burnish_srt_signal *signal) {
    atomic_fetch_add(&signal->count, 1);
    // Sequentially consistent on both sides: either we see the waiter, or its FUTEX_WAIT sees the new count.
    if (atomic_load(&signal->waiters) > 0)
        syscall(SYS_futex, &signal->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void burnish_srt_signal_wait(burnish_srt_signal *signal, uint32_t seen, int64_t deadline_ns) {
    struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    atomic_fetch_add(&signal->waiters, 1);
    syscall(SYS_futex, &signal->count, FUTEX_WAIT_BITSET_PRIVATE, seen, &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&signal->waiters, 1);
}
