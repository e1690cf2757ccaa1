import Media

/// Finds out whether the encoder keeps to its limit, second by second. Some pictures cannot be coded with as few bits as somebody
/// asks for.
///
/// A pure value; allocates nothing.
struct RateCheck {
    /// More than this share of the limit in one second is too much.
    static let tolerance = 1.1
    /// An encoder begins with a full buffer, so one second says nothing.
    private static let seconds = 2

    private var began: MediaTime?
    private var bits = 0
    private var limit = 0
    private var exceeded = 0
    private var isSaid = false

    init() {}

    /// - Parameter limit: bits a second; the check begins anew with another one.
    /// - Returns: bits a second, once, where they have been too many in two seconds, one after the other.
    mutating func observe(bytes: Int, at time: MediaTime, limit: Int) -> Int? {
        guard let began, limit == self.limit, time >= began else {
            (self.began, bits, self.limit, exceeded, isSaid) = (time, 8 * bytes, limit, 0, isSaid && limit == self.limit)
            return nil
        }
        defer { bits += 8 * bytes }
        let passed = time - began
        guard passed >= MediaTime.ticksPerSecond else { return nil }
        // The picture at the end belongs to the next second.
        let rate = Double(bits) * Double(MediaTime.ticksPerSecond) / Double(passed)
        (self.began, bits) = (time, 0)
        exceeded = rate > Self.tolerance * Double(limit) ? exceeded + 1 : 0
        guard exceeded >= Self.seconds, !isSaid else { return nil }
        isSaid = true
        return Int(rate)
    }
}
