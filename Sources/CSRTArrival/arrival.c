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
static const uint32_t flag_first = 1u << 31;
static const uint32_t flag_ordered = 1u << 29;
static const uint32_t flag_retransmitted = 1u << 26;

static uint64_t key_of(uint32_t socket, uint32_t sequence) { return (uint64_t)socket << 32 | 1u << 31 | sequence; }

/// A packet may be in any of four places, far from each other: sockets whose numbers meet in one of them do not push out
/// what the others still need.
enum { places = 4 };
static unsigned slot_of(uint32_t socket, uint32_t sequence, unsigned place) {
    return (sequence + socket * 2654435761u + place * (kept_packets / places)) % kept_packets;
}

static void keep_packet(uint32_t socket, uint32_t sequence, uint32_t flags, int64_t arrival_ns) {
    uint64_t key = key_of(socket, sequence);
    unsigned slot = slot_of(socket, sequence, 0);
    for (unsigned place = 0; place < places; place++) {
        unsigned other = slot_of(socket, sequence, place);
        if (atomic_load_explicit(&packets[other].key, memory_order_relaxed) == key) return;  // came before
        // The oldest gives way.
        if (atomic_load_explicit(&packets[other].arrival_ns, memory_order_relaxed)
            < atomic_load_explicit(&packets[slot].arrival_ns, memory_order_relaxed))
            slot = other;
    }
    atomic_store(&packets[slot].key, 0);
    atomic_store(&packets[slot].arrival_ns, arrival_ns);
    atomic_store(&packets[slot].flags, flags);
    atomic_store(&packets[slot].key, key);
}

bool burnish_srt_packet_find(int32_t socket, int32_t sequence, burnish_srt_packet *packet) {
    uint64_t key = key_of((uint32_t)socket, (uint32_t)sequence);
    unsigned slot = 0, place = 0;
    while (place < places && atomic_load(&packets[slot = slot_of((uint32_t)socket, (uint32_t)sequence, place)].key) != key)
        place++;
    if (place == places) return false;
    packet->arrival_ns = atomic_load(&packets[slot].arrival_ns);
    uint32_t flags = atomic_load(&packets[slot].flags);
    packet->ordered = (flags & flag_ordered) != 0;
    packet->retransmitted = (flags & flag_retransmitted) != 0;
    packet->first = (flags & flag_first) != 0;
    return atomic_load(&packets[slot].key) == key;
}

int32_t burnish_srt_message_packets(int32_t socket, int32_t last) {
    int32_t count = 1;
    burnish_srt_packet packet;
    while (count < kept_packets) {
        int32_t sequence = (int32_t)(((uint32_t)last - (uint32_t)(count - 1)) & 0x7fffffff);
        if (!burnish_srt_packet_find(socket, sequence, &packet) || packet.first) break;
        count++;
    }
    return count;
}

// MARK: Handshakes

static _Thread_local int32_t window_of_caller = -1;

/// A small memory of numbers by socket: the last writer of a slot wins.
enum { kept_sockets = 256 };
typedef _Atomic uint64_t socket_memory[kept_sockets];  // socket << 32 | number + 1
static socket_memory answers, wishes;

static void keep_number(socket_memory memory, uint32_t socket, uint32_t number) {
    atomic_store(&memory[socket % kept_sockets], (uint64_t)socket << 32 | (number + 1));
}

static int32_t number_kept(socket_memory memory, uint32_t socket) {
    uint64_t entry = atomic_load(&memory[socket % kept_sockets]);
    return entry >> 32 == socket ? (int32_t)(entry & 0xffffffff) - 1 : -1;
}

void burnish_srt_want_source_times(int32_t socket, int32_t window_ms) {
    keep_number(wishes, (uint32_t)socket, (uint32_t)window_ms);
}

int32_t burnish_srt_window_wanted(int32_t socket) { return number_kept(wishes, (uint32_t)socket); }

int32_t burnish_srt_window_asked_by_caller(void) { return window_of_caller; }

