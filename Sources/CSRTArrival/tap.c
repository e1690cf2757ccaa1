#define _GNU_SOURCE
#include "tap.h"

#include <netinet/in.h>
#include <pthread.h>
#include <srt/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// MARK: Versions

enum { first_known_version = SRT_MAKE_VERSION_VALUE(1, 5, 0), last_known_version = SRT_MAKE_VERSION_VALUE(1, 5, 4) };

_Static_assert(
    SRT_VERSION_VALUE >= first_known_version && SRT_VERSION_VALUE <= last_known_version,
    "The calls of this libsrt are not known: compare CChannel::sendto and CChannel::recvfrom (srtcore/channel.cpp) with"
    " calls.c, then move the bounds");

bool burnish_srt_knows_version(uint32_t version) {
    return version >= first_known_version && version <= last_known_version;
}

// MARK: The registry

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static burnish_srt_tap *attached;
static _Atomic uint32_t generation = 1;

uint32_t tap_generation(void) { return atomic_load(&generation); }

burnish_srt_tap *burnish_srt_tap_create(burnish_srt_signal *signal) {
    // Not calloc, which may write zeros to all of it: only pages that packets are kept in shall take memory.
    burnish_srt_tap *tap = mmap(NULL, sizeof *tap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tap == MAP_FAILED) abort();
    atomic_init(&tap->references, 1);
    tap->signal = signal ? burnish_srt_signal_retain(signal) : NULL;
    return tap;
}

void tap_release(burnish_srt_tap *tap) {
    if (atomic_fetch_sub(&tap->references, 1) != 1) return;
    if (tap->signal) burnish_srt_signal_release(tap->signal);
    for (unsigned i = 0; i < kept_sockets; i++) {
        if (tap->sockets[i].signal) burnish_srt_signal_release(tap->sockets[i].signal);
    }
    if (tap->gate) burnish_srt_gate_release(tap->gate);
    munmap(tap, sizeof *tap);
}

void burnish_srt_tap_attach(burnish_srt_tap *tap, const struct sockaddr *address, socklen_t length) {
    pthread_mutex_lock(&lock);
    memcpy(&tap->address, address, length < sizeof tap->address ? length : sizeof tap->address);
    tap->next = attached;
    attached = tap;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&generation, 1);
}

void burnish_srt_tap_retire(burnish_srt_tap *tap) {
    atomic_store(&tap->retired, true);
    pthread_mutex_lock(&lock);
    for (burnish_srt_tap **link = &attached; *link; link = &(*link)->next) {
        if (*link != tap) continue;
        *link = tap->next;
        break;
    }
    pthread_mutex_unlock(&lock);
    tap_release(tap);
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) return false;
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *one = (const void *)a, *other = (const void *)b;
        return one->sin_port == other->sin_port && one->sin_addr.s_addr == other->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *one = (const void *)a, *other = (const void *)b;
    return a->ss_family == AF_INET6 && one->sin6_port == other->sin6_port &&
           memcmp(&one->sin6_addr, &other->sin6_addr, sizeof one->sin6_addr) == 0;
}

burnish_srt_tap *tap_of(int descriptor, bool as_receiver) {
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    int type = 0;
    socklen_t type_length = sizeof type;
    // A TCP server may have the same port.
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_length) != 0 || type != SOCK_DGRAM) return NULL;
    if (getsockname(descriptor, (struct sockaddr *)&own, &length) != 0) return NULL;
    pthread_mutex_lock(&lock);
    burnish_srt_tap *tap = attached;
    while (tap && !(is_same_address(&tap->address, &own) && !(as_receiver && tap->has_receiver))) tap = tap->next;
    if (tap) {
        if (as_receiver) tap->has_receiver = true;
        atomic_fetch_add(&tap->references, 1);
    }
    pthread_mutex_unlock(&lock);
    return tap;
}

static uint16_t port_of(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
}

