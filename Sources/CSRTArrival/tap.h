// What the files of this module share.
#pragma once

#include "CSRTArrival.h"

#include <stdatomic.h>
#include <stddef.h>

burnish_srt_signal *burnish_srt_signal_retain(burnish_srt_signal *signal);

/// As many as libsrt's receive buffer holds by default.
enum { kept_packets = 8192 };
/// A caller's UDP socket has one SRT socket. A listener's has for each stream the one that is served, at times the next one, and
/// those whose handshakes failed in between.
enum { kept_sockets = 64 };

/// A data packet. The word is zero while the stamp changes.
struct packet_slot {
    /// The sequence number (31 bits), above it `slot_used` and the packet's flags.
    _Atomic uint64_t word;
    _Atomic int64_t arrival_ns;
};

/// What is known of one SRT socket.
struct socket_memory {
    _Atomic int32_t window_requested;
    _Atomic int32_t window_of_peer;
    _Atomic uint32_t peer_socket;
    _Atomic bool pinned;
    /// NULL for the tap's. Changes only before the socket's first packet.
    burnish_srt_signal *signal;
    /// By sequence number. Written by libsrt's receiving thread only.
    struct packet_slot packets[kept_packets];
};

struct burnish_srt_tap {
    /// The owner's, the receiving thread's, and those of threads that are sending a handshake.
    _Atomic uint32_t references;
    burnish_srt_signal *signal;
    _Atomic bool retired;
    _Atomic int fault;
    _Atomic uint32_t opened;
    burnish_srt_gate *gate;
    _Atomic int64_t handshakes_dropped;
    /// The UDP socket's descriptor plus 1; 0 while its thread has not asked for a datagram yet.
    _Atomic int descriptor;
    /// The sockets' numbers; zero while there is none. Apart from the memories, so that a search stays in few cache lines.
    _Atomic int32_t numbers[kept_sockets];
    /// The memory is zero pages until packets come.
    struct socket_memory sockets[kept_sockets];

    // The registry's, under its lock.
    struct burnish_srt_tap *next;
    struct sockaddr_storage address;
    bool has_receiver;
};

/// The tap that is attached to the address of this UDP socket, with a reference for the caller; NULL when there is none.
/// - Parameter as_receiver: only a tap that no thread receives for; the caller does so from now on.
burnish_srt_tap *tap_of(int descriptor, bool as_receiver);

/// Changes whenever a tap is attached.
uint32_t tap_generation(void);

void tap_release(burnish_srt_tap *tap);

/// NULL for a socket that has not been opened, or is forgotten.
struct socket_memory *tap_memory(burnish_srt_tap *tap, uint32_t socket);

/// Keeps a data packet: the first four words of the datagram, in the host's order.
void tap_keep_packet(burnish_srt_tap *tap, const uint32_t header[4], int64_t arrival_ns);

/// Has a sleeper see that libsrt has filed a datagram for this socket.
void tap_raise(burnish_srt_tap *tap, uint32_t socket);

/// Reads an incoming handshake's body. The receiving thread remembers what its sender asks for.
void tap_read_handshake(burnish_srt_tap *tap, uint32_t socket, const uint8_t *body, size_t count);

/// Whether a handshake asks for the connection, behind the exchange of cookies.
bool is_conclusion(const uint8_t *body, size_t count);

/// Whether an outgoing handshake is a refusal for now only.
bool is_no_answer(const uint8_t *body, size_t count);

/// Says in an outgoing handshake that we want source times and nothing dropped, where its socket asks for that.
/// - Parameter peer: the socket that it is for.
void tap_complete_handshake(burnish_srt_tap *tap, uint32_t peer, uint8_t *body, size_t count);
