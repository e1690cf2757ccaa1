import Media

/// Lets the units of a file come at the pace of their decoding times, as from a live source.
///
/// Confined to the ingest thread.
final class FilePace {
    private var origin: (time: MonotonicTime, decode: MediaTime)?

    /// A step between two units that is no pace but a jump.
    private static let longestStep = Nanoseconds.seconds(3)

    init() {}

    /// Waits until a unit is due.
    func wait(for decode: MediaTime) {
        let now = MonotonicTime.now()
        guard let origin else { return begin(decode, now) }
        let due = origin.time + MediaTime(ticks: decode - origin.decode).nanoseconds
        if due < now - Self.longestStep || due > now + Self.longestStep { return begin(decode, now) }
        due.sleep()
    }

    private func begin(_ decode: MediaTime, _ now: MonotonicTime) { origin = (now, decode) }
}
