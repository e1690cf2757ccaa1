#define _GNU_SOURCE
#include "CSRTArrival.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// MARK: The counter

static _Atomic uint32_t arrivals;
static _Atomic uint32_t waiters;

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

// MARK: Data packets

/// As many as libsrt's receive buffer holds by default.
enum { kept_packets = 8192 };

/// Several of libsrt's threads write (one a local port), readers read: the key is zero while the rest changes.
static struct {
    _Atomic uint64_t key;
    _Atomic int64_t arrival_ns;
    _Atomic uint32_t flags;
} packets[kept_packets];

// Flags in the second word of a data packet's header (SRT protocol, draft-sharabayko-srt, section 3.1).
static const uint32_t flag_ordered = 1u << 29;
static const uint32_t flag_retransmitted = 1u << 26;

static uint64_t key_of(uint32_t socket, uint32_t sequence) { return (uint64_t)socket << 32 | 1u << 31 | sequence; }

static unsigned slot_of(uint32_t socket, uint32_t sequence) { return (sequence + socket * 2654435761u) % kept_packets; }

static void keep_packet(uint32_t socket, uint32_t sequence, uint32_t flags, int64_t arrival_ns) {
    unsigned slot = slot_of(socket, sequence);
    uint64_t key = key_of(socket, sequence);
    if (atomic_load_explicit(&packets[slot].key, memory_order_relaxed) == key) return;  // came before
    atomic_store(&packets[slot].key, 0);
    atomic_store(&packets[slot].arrival_ns, arrival_ns);
    atomic_store(&packets[slot].flags, flags);
    atomic_store(&packets[slot].key, key);
}

bool burnish_srt_packet_find(int32_t socket, int32_t sequence, burnish_srt_packet *packet) {
    unsigned slot = slot_of((uint32_t)socket, (uint32_t)sequence);
    uint64_t key = key_of((uint32_t)socket, (uint32_t)sequence);
    if (atomic_load(&packets[slot].key) != key) return false;
    packet->arrival_ns = atomic_load(&packets[slot].arrival_ns);
    uint32_t flags = atomic_load(&packets[slot].flags);
    packet->ordered = (flags & flag_ordered) != 0;
    packet->retransmitted = (flags & flag_retransmitted) != 0;
    return atomic_load(&packets[slot].key) == key;
}

// MARK: Handshakes

static _Thread_local int32_t window_of_caller = -1;

int32_t burnish_srt_window_asked_by_caller(void) { return window_of_caller; }

/// Reads the window from a handshake's extensions (sections 3.2.1 and 3.2.1.1): 12 words of handshake, then blocks of
/// type, length and contents. Type 1 is the request of SRT's own block, whose third word has the writer's delay as
/// receiver in its upper half and, in its lower, the one that it asks of the other side.
static void note_handshake(const uint8_t *body, size_t count) {
    window_of_caller = -1;
    for (size_t at = 48; at + 4 <= count;) {
        uint16_t block[2];
        memcpy(block, body + at, 4);
        unsigned type = ntohs(block[0]), length = 4u * ntohs(block[1]);
        at += 4;
        if (length > count - at) return;
        if (type == 1 && length >= 12) {
            uint32_t word;
            memcpy(&word, body + at + 8, 4);
            window_of_caller = (int32_t)(ntohl(word) & 0xffff);
        }
        at += length;
    }
}

// MARK: The calls that the linker hands to us

/// Whether this thread's last call brought a datagram, which it has therefore dealt with when it calls again.
static _Thread_local bool brought_one;
/// The socket whose datagrams this thread has asked the kernel to stamp.
static _Thread_local int stamped = -1;

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// The kernel's stamp of a datagram, moved from the wall clock to the monotonic one; the present time without one.
static int64_t arrival_of(struct msghdr *message) {
    int64_t now = nanoseconds(CLOCK_MONOTONIC);
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
        int64_t age = nanoseconds(CLOCK_REALTIME) - ((int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec);
        // The wall clock may have been set in between.
        if (age >= 0 && age < 1000000000) return now - age;
    }
    return now;
}

static void note(struct msghdr *message, size_t count) {
    // libsrt reads into a header of four words and a body.
    if (message->msg_iovlen != 2 || message->msg_iov[0].iov_len != 16 || count < 16) return;
    uint32_t header[4];
    memcpy(header, message->msg_iov[0].iov_base, 16);
    uint32_t first = ntohl(header[0]), socket = ntohl(header[3]);
    if (first >> 31 == 0) {
        keep_packet(socket, first, ntohl(header[1]), arrival_of(message));
    } else if (first >> 16 == 0x8000) {
        note_handshake(message->msg_iov[1].iov_base, count - 16);
    }
}

ssize_t __real_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);

ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags) {
    if (brought_one) burnish_srt_arrivals_wake();
    brought_one = false;
    if (message->msg_controllen != 0) return __real_recvmsg(socket, message, flags);
    if (stamped != socket) {
        int on = 1;
        setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        stamped = socket;
    }
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct timespec))];
    message->msg_control = control;
    message->msg_controllen = sizeof control;
    ssize_t count = __real_recvmsg(socket, message, flags);
    if (count > 0) {
        brought_one = true;
        note(message, (size_t)count);
    }
    message->msg_control = NULL;
    message->msg_controllen = 0;
    return count;
}
