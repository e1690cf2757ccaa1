/// How many bytes may be sent again to one receiver: as many as were sent to it for the first time.
///
/// A request of a few bytes names many packets. Without a limit, one receiver, or somebody in its name, could have us send
/// without end. A pure value.
struct RepeatBudget: Sendable {
    /// What a receiver that has lost nothing for long may get at once, in bytes: a large keyframe.
    static let most = 256 * 1200

    private var left = 0

    /// A packet of so many bytes is sent for the first time.
    mutating func earn(_ bytes: Int) { left = min(left + bytes, Self.most) }

    /// - Returns: whether a packet of so many bytes may be sent again. It counts as sent when this says so.
    mutating func claim(_ bytes: Int) -> Bool {
        guard bytes <= left else { return false }
        left -= bytes
        return true
    }
}
