import Media

/// Turns a sender's 32-bit count of time, which wraps, into one that does not: SRT's microseconds (71.6 minutes a round) and
/// RTP's ticks of 90 kHz (13.3 hours). It goes by elapsed time and not by the last count alone, so it survives silences of
/// any length.
package struct WrappingCount: Sendable {
    private let perSecond: Int64
    private var last: (count: Int64, arrival: MonotonicTime)?

    package init(perSecond: Int64) { self.perSecond = perSecond }

    /// The count nearest to where the sender should be by now, of all that end in these 32 bits.
    package mutating func unwrap(_ wire: UInt32, arrival: MonotonicTime) -> Int64 {
        var count = Int64(wire)
        if let last {
            let elapsed = max(0, (arrival - last.arrival).count)
            let (seconds, rest) = elapsed.quotientAndRemainder(dividingBy: 1_000_000_000)
            let expected = last.count + seconds * perSecond + rest * perSecond / 1_000_000_000
            count = expected + Int64(Int32(bitPattern: wire &- UInt32(truncatingIfNeeded: expected)))
        }
        last = (count, arrival)
        return count
    }
}
