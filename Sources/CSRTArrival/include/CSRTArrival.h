// Early reading of SRT: what libsrt does not tell its readers while TSBPD is off, and does not tell their peers.
//
// With TSBPD off, libsrt makes a message readable as soon as its packet has come, but wakes its readers (blocking calls and
// epoll alike) only on its 10 ms acknowledgement tick. Its receiving thread, however, asks the kernel for the next datagram
// right after it has filed the last one. So the linker hands libsrt's calls of recvmsg and sendmsg to this module
// (--wrap, see Package.swift), where
// - a call that follows a datagram raises the reader's signal: nobody needs to poll;
// - the kernel's arrival stamp and the flags of each data packet are kept for the reader of its message;
// - handshakes are read and completed. With TSBPD off, libsrt tells its peer that nobody wants source times. The peer then
//   dates each packet with the time of its sending, repeats included, whatever its application says, and the two do not
//   agree on a window. For sockets that ask for it, the handshake says that messages are wanted with their source
//   times, within this window, and also when they are late;
// - handshakes that come too fast are dropped before libsrt spends time on them;
// - the other end's socket number is kept, without which nobody can say goodbye for a process that has died;
// - a caller can be left without an answer. libsrt's listen callback can only let it in or refuse it for good. A caller that
//   hears nothing asks again every 250 ms until its own timeout, after three seconds by default.
//
// The linker's option replaces the two calls in all statically linked code. A call is touched only where the socket is
// bound to an address that a tap is attached to, and only where the call has the shape of libsrt's. Every other call
// goes straight to the kernel. libsrt has no hook that does this: it can be given a UDP socket (srt_bind_acquire), but
// reads it without room for a stamp, and its reader would still have to poll.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

// MARK: Versions

/// Whether libsrt's calls have the known shape in this version (`srt_getversion`'s form: major << 16 | minor << 8 | patch).
/// Its sources were compared from 1.5.0 to 1.5.4; everything was measured with 1.5.1. The build checks the headers.
bool burnish_srt_knows_version(uint32_t version);

// MARK: Signals

/// Wakes one reader. Reference counted: taps keep the one that they raise.
typedef struct burnish_srt_signal burnish_srt_signal;

burnish_srt_signal *burnish_srt_signal_create(void);
void burnish_srt_signal_release(burnish_srt_signal *signal);

/// How often the signal has been raised. Wraps. Any thread.
uint32_t burnish_srt_signal_count(const burnish_srt_signal *signal);

/// Ends every wait, and the next wait of a reader that has not seen the new count. Any thread.
void burnish_srt_signal_raise(burnish_srt_signal *signal);

/// Blocks until the count differs from `seen`, or CLOCK_MONOTONIC reaches `deadline_ns`, or a system signal comes.
void burnish_srt_signal_wait(burnish_srt_signal *signal, uint32_t seen, int64_t deadline_ns);

// MARK: Stamps

/// The wall clock between two readings of the monotonic clock, in nanoseconds.
typedef struct {
    int64_t before, wall, after;
} burnish_srt_clocks;

/// What is known of the wall clock of one socket's stamps. Zero before the first reading. Used by one thread.
typedef struct {
    burnish_srt_clocks last;
    /// Stamps before this are from before the wall clock was set.
    int64_t valid_from;
    bool has_last;
} burnish_srt_stamps;

/// When a datagram came: its stamp by the wall clock, moved to the monotonic clock. Where the two clocks' distance has jumped since
/// the reading before, somebody has set the wall clock, and datagrams that were stamped before that count as come when they are read.
/// The same as `KernelStamps` of `Media`.
int64_t burnish_srt_arrival(burnish_srt_stamps *stamps, int64_t stamp, burnish_srt_clocks clocks);

// MARK: Taps

/// Sees what one of libsrt's UDP sockets receives and sends. Reference counted: libsrt's threads may be inside one that
/// its owner has retired.
typedef struct burnish_srt_tap burnish_srt_tap;

/// - Parameter signal: raised whenever libsrt has filed a datagram for a socket that has no signal of its own.
burnish_srt_tap *burnish_srt_tap_create(burnish_srt_signal *signal);

/// From now on the tap sees the UDP socket that is bound to this local address. Call it once, when libsrt has bound the
/// socket and before it calls or listens.
void burnish_srt_tap_attach(burnish_srt_tap *tap, const struct sockaddr *address, socklen_t length);

/// Detaches the tap and drops the owner's reference.
void burnish_srt_tap_retire(burnish_srt_tap *tap);

/// Opens a memory of its own for an SRT socket on this UDP socket; the oldest one that is not pinned is forgotten for it. To be
/// called before the socket's handshake goes out: before connecting, or in the listen callback.
/// - Parameters:
///   - window_ms: its handshakes ask for source times, for this window at least, and for no drops; -1 where they are to say
///     what libsrt says.
///   - signal: raised whenever libsrt has filed a datagram for this socket; NULL for the tap's.
/// - Returns: false when all memories are pinned.
bool burnish_srt_tap_open(burnish_srt_tap *tap, int32_t socket, int32_t window_ms, burnish_srt_signal *signal);

