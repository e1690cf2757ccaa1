#define _GNU_SOURCE
#include "CSRTArrival.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint32_t arrivals;
static _Atomic uint32_t waiters;

/// Whether this thread's last call brought a datagram, which it has therefore dealt with when it calls again.
static _Thread_local bool brought_one;

ssize_t __real_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);

ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags) {
    if (brought_one) burnish_srt_arrivals_wake();
    ssize_t count = __real_recvmsg(socket, message, flags);
    brought_one = count > 0;
    return count;
}

uint32_t burnish_srt_arrivals(void) { return atomic_load(&arrivals); }

void burnish_srt_arrivals_wake(void) {
    atomic_fetch_add(&arrivals, 1);
    // Sequentially consistent on both sides: either we see the waiter, or its FUTEX_WAIT sees the new count.
    if (atomic_load(&waiters) > 0) syscall(SYS_futex, &arrivals, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void burnish_srt_arrivals_wait(uint32_t seen, int64_t deadline_ns) {
    struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    atomic_fetch_add(&waiters, 1);
    syscall(SYS_futex, &arrivals, FUTEX_WAIT_BITSET_PRIVATE, seen, &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&waiters, 1);
}
