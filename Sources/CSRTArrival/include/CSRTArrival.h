// What libsrt 1.5.1 does not tell and not say while TSBPD is off: when a packet came, that it can now be read, and that
// its source time is wanted.
//
// With TSBPD off, libsrt makes a message readable as soon as its packet has come, but wakes readers (blocking calls and
// epoll alike) only on its 10 ms acknowledgement tick. Its network thread, however, asks the kernel for the next
// datagram right after it has filed the last one. The linker hands those calls to us (--wrap=recvmsg, --wrap=sendmsg, see
// Package.swift), so that
// - each call that follows a datagram moves a counter on and wakes whoever waits for it: nobody needs to poll;
// - the kernel's arrival stamp and the flags of every data packet are kept for whoever reads the message;
// - handshakes can be read and completed. With TSBPD off, libsrt tells its peer that nobody cares for source times: the
//   peer then dates each packet with the time of its sending, repeats included, whatever its application says, and the
//   two do not agree on a window. For sockets that ask for it we say on the wire what is true: messages are wanted with
//   their source times, within this window, and also when they are late;
// - a caller can be left without an answer. libsrt's hook only lets it in or turns it away for good; a caller that hears
//   nothing asks again every 250 ms until it gives up the call, after three seconds by default.
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
    /// Its message begins with it.
    bool first;
} burnish_srt_packet;

/// Looks up a packet of the last few thousand by the receiving socket and the packet's sequence number. Any thread.
bool burnish_srt_packet_find(int32_t socket, int32_t sequence, burnish_srt_packet *packet);

/// How many packets the message has whose last packet this is, as far as they are remembered; at least 1. Any thread.
int32_t burnish_srt_message_packets(int32_t socket, int32_t last);

/// Has this socket's handshakes ask for source times, for this window at least, and for no drops. To be called before the handshake
/// goes out: before connecting, or in the hook that judges a caller. Any thread.
void burnish_srt_want_source_times(int32_t socket, int32_t window_ms);

/// The window in milliseconds that the last call for this socket gave; -1 when there was none. Any thread.
int32_t burnish_srt_window_wanted(int32_t socket);

/// The window in milliseconds that a caller asks of the receiver. Valid on libsrt's thread only, inside the hook that
/// judges the caller; -1 when its handshake does not say.
int32_t burnish_srt_window_asked_by_caller(void);

/// The reason to refuse a caller with that libsrt may give and that is never sent: the caller asks again.
enum { burnish_srt_no_answer_yet = 2999 };

/// The window in milliseconds that the listener settled on for the socket that called it, or the other side of a rendezvous
/// asked for; -1 when it did not say.
int32_t burnish_srt_window_asked_by_listener(int32_t socket);
