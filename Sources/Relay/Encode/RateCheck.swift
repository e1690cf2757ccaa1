import Media

/// Finds out whether the encoder keeps to its limit, second by second. Some pictures cannot be coded with as few bits as somebody
/// asks for. A limit that changes within a second counts for as long as it held.
///
/// A pure value; allocates nothing.
struct RateCheck {
    /// More than this share of the limit in one second is too much.
    static let tolerance = 1.1
    /// An encoder begins with a full buffer, so one second says nothing.
    private static let seconds = 2
    /// After so many seconds within the limit, another excess is news.
    private static let rest = 10

    private var began: MediaTime?
    private var last = MediaTime(ticks: 0)
    private var bits = 0
    private var allowed = 0.0
    private var exceeded = 0
    private var kept = 0
    private var isSaid = false

    init() {}

    /// - Parameter limit: bits a second, since the picture before.
    /// - Returns: bits a second, once, where they have been too many in two seconds, one after the other.
    mutating func observe(bytes: Int, at time: MediaTime, limit: Int) -> Int? {
        guard let began, time >= last else {
            (self.began, last, bits, allowed, exceeded) = (time, time, 8 * bytes, 0, 0)
            return nil
        }
        let second = Double(MediaTime.ticksPerSecond)
        allowed += Double(limit) * Double(time - last) / second
        last = time
        defer { bits += 8 * bytes }
        let passed = time - began
        guard passed >= MediaTime.ticksPerSecond else { return nil }
        // The picture at the end belongs to the next second.
        let rate = Double(bits) * second / Double(passed)
        if Double(bits) > Self.tolerance * allowed {
            (exceeded, kept) = (exceeded + 1, 0)
        } else {
            (exceeded, kept) = (0, kept + 1)
            if kept >= Self.rest { isSaid = false }
        }
        (self.began, bits, allowed) = (time, 0, 0)
        guard exceeded >= Self.seconds, !isSaid else { return nil }
        isSaid = true
        return Int(rate)
    }
}
