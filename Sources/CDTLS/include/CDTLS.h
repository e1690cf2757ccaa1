// DTLS 1.2 for WebRTC over OpenSSL 3.0, without sockets and without a clock of the caller's: datagrams go in, datagrams come out.
//
// OpenSSL 3.0 has a memory BIO for streams only. DTLS needs the ends of datagrams, so this module has a BIO of its own: a read
// gives one whole datagram, a write makes one. OpenSSL fills a flight's datagrams up to the MTU before it writes them.
//
// Everything here allocates and belongs to the handshake. No media passes through it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The process's identity

/// A self-signed certificate and what all connections share. Reference counted by its connections, like OpenSSL's SSL_CTX.
/// Connections may be made by any thread.
typedef struct burnish_dtls_identity burnish_dtls_identity;

/// Makes a key on P-256 and a certificate that is valid for 30 days, from a day ago on. NULL: OpenSSL refused.
burnish_dtls_identity *burnish_dtls_identity_create(void);
void burnish_dtls_identity_free(burnish_dtls_identity *identity);

/// The certificate's SHA-256.
void burnish_dtls_identity_sha256(const burnish_dtls_identity *identity, uint8_t digest[32]);

// MARK: A connection

/// One peer's connection. Used by one thread at a time.
typedef struct burnish_dtls burnish_dtls;

/// The hash functions of RFC 8122 that are still safe. Larger is stronger.
typedef enum {
    burnish_dtls_sha224 = 1,
    burnish_dtls_sha256,
    burnish_dtls_sha384,
    burnish_dtls_sha512,
} burnish_dtls_hash;

/// The length of a hash function's digest in bytes; 0 for an unknown one.
size_t burnish_dtls_digest_size(burnish_dtls_hash hash);

enum { burnish_dtls_most_digests = 4, burnish_dtls_largest_digest = 64 };

/// What the peer's certificate must be.
typedef struct {
    burnish_dtls_hash hash;
    /// Digests that are right; `count` of them.
    uint8_t digests[burnish_dtls_most_digests][burnish_dtls_largest_digest];
    uint32_t count;
} burnish_dtls_fingerprint;

typedef enum {
    /// Datagrams are awaited.
    burnish_dtls_pending,
    /// The handshake is complete, the fingerprint is right, and an SRTP profile is agreed on.
    burnish_dtls_connected,
    /// The peer said goodbye.
    burnish_dtls_closed,
    /// The peer's certificate has another fingerprint.
    burnish_dtls_wrong_fingerprint,
    /// The peer offers no SRTP profile that we have.
    burnish_dtls_no_profile,
    /// The handshake failed in another way: `burnish_dtls_fault` says how.
    burnish_dtls_failed,
} burnish_dtls_state;

/// - Parameters:
///   - is_client: we send the first flight, at the first call of `burnish_dtls_advance`.
///   - mtu: the largest datagram that is sent, in bytes, without UDP's and IP's headers.
/// - Returns: NULL when there is no memory.
burnish_dtls *burnish_dtls_create(burnish_dtls_identity *identity, const burnish_dtls_fingerprint *fingerprint,
                                  bool is_client, int mtu);
void burnish_dtls_free(burnish_dtls *connection);

/// Reads one datagram. Bytes that are no DTLS, old records and forged alerts change nothing.
burnish_dtls_state burnish_dtls_receive(burnish_dtls *connection, const uint8_t *bytes, size_t count);

/// Sends a client's first flight, and lost flights again when OpenSSL's timer has expired: 200 ms, doubled each time, 3.2 s at
/// most, twelve times. OpenSSL reads the wall clock for it.
burnish_dtls_state burnish_dtls_advance(burnish_dtls *connection);

/// Microseconds until `burnish_dtls_advance` has something to do; -1 for never.
int64_t burnish_dtls_timeout(burnish_dtls *connection);

/// Says goodbye, once.
void burnish_dtls_close(burnish_dtls *connection);

/// Copies the next datagram to be sent. Returns its size; 0 when there is none. One that has no room is dropped.
size_t burnish_dtls_next_datagram(burnish_dtls *connection, uint8_t *bytes, size_t room);

/// What OpenSSL said about the last failure, as `library: reason`.
const char *burnish_dtls_fault(const burnish_dtls *connection);

// MARK: Keys

typedef enum {
    burnish_dtls_no_srtp = 0,
    burnish_dtls_aes_cm_128_sha1_80 = 1,
    burnish_dtls_aead_aes_128_gcm = 7
} burnish_dtls_profile;

/// SRTP's keys of both directions, each a key of 16 bytes and a salt behind it (12 bytes for GCM, 14 for CM).
typedef struct {
    burnish_dtls_profile profile;
    uint8_t local[30], remote[30];
} burnish_dtls_keys;

/// Exports the keys of a connected connection (RFC 5764, 4.2). False in any other state.
bool burnish_dtls_export(burnish_dtls *connection, burnish_dtls_keys *keys);

// MARK: For STUN

/// HMAC-SHA1 of two pieces in a row.
void burnish_hmac_sha1(const uint8_t *key, size_t key_size, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t digest[20]);

/// Compares in a time that does not depend on the bytes.
bool burnish_bytes_equal(const uint8_t *a, const uint8_t *b, size_t count);
