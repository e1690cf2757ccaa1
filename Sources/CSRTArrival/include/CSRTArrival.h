// What libsrt 1.5.1 does not tell: when a packet came, and that it can now be read.
//
// With TSBPD off, libsrt makes a message readable as soon as its packet has come, but wakes readers (blocking calls and
// epoll alike) only on its 10 ms acknowledgement tick. Its network thread, however, asks the kernel for the next
// datagram right after it has filed the last one. The linker hands those calls to us (--wrap=recvmsg, see
// Package.swift), so that
// - each call that follows a datagram moves a counter on and wakes whoever waits for it: nobody needs to poll;
// - the kernel's arrival stamp and the flags of every data packet are kept for whoever reads the message;
// - the recovery window that a caller wants is read from its handshake: libsrt ignores that wish while TSBPD is off (and
//   a listener does not utter it then).
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// How often libsrt has finished with a datagram, in this process, on any socket. Wraps.
uint32_t burnish_srt_arrivals(void);

/// Blocks until the counter differs from `seen`, or CLOCK_MONOTONIC reaches `deadline_ns`, or a signal comes.
void burnish_srt_arrivals_wait(uint32_t seen, int64_t deadline_ns);

/// Moves the counter on as a datagram would: ends every wait. Any thread.
void burnish_srt_arrivals_wake(void);

/// A data packet as it was on the wire.
typedef struct {
    /// When the kernel got it first, on CLOCK_MONOTONIC.
    int64_t arrival_ns;
    /// The sender wants its messages read in order: libsrt holds back what comes after a missing one.
    bool ordered;
    /// It came as a repeat.
    bool retransmitted;
} burnish_srt_packet;

/// Looks up a packet of the last few thousand by the receiving socket and the packet's sequence number. Any thread.
bool burnish_srt_packet_find(int32_t socket, int32_t sequence, burnish_srt_packet *packet);

/// The window in milliseconds that a caller asks of the receiver. Valid on libsrt's thread only, inside the hook that
/// judges the caller; -1 when its handshake does not say.
int32_t burnish_srt_window_asked_by_caller(void);
