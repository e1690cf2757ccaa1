// Tells when libsrt has dealt with a datagram, so that nobody needs to poll it.
//
// With TSBPD off, libsrt 1.5.1 makes a message readable as soon as its packet has come, but wakes readers (blocking
// calls and epoll alike) only on its 10 ms acknowledgement tick. Its network thread, however, asks the kernel for the
// next datagram right after it has filed the last one. The linker hands those calls to us (--wrap=recvmsg, see
// Package.swift), and each of them that follows a datagram moves the counter below on and wakes whoever waits for it.
#pragma once

#include <stdint.h>

/// How often libsrt has finished with a datagram, in this process, on any socket. Wraps.
uint32_t burnish_srt_arrivals(void);

/// Blocks until the counter differs from `seen`, or CLOCK_MONOTONIC reaches `deadline_ns`, or a signal comes.
void burnish_srt_arrivals_wait(uint32_t seen, int64_t deadline_ns);

/// Moves the counter on as a datagram would: ends every wait. Any thread.
void burnish_srt_arrivals_wake(void);
