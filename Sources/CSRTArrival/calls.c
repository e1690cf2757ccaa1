// The calls that the linker hands over (--wrap=recvmsg, --wrap=sendmsg).
#define _GNU_SOURCE
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

ssize_t __real_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

/// So many handshakes in a row are dropped in one call.
enum { most_dropped = 63 };

/// libsrt reads and writes a header of four words and a body, without control messages.
enum { header_size = 16 };
static bool is_packet_call(const struct msghdr *message) {
    return message->msg_iovlen == 2 && message->msg_iov[0].iov_len == header_size && message->msg_controllen == 0;
}

// MARK: The receiving thread

/// Each of libsrt's UDP sockets has a thread that does nothing but receive from it.
static _Thread_local struct {
    burnish_srt_tap *tap;
    int descriptor;
    /// The last call brought a datagram, which libsrt has therefore filed when it calls again.
    bool brought_one;
    /// For this socket; zero for a handshake that names none.
    uint32_t brought_for;
    /// The kernel stamps the socket's datagrams.
    bool stamps;
    /// Of the datagram before.
    burnish_srt_stamps clocks;
    /// The UDP socket that had no tap at this generation of the registry.
    int unknown;
    uint32_t unknown_at;
} receiver;

static pthread_key_t key;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;
static void release_at_exit(void *tap) { tap_release(tap); }
static void make_key(void) { pthread_key_create(&key, release_at_exit); }

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static burnish_srt_clocks read_clocks(void) {
    burnish_srt_clocks clocks = {.before = nanoseconds(CLOCK_MONOTONIC)};
    clocks.wall = nanoseconds(CLOCK_REALTIME);
    clocks.after = nanoseconds(CLOCK_MONOTONIC);
    return clocks;
}

