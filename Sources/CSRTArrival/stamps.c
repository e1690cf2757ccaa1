// The kernel's stamps of datagrams, which are of a clock that somebody may set.
#include "CSRTArrival.h"

/// The clocks may drift apart by so much between two readings: 1 ms, and 1 ms more for each second between, at most 10 ms.
enum { least_jump = 1000000, most_drift = 9000000, drift_divisor = 1000 };

int64_t burnish_srt_arrival(burnish_srt_stamps *stamps, int64_t stamp, burnish_srt_clocks clocks) {
    if (stamps->has_last) {
        const burnish_srt_clocks last = stamps->last;
        int64_t drift = (clocks.before - last.after) / drift_divisor;
        int64_t allowed = least_jump + (drift < 0 ? 0 : drift > most_drift ? most_drift : drift);
        if (clocks.wall - clocks.after > last.wall - last.before + allowed ||
            clocks.wall - clocks.before < last.wall - last.after - allowed)
            stamps->valid_from = clocks.wall;
    }
    stamps->has_last = true;
    stamps->last = clocks;
    int64_t age = clocks.wall - stamp;
    return stamp >= stamps->valid_from && age > 0 ? clocks.before - age : clocks.before;
}