/// An IPv4 address as a socket for both families knows it (RFC 4291, 2.5.5.2).
static struct sockaddr_in6 mapped(const struct sockaddr_in *address) {
    struct sockaddr_in6 result = {.sin6_family = AF_INET6, .sin6_port = address->sin_port};
    result.sin6_addr.s6_addr[10] = result.sin6_addr.s6_addr[11] = 0xff;
    memcpy(result.sin6_addr.s6_addr + 12, &address->sin_addr, sizeof address->sin_addr);
    return result;
}

bool burnish_srt_send_from(uint16_t port, const void *packet, size_t count, const struct sockaddr *to,
                           socklen_t length) {
    bool sent = false;
    // Under the lock: the socket stays open while its tap is attached.
    pthread_mutex_lock(&lock);
    for (burnish_srt_tap *tap = attached; tap && !sent; tap = tap->next) {
        int descriptor = atomic_load(&tap->descriptor) - 1;
        if (descriptor < 0 || port_of(&tap->address) != port) continue;
        struct sockaddr_in6 copy;
        if (tap->address.ss_family == AF_INET6 && to->sa_family == AF_INET) {
            copy = mapped((const struct sockaddr_in *)(const void *)to);
            to = (const struct sockaddr *)&copy;
            length = sizeof copy;
        }
        sent = sendto(descriptor, packet, count, MSG_DONTWAIT | MSG_NOSIGNAL, to, length) == (ssize_t)count;
    }
    pthread_mutex_unlock(&lock);
    return sent;
}

void burnish_srt_tap_break(burnish_srt_tap *tap, burnish_srt_fault fault) { atomic_store(&tap->fault, (int)fault); }

// MARK: SRT sockets

struct socket_memory *tap_memory(burnish_srt_tap *tap, uint32_t socket) {
    for (unsigned i = 0; i < kept_sockets; i++) {
        if ((uint32_t)atomic_load_explicit(&tap->numbers[i], memory_order_acquire) == socket && socket != 0)
            return &tap->sockets[i];
    }
    return NULL;
}

/// Where the next socket's memory may be: the oldest one that is not pinned; -1 when all are.
static int free_place(burnish_srt_tap *tap) {
    for (unsigned tries = 0; tries < kept_sockets; tries++) {
        unsigned place = atomic_fetch_add(&tap->opened, 1) % kept_sockets;
        if (atomic_load(&tap->numbers[place]) == 0 || !atomic_load(&tap->sockets[place].pinned)) return (int)place;
    }
    return -1;
}

static void set_signal(struct socket_memory *memory, burnish_srt_signal *signal) {
    if (memory->signal == signal) return;
    if (memory->signal) burnish_srt_signal_release(memory->signal);
    memory->signal = signal ? burnish_srt_signal_retain(signal) : NULL;
}

bool burnish_srt_tap_open(burnish_srt_tap *tap, int32_t socket, int32_t window_ms, burnish_srt_signal *signal) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    if (memory) {
        set_signal(memory, signal);
        atomic_store(&memory->window_requested, window_ms);
        return true;
    }
    int place = free_place(tap);
    if (place < 0) return false;
    memory = &tap->sockets[place];
    bool was_used = atomic_exchange(&tap->numbers[place], 0) != 0;
    atomic_store(&memory->window_of_peer, -1);
    atomic_store(&memory->peer_socket, 0);
    atomic_store(&memory->pinned, false);
    // Pages that nobody has written stay the kernel's zero page.
    for (unsigned i = 0; was_used && i < kept_packets; i++) {
        if (atomic_load_explicit(&memory->packets[i].word, memory_order_relaxed) != 0)
            atomic_store_explicit(&memory->packets[i].word, 0, memory_order_relaxed);
    }
    set_signal(memory, signal);
    atomic_store(&memory->window_requested, window_ms);
    atomic_store_explicit(&tap->numbers[place], socket, memory_order_release);
    return true;
}

void burnish_srt_tap_pin(burnish_srt_tap *tap, int32_t socket, bool pinned) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    if (memory) atomic_store(&memory->pinned, pinned);
}

