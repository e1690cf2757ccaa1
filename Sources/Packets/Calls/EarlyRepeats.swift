import Media

/// Decides whether pictures are sent to a receiver twice: each picture's packets leave once more behind the next picture. Where a link loses
/// packets by chance and its round trip is long, what the receiver asks for comes too late: the picture stands still for a round trip and
/// two intervals. A second copy comes after one interval. It costs as many bits again, so only an encode that leaves room for them gets it.
///
/// Redundant copies of a packet are what RFC 2198 does for sound, and a browser reads them as packets that are sent again (RFC 4588).
///
/// A pure value; it reads no clock.
struct EarlyRepeats: Sendable {
    /// The share of packets that is lost, 0…1, from which on it is worth it, and up to which it stays so.
    static let beginLoss = 0.005
    static let endLoss = 0.002
    /// The same of the round trip. With a shorter one, packets that are asked for come before anybody notices.
    static let beginRoundTrip = Nanoseconds.milliseconds(60)
    static let endRoundTrip = Nanoseconds.milliseconds(45)
    /// Large pictures that nobody makes for a poor link are not sent twice.
    static let mostPackets = 8
    /// Copies may be ahead of what the link has room for, in seconds.
    private static let burst = 0.25
    /// What one report has in the mean.
    private static let weight = 1.0 / 8

    private(set) var isOn = false
    private var loss = 0.0
    private var room: (bytes: Double, time: MonotonicTime)?
    /// The first number of the newest picture, and of the one before.
    private var newest: UInt16?
    private var former: UInt16?

    /// The receiver has reported.
    /// - Parameter lost: the share of packets since the report before, 0…1.
    mutating func observe(lost: Double, roundTrip: Nanoseconds?) {
        loss += (min(lost, 0.5) - loss) * Self.weight
        let roundTrip = roundTrip ?? .zero
        isOn =
            isOn
            ? loss >= Self.endLoss && roundTrip >= Self.endRoundTrip
            : loss >= Self.beginLoss && roundTrip >= Self.beginRoundTrip
    }

    /// A packet leaves for the first time.
    /// - Parameter rate: the bits a second that may be sent now; nil where nobody knows.
    mutating func sent(_ bytes: Int, rate: UInt64?, at now: MonotonicTime) {
        guard let rate else { return room = nil }
        let most = Double(rate) / 8 * Self.burst
        let before = room.map { $0.bytes + Double(rate) / 8 * (now - $0.time).seconds } ?? 0
        room = (max(min(before, most) - Double(bytes), -most), now)
    }

    /// A picture has left.
    /// - Parameter next: the number behind its last packet.
    /// - Returns: the numbers of the picture before, and how many; nil where it is not sent again.
    mutating func pictureEnded(before next: UInt16) -> (first: UInt16, count: Int)? {
        defer { (former, newest) = (newest, next) }
        guard isOn, let former, let newest else { return nil }
        let count = Int(newest &- former)
        return (1...Self.mostPackets).contains(count) ? (former, count) : nil
    }

    /// Whether there is room for a copy of so many bytes. It counts as sent when this says so.
    mutating func claim(_ bytes: Int) -> Bool {
        guard let room, room.bytes > 0 else { return false }
        self.room = (room.bytes - Double(bytes), room.time)
        return true
    }
}
