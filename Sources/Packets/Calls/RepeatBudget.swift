import Media

/// How many bytes may be sent again to one receiver: as many as were sent to it for the first time, and no more than its link carries.
///
/// A request of a few bytes names many packets. Without a limit, one receiver, or somebody in its name, could have us send
/// without end. Where a link's queue drops packets because it is full, packets that are sent again only keep it full. A pure value.
struct RepeatBudget: Sendable {
    /// What a receiver that has lost nothing for long may get at once, in bytes: a large keyframe.
    static let most = 256 * 1200
    /// What may be sent again at once of what the link carries: in so many seconds.
    static let burst = 0.25
    /// In bytes, however little the link carries: two packets of the largest size.
    static let least = 3_000.0

    enum Answer: Hashable, Sendable {
        case granted
        /// As much has been sent again as for the first time.
        case spent
        /// The link has no room for it.
        case noRoom
    }

    private var left = 0
    private var room: (bytes: Double, time: MonotonicTime)?

    /// A packet of so many bytes is sent for the first time.
    mutating func earn(_ bytes: Int) { left = min(left + bytes, Self.most) }

    /// Whether a packet of so many bytes may be sent again. It counts as sent when it is granted.
    /// - Parameter rate: the bits a second that may be sent to the receiver now; nil where nobody knows.
    mutating func claim(_ bytes: Int, rate: UInt64?, at now: MonotonicTime) -> Answer {
        guard bytes <= left else { return .spent }
        if let rate {
            let second = Double(rate) / 8
            let most = max(second * Self.burst, Self.least)
            let before = room.map { $0.bytes + second * (now - $0.time).seconds } ?? most
            room = (min(before, most), now)
            guard room!.bytes >= Double(bytes) else { return .noRoom }
            room!.bytes -= Double(bytes)
        }
        left -= bytes
        return .granted
    }
}
