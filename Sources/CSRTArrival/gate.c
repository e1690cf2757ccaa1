#define _GNU_SOURCE
#include "CSRTArrival.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// The generic cell rate algorithm (ITU-T I.371, annex A): a bucket is the time at which it will be full again. Addresses are
// hashed with a number that nobody outside knows, so that nobody can choose addresses that share a set.

enum { sets = 256, ways = 4 };

struct bucket {
    uint64_t address;
    int64_t full_at;
    int64_t conclusions_full_at;
};

struct burnish_srt_gate {
    uint64_t secret;
    int64_t full_at;
    int64_t conclusions_full_at;
    struct bucket buckets[sets][ways];
};

burnish_srt_gate *burnish_srt_gate_create(void) {
    burnish_srt_gate *gate = calloc(1, sizeof *gate);
    if (!gate) abort();
    // Without it the gate still works, for those who do not try to get round it.
    if (getrandom(&gate->secret, sizeof gate->secret, GRND_NONBLOCK) < 0) gate->secret = (uintptr_t)gate;
    return gate;
}

void burnish_srt_gate_release(burnish_srt_gate *gate) { free(gate); }

static uint64_t key_of(const struct sockaddr *from) {
    uint64_t key = 0;
    if (from->sa_family == AF_INET) {
        memcpy(&key, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        // Apart from IPv6, and never zero.
        return key << 16 | 0xffff;
    }
    const struct in6_addr *address = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&key, &address->s6_addr[12], 4);
        return key << 16 | 0xffff;
    }
    memcpy(&key, address, sizeof key);
    return key;
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

static int64_t interval(burnish_srt_rate rate) { return 1000000000 / rate.per_second; }

static bool has_room(int64_t full_at, burnish_srt_rate rate, int64_t now) {
    return full_at - now <= interval(rate) * (rate.burst - 1);
}

static void fill(int64_t *full_at, burnish_srt_rate rate, int64_t now) {
    *full_at = (*full_at > now ? *full_at : now) + interval(rate);
}

bool burnish_srt_gate_passes(burnish_srt_gate *gate, const struct sockaddr *from, bool is_conclusion, int64_t now) {
    uint64_t key = key_of(from);
    struct bucket *set = gate->buckets[mixed(key ^ gate->secret) % sets], *own = &set[0];
    for (int way = 0; way < ways; way++) {
        if (set[way].address == key) {
            own = &set[way];
            break;
        }
        if (set[way].full_at < own->full_at) own = &set[way];
    }
    if (own->address != key) *own = (struct bucket){key, now, now};
    if (!has_room(own->full_at, burnish_srt_handshakes_per_address, now)) return false;
    if (!has_room(gate->full_at, burnish_srt_handshakes_in_all, now)) return false;
    if (is_conclusion) {
        if (!has_room(own->conclusions_full_at, burnish_srt_conclusions_per_address, now)) return false;
        if (!has_room(gate->conclusions_full_at, burnish_srt_conclusions_in_all, now)) return false;
        fill(&own->conclusions_full_at, burnish_srt_conclusions_per_address, now);
        fill(&gate->conclusions_full_at, burnish_srt_conclusions_in_all, now);
    }
    fill(&own->full_at, burnish_srt_handshakes_per_address, now);
    fill(&gate->full_at, burnish_srt_handshakes_in_all, now);
    return true;
}