/// A call without room for a stamp must not get one: the kernel would mark the datagram as cut, and libsrt drops those.
static void set_stamping(int descriptor, bool wanted) {
    if (receiver.stamps == wanted) return;
    receiver.stamps = wanted;
    if (wanted) receiver.clocks = (burnish_srt_stamps){.last = read_clocks(), .has_last = true};
    int on = wanted;
    setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/// The tap of the UDP socket that this thread receives from; NULL when it has none.
static burnish_srt_tap *receiving_tap(int descriptor) {
    if (receiver.tap) {
        if (receiver.descriptor == descriptor && !atomic_load_explicit(&receiver.tap->retired, memory_order_acquire))
            return receiver.tap;
        set_stamping(receiver.descriptor, false);
        tap_release(receiver.tap);
        receiver.tap = NULL;
        pthread_setspecific(key, NULL);
    }
    uint32_t generation = tap_generation();
    if (receiver.unknown == descriptor && receiver.unknown_at == generation) return NULL;
    burnish_srt_tap *tap = tap_of(descriptor, true);
    if (!tap) {
        receiver.unknown = descriptor;
        receiver.unknown_at = generation;
        return NULL;
    }
    pthread_once(&key_made, make_key);
    pthread_setspecific(key, tap);
    receiver.tap = tap;
    receiver.descriptor = descriptor;
    receiver.brought_one = false;
    atomic_store(&tap->descriptor, descriptor + 1);
    return tap;
}

/// The kernel's stamp of a datagram, moved from the wall clock to the monotonic one; the present time without one.
static int64_t arrival_of(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
        return burnish_srt_arrival(&receiver.clocks, (int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec, read_clocks());
    }
    return nanoseconds(CLOCK_MONOTONIC);
}

/// Whether this is a caller's handshake that comes too fast.
static bool is_refused(burnish_srt_tap *tap, const struct msghdr *message, ssize_t count) {
    static const uint8_t handshake[2] = {0x80, 0};
    if (!tap->gate || count < header_size || !message->msg_name) return false;
    const uint8_t *header = message->msg_iov[0].iov_base;
    uint32_t socket;
    memcpy(&socket, header + 12, sizeof socket);
    if (socket != 0 || memcmp(header, handshake, sizeof handshake) != 0) return false;
    bool conclusion = is_conclusion(message->msg_iov[1].iov_base, (size_t)count - header_size);
    if (burnish_srt_gate_passes(tap->gate, message->msg_name, conclusion, nanoseconds(CLOCK_MONOTONIC))) return false;
    atomic_fetch_add_explicit(&tap->handshakes_dropped, 1, memory_order_relaxed);
    return true;
}

static void read_packet(burnish_srt_tap *tap, struct msghdr *message, size_t count) {
    receiver.brought_one = true;
    receiver.brought_for = 0;
    if (count < header_size) return;
    uint32_t header[4];
    memcpy(header, message->msg_iov[0].iov_base, sizeof header);
    for (int i = 0; i < 4; i++) header[i] = ntohl(header[i]);
    receiver.brought_for = header[3];
    if (header[0] >> 31 == 0) {
        if (atomic_load_explicit(&tap->fault, memory_order_relaxed) == burnish_srt_fault_none)
            tap_keep_packet(tap, header, arrival_of(message));
    } else if (header[0] >> 16 == 0x8000) {
        tap_read_handshake(tap, header[3], message->msg_iov[1].iov_base, count - header_size);
    }
}

static bool is_blind(burnish_srt_tap *tap) {
    return atomic_load_explicit(&tap->fault, memory_order_relaxed) == burnish_srt_fault_blind;
}

ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags) {
    if (!is_packet_call(message)) return __real_recvmsg(socket, message, flags);
    burnish_srt_tap *tap = receiving_tap(socket);
    if (!tap || is_blind(tap)) {
        if (tap) set_stamping(socket, false);
        ssize_t count = __real_recvmsg(socket, message, flags);
        // libsrt's thread may have begun to wait here before its socket's tap was attached.
        if (count > 0 && !tap && (tap = receiving_tap(socket)) && !is_blind(tap))
            read_packet(tap, message, (size_t)count);
        return count;
    }
    set_stamping(socket, true);
    if (receiver.brought_one) tap_raise(tap, receiver.brought_for);
    receiver.brought_one = false;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct timespec))];
    socklen_t name_length = message->msg_namelen;
    ssize_t count;
    // libsrt must have its turn between floods: it has timers to serve.
    for (int tries = 0;; tries++) {
        message->msg_control = control;
        message->msg_controllen = sizeof control;
        message->msg_namelen = name_length;
        // libsrt has waited until there was something. There may be nothing behind what is dropped.
        count = __real_recvmsg(socket, message, tries == 0 ? flags : flags | MSG_DONTWAIT);
        if (count <= 0 || !is_refused(tap, message, count)) break;
        if (tries == most_dropped) {
            errno = EAGAIN;
            count = -1;
            break;
        }
    }
    if (count > 0) read_packet(tap, message, (size_t)count);
    message->msg_control = NULL;
    message->msg_controllen = 0;
    return count;
}

// MARK: Sending

static ssize_t send_handshake(burnish_srt_tap *tap, int socket, const struct msghdr *message, int flags) {
    const struct iovec *parts = message->msg_iov;
    // libsrt keeps its packet: this is a copy.
    uint8_t body[1500];
    if (is_blind(tap) || parts[1].iov_len > sizeof body) return __real_sendmsg(socket, message, flags);
    memcpy(body, parts[1].iov_base, parts[1].iov_len);
    if (is_no_answer(body, parts[1].iov_len)) return (ssize_t)(parts[0].iov_len + parts[1].iov_len);
    uint32_t peer;
    memcpy(&peer, (const uint8_t *)parts[0].iov_base + 12, sizeof peer);
    tap_complete_handshake(tap, ntohl(peer), body, parts[1].iov_len);
    struct iovec completed[2] = {parts[0], {body, parts[1].iov_len}};
    struct msghdr copy = *message;
    copy.msg_iov = completed;
    return __real_sendmsg(socket, &copy, flags);
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags) {
    static const uint8_t handshake[2] = {0x80, 0};
    if (!is_packet_call(message) || memcmp(message->msg_iov[0].iov_base, handshake, sizeof handshake) != 0)
        return __real_sendmsg(socket, message, flags);
    burnish_srt_tap *tap = tap_of(socket, false);
    if (!tap) return __real_sendmsg(socket, message, flags);
    ssize_t count = send_handshake(tap, socket, message, flags);
    tap_release(tap);
    return count;
}
