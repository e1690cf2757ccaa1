import Media

/// What the losses of a link say of a rate, once a second. Many links lose a share of their packets whatever is sent, so losses
/// count by how much they exceed the least of the last seconds. Above a tenth they count in any case (draft-ietf-rmcat-gcc-02, 6).
///
/// A pure value.
struct LossLimit: Sendable {
    enum Advice: Hashable, Sendable {
        /// The rate may rise.
        case rise
        case hold
        /// So large a share was lost, 0…1.
        case fall(Double)
    }

    static let muchLost = 0.10
    /// Beyond what is usual.
    static let muchMore = 0.05
    static let littleMore = 0.02
    private static let interval = Nanoseconds.seconds(1)
    private static let memory = 10
    /// Of fewer packets the share is chance.
    private static let fewestPackets = 20
    private static let fewestLost = 5

    private var since: MonotonicTime?
    private var packets = 0
    private var lost = 0
    private var seconds: [10 of Double] = .init(repeating: 0)
    private var count = 0

    mutating func count(isLost: Bool) {
        packets += 1
        if isLost { lost += 1 }
    }

    /// A packet that counted as lost has come after all.
    mutating func correct() { lost = max(0, lost - 1) }

    /// - Returns: nil between two seconds.
    mutating func claim(at now: MonotonicTime) -> Advice? {
        guard let begin = since else {
            since = now
            return nil
        }
        guard now - begin >= Self.interval, packets >= Self.fewestPackets else { return nil }
        let part = Double(lost) / Double(packets)
        let excess = part - min(usual ?? 0, Self.muchLost)
        let isMuch = (part > Self.muchLost || excess > Self.muchMore) && lost >= Self.fewestLost
        seconds[count % Self.memory] = part
        count += 1
        (since, packets, lost) = (now, 0, 0)
        return isMuch ? .fall(part) : excess <= Self.littleMore ? .rise : .hold
    }

    /// The least of the last seconds; nil before any.
    private var usual: Double? {
        guard count > 0 else { return nil }
        var least = 1.0
        for place in 0..<min(count, Self.memory) { least = min(least, seconds[place]) }
        return least
    }
}