int32_t burnish_srt_window_asked_by_listener(int32_t socket) { return number_kept(answers, (uint32_t)socket); }

// Handshake packets (draft-sharabayko-srt, sections 3.2.1 and 3.2.1.1): 12 words, the seventh of which is the sender's
// socket, then blocks of type, length and contents. Types 1 and 2 are the request and the response of SRT's own block:
// version, flags, and the delay of the writer as receiver (upper half) and as sender (lower half).
enum { fixed_part = 48, request_word = 20, socket_word = 24, type_request = 1, type_response = 2 };
/// A refusal's request type is its reason plus this.
enum { first_refusal = 1000 };
/// "I send with source times" and "I receive by them". A listener's libsrt takes source times from its application only
/// when its caller says both.
static const uint32_t flags_by_time = 1u << 0 | 1u << 1;
/// "I give up what is late": the sender may then drop it too. libsrt settles this before its listen callback.
static const uint32_t flag_drops_late = 1u << 3;

static uint32_t word_at(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, 4);
    return ntohl(word);
}

static void set_word_at(uint8_t *bytes, uint32_t word) {
    word = htonl(word);
    memcpy(bytes, &word, 4);
}

/// Where SRT's own block begins (after its type and length), or 0.
static size_t find_block(const uint8_t *body, size_t count, unsigned *type) {
    for (size_t at = fixed_part; at + 4 <= count;) {
        uint32_t head = word_at(body + at);
        size_t length = 4u * (head & 0xffff);
        at += 4;
        if (length > count - at) return 0;
        *type = head >> 16;
        if ((*type == type_request || *type == type_response) && length >= 12) return at;
        at += length;
    }
    return 0;
}

static void note_handshake(uint32_t socket, const uint8_t *body, size_t count) {
    window_of_caller = -1;
    unsigned type;
    size_t block = find_block(body, count, &type);
    if (block == 0) return;
    uint32_t asked = word_at(body + block + 8) & 0xffff;
    if (type == type_request) window_of_caller = (int32_t)asked;
    // A request that is meant for a socket comes from the other side of a rendezvous; a listener's callers have none yet.
    if (type == type_response || socket != 0) keep_number(answers, socket, asked);
}

/// Whether an outgoing handshake is a refusal for now only.
static bool is_no_answer(const uint8_t *body, size_t count) {
    return count >= fixed_part && word_at(body + request_word) == first_refusal + burnish_srt_no_answer_yet;
}

/// Says in an outgoing handshake that we want source times and nothing dropped, when its socket wants that.
static void complete_handshake(uint8_t *body, size_t count) {
    if (count < fixed_part) return;
    int32_t window = number_kept(wishes, word_at(body + socket_word));
    if (window < 0) return;
    unsigned type;
    size_t block = find_block(body, count, &type);
    if (block == 0) return;
    set_word_at(body + block + 4, (word_at(body + block + 4) | flags_by_time) & ~flag_drops_late);
    set_word_at(body + block + 8, (uint32_t)window << 16 | (word_at(body + block + 8) & 0xffff));
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
        note_handshake(socket, message->msg_iov[1].iov_base, count - 16);
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

ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags) {
    const struct iovec *parts = message->msg_iov;
    uint8_t body[1500];
    if (message->msg_iovlen != 2 || parts[0].iov_len != 16 || parts[1].iov_len > sizeof body ||
        word_at(parts[0].iov_base) >> 16 != 0x8000)
        return __real_sendmsg(socket, message, flags);
    // libsrt keeps its packet: ours is a copy.
    memcpy(body, parts[1].iov_base, parts[1].iov_len);
    if (is_no_answer(body, parts[1].iov_len)) return (ssize_t)(parts[0].iov_len + parts[1].iov_len);
    complete_handshake(body, parts[1].iov_len);
    struct iovec completed[2] = {parts[0], {body, parts[1].iov_len}};
    struct msghdr copy = *message;
    copy.msg_iov = completed;
    return __real_sendmsg(socket, &copy, flags);
}