uint32_t burnish_srt_tap_peer_socket(burnish_srt_tap *tap, int32_t socket) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    return memory ? atomic_load(&memory->peer_socket) : 0;
}

void tap_raise(burnish_srt_tap *tap, uint32_t socket) {
    struct socket_memory *memory = tap_memory(tap, socket);
    burnish_srt_signal *signal = memory && memory->signal ? memory->signal : tap->signal;
    if (signal) burnish_srt_signal_raise(signal);
}

void burnish_srt_tap_limit_handshakes(burnish_srt_tap *tap) { tap->gate = burnish_srt_gate_create(); }

int64_t burnish_srt_tap_handshakes_dropped(burnish_srt_tap *tap) {
    return atomic_load_explicit(&tap->handshakes_dropped, memory_order_relaxed);
}

bool burnish_srt_tap_has(burnish_srt_tap *tap, int32_t socket) { return tap_memory(tap, (uint32_t)socket) != NULL; }

int32_t burnish_srt_tap_window_requested(burnish_srt_tap *tap, int32_t socket) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    return memory ? atomic_load(&memory->window_requested) : -1;
}

int32_t burnish_srt_tap_window_of_peer(burnish_srt_tap *tap, int32_t socket) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    return memory ? atomic_load(&memory->window_of_peer) : -1;
}

// MARK: Data packets

// Flags in the second word of a data packet's header (SRT protocol, draft-sharabayko-srt, section 3.1).
static const uint32_t flag_first = 1u << 31;
static const uint32_t flag_ordered = 1u << 29;
static const uint32_t flag_retransmitted = 1u << 26;

static const uint64_t slot_used = 1ull << 31;
static const uint64_t sequence_and_use = (1ull << 32) - 1;

static struct packet_slot *slot_of(struct socket_memory *memory, uint32_t sequence) {
    return &memory->packets[sequence % kept_packets];
}

void tap_keep_packet(burnish_srt_tap *tap, const uint32_t header[4], int64_t arrival_ns) {
    struct socket_memory *memory = tap_memory(tap, header[3]);
    if (!memory) return;
    uint32_t sequence = header[0];
    struct packet_slot *slot = slot_of(memory, sequence);
    uint64_t present = atomic_load_explicit(&slot->word, memory_order_relaxed);
    if ((present & sequence_and_use) == (slot_used | sequence)) return; // came before
    atomic_store(&slot->word, 0);
    atomic_store(&slot->arrival_ns, arrival_ns);
    atomic_store(&slot->word, (uint64_t)header[1] << 32 | slot_used | sequence);
}

static bool find(struct socket_memory *memory, uint32_t sequence, burnish_srt_packet *packet) {
    struct packet_slot *slot = slot_of(memory, sequence);
    uint64_t word = atomic_load(&slot->word);
    if ((word & sequence_and_use) != (slot_used | sequence)) return false;
    packet->arrival_ns = atomic_load(&slot->arrival_ns);
    uint32_t flags = (uint32_t)(word >> 32);
    packet->ordered = (flags & flag_ordered) != 0;
    packet->retransmitted = (flags & flag_retransmitted) != 0;
    packet->first = (flags & flag_first) != 0;
    return atomic_load(&slot->word) == word;
}

bool burnish_srt_tap_find(burnish_srt_tap *tap, int32_t socket, int32_t sequence, burnish_srt_packet *packet) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    return memory && find(memory, (uint32_t)sequence, packet);
}

int32_t burnish_srt_tap_message_packets(burnish_srt_tap *tap, int32_t socket, int32_t last) {
    struct socket_memory *memory = tap_memory(tap, (uint32_t)socket);
    int32_t count = 1;
    burnish_srt_packet packet;
    while (memory && count < kept_packets) {
        uint32_t sequence = ((uint32_t)last - (uint32_t)(count - 1)) & 0x7fffffff;
        if (!find(memory, sequence, &packet) || packet.first) break;
        count++;
    }
    return count;
}
