#include "tap.h"

#include <arpa/inet.h>
#include <string.h>

// Handshake packets (draft-sharabayko-srt, sections 3.2.1 and 3.2.1.1): 12 words, the seventh of which is the sender's
// socket, then blocks of type, length and contents. Types 1 and 2 are the request and the response of SRT's own block:
// version, flags, and the delay of the writer as receiver (upper half) and as sender (lower half).
enum { fixed_part = 48, request_word = 20, socket_word = 24, type_request = 1, type_response = 2 };
/// The request types that name the socket which the connection will have: a conclusion, and a rendezvous's agreement.
static const uint32_t request_conclusion = 0xffffffff, request_agreement = 0xfffffffe;
/// A refusal's request type is its reason plus this.
enum { first_refusal = 1000 };
/// "I send with source times" and "I receive by them". A listener's libsrt accepts source times from its application only
/// when its caller says both.
static const uint32_t flags_by_time = 1u << 0 | 1u << 1;
/// "I drop what is late": the sender may then drop it too. libsrt settles this before its listen callback.
static const uint32_t flag_drops_late = 1u << 3;

static _Thread_local int32_t window_of_caller = -1;

int32_t burnish_srt_window_of_caller(void) { return window_of_caller; }

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

static void remember_peer(struct socket_memory *memory, const uint8_t *body, size_t count, uint32_t peer) {
    if (!memory || count < fixed_part || peer == 0) return;
    uint32_t request = word_at(body + request_word);
    if (request == request_conclusion || request == request_agreement) atomic_store(&memory->peer_socket, peer);
}

void tap_read_handshake(burnish_srt_tap *tap, uint32_t socket, const uint8_t *body, size_t count) {
    window_of_caller = -1;
    remember_peer(tap_memory(tap, socket), body, count, count < fixed_part ? 0 : word_at(body + socket_word));
    unsigned type;
    size_t block = find_block(body, count, &type);
    if (block == 0) return;
    int32_t asked = (int32_t)(word_at(body + block + 8) & 0xffff);
    if (type == type_request) window_of_caller = asked;
    // A listener's callers have no socket yet. A request for a socket comes from the other side of a rendezvous.
    struct socket_memory *memory = tap_memory(tap, socket);
    if (memory) atomic_store(&memory->window_of_peer, asked);
}

bool is_conclusion(const uint8_t *body, size_t count) {
    return count >= fixed_part && word_at(body + request_word) == request_conclusion;
}

bool is_no_answer(const uint8_t *body, size_t count) {
    return count >= fixed_part && word_at(body + request_word) == first_refusal + burnish_srt_no_answer_yet;
}

void tap_complete_handshake(burnish_srt_tap *tap, uint32_t peer, uint8_t *body, size_t count) {
    if (count < fixed_part) return;
    struct socket_memory *memory = tap_memory(tap, word_at(body + socket_word));
    remember_peer(memory, body, count, peer);
    int32_t window = memory ? atomic_load(&memory->window_requested) : -1;
    if (window < 0) return;
    unsigned type;
    size_t block = find_block(body, count, &type);
    if (block == 0) return;
    set_word_at(body + block + 4, (word_at(body + block + 4) | flags_by_time) & ~flag_drops_late);
    set_word_at(body + block + 8, (uint32_t)window << 16 | (word_at(body + block + 8) & 0xffff));
}