/// Keeps a socket's memory from being forgotten, or no longer. Any thread.
void burnish_srt_tap_pin(burnish_srt_tap *tap, int32_t socket, bool pinned);

/// How many sockets may be pinned, with room left for callers whose handshakes are under way.
enum { burnish_srt_most_pinned = 48 };

/// The other end's number of the connection; 0 while it is not known. Any thread.
uint32_t burnish_srt_tap_peer_socket(burnish_srt_tap *tap, int32_t socket);

/// Whether the tap still has a memory for this socket. Any thread.
bool burnish_srt_tap_has(burnish_srt_tap *tap, int32_t socket);

/// The window in milliseconds that `burnish_srt_tap_open` was called with; -1 when there was none. Any thread.
int32_t burnish_srt_tap_window_requested(burnish_srt_tap *tap, int32_t socket);

/// The window in milliseconds that the listener settled on for the socket that called it, or that the other side of a
/// rendezvous asked for; -1 when it did not say. Any thread.
int32_t burnish_srt_tap_window_of_peer(burnish_srt_tap *tap, int32_t socket);

/// The window in milliseconds that a caller asks the receiver for; -1 when its handshake does not say. Valid only on
/// libsrt's thread, inside the listen callback.
int32_t burnish_srt_window_of_caller(void);

/// The reason to refuse a caller with that libsrt may give and that a tap does not send: the caller asks again.
enum { burnish_srt_no_answer_yet = 2999 };

// MARK: The rate of handshakes

/// How many handshakes pass on their way to a listener. A caller sends an induction, then a conclusion, again every 250 ms while it
/// gets no answer. libsrt spends 10 to 20 µs on each, also when its address is made up, and on a conclusion with a right cookie
/// 100 µs and 15 kB, which it keeps for some seconds. What is more than that is dropped before libsrt. The bursts are 10 ms of the
/// time of the thread that receives the stream.
typedef struct {
    int32_t per_second;
    /// So many may come at once.
    int32_t burst;
} burnish_srt_rate;

static const burnish_srt_rate burnish_srt_handshakes_per_address = {100, 200},
                              burnish_srt_handshakes_in_all = {2000, 500};
static const burnish_srt_rate burnish_srt_conclusions_per_address = {20, 100},
                              burnish_srt_conclusions_in_all = {200, 100};

/// Token buckets for each address and for all. Used by one thread.
typedef struct burnish_srt_gate burnish_srt_gate;

burnish_srt_gate *burnish_srt_gate_create(void);
void burnish_srt_gate_release(burnish_srt_gate *gate);

/// Whether one more handshake from this address passes. An IPv6 address counts by its first eight bytes, which is what one
/// customer has.
bool burnish_srt_gate_passes(burnish_srt_gate *gate, const struct sockaddr *from, bool is_conclusion, int64_t now_ns);

/// From now on handshakes that no socket is named in (those of callers) pass the gate. Call it before the tap is attached.
void burnish_srt_tap_limit_handshakes(burnish_srt_tap *tap);

/// How many handshakes were dropped. Any thread.
int64_t burnish_srt_tap_handshakes_dropped(burnish_srt_tap *tap);

/// Sends a datagram from one of libsrt's UDP sockets, which has a tap and is bound to this port. Never waits. Any thread.
/// - Returns: false when there is no such socket, or the kernel refuses.
bool burnish_srt_send_from(uint16_t port, const void *packet, size_t count, const struct sockaddr *to,
                           socklen_t length);

// MARK: Packets

/// A data packet as it was on the wire.
typedef struct {
    /// When the kernel got it first, on CLOCK_MONOTONIC.
    int64_t arrival_ns;
    /// The sender wants its messages read in order: libsrt holds back what comes after a missing one.
    bool ordered;
    /// It came as a repeat.
    bool retransmitted;
    /// Its message begins with it.
    bool first;
} burnish_srt_packet;

/// Looks up one of the last 8192 packets of an SRT socket by its sequence number. Any thread.
bool burnish_srt_tap_find(burnish_srt_tap *tap, int32_t socket, int32_t sequence, burnish_srt_packet *packet);

/// How many packets the message has whose last packet this is, as far as they are remembered; at least 1. Any thread.
int32_t burnish_srt_tap_message_packets(burnish_srt_tap *tap, int32_t socket, int32_t last);

// MARK: Faults, for tests

typedef enum {
    burnish_srt_fault_none,
    /// Handshakes and signals work, packets leave no stamps.
    burnish_srt_fault_no_stamps,
    /// Every call goes straight to the kernel, as though the linker had not handed it over.
    burnish_srt_fault_blind,
} burnish_srt_fault;

/// Breaks the tap on purpose. Any thread.
void burnish_srt_tap_break(burnish_srt_tap *tap, burnish_srt_fault fault);
