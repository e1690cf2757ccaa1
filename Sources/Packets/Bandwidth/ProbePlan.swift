import Media

/// Decides how often a picture's last packet leaves once more with it, and how many times. A picture of one packet shows nothing of what
/// the link carries (``PacketTrains``), so the rate could never rise far beyond what is sent. libwebrtc probes for the same reason while
/// the sender has little to send (`alr_experiment`); a picture that is made longer needs no clusters of its own.
///
/// While no pictures are sent, packets of the newest ones leave again instead, some in a row.
///
/// A pure value; it reads no clock.
struct ProbePlan: Sendable {
    /// The packets of one probe.
    static let packets = 3
    /// What probes have of the rate that may be sent.
    static let share = 0.1
    /// A probe takes no longer at that rate, in seconds: nothing waits longer for it.
    static let longest = 0.05
    /// The rate before one is known, bits a second.
    static let firstRate = 300_000.0
    /// A lower rate counts as this one: a link that has recovered could not show it.
    static let leastRate = 100_000.0

    /// Without pictures a probe leaves so often, and takes no longer at the rate, in seconds: sound waits for it. It has at most so many packets,
    /// and at least ``packets``: two show nothing where a receiver's clock is coarse.
    static let interval = Nanoseconds.milliseconds(250)
    static let longestAlone = 0.06
    static let mostAlone = 6
    /// A packet shows little that has fewer bytes, or costs too much that has more.
    static let sizes = 150...1_250

    private var next: MonotonicTime?

    /// A picture goes out whose last packet has so many bytes.
    /// - Parameter rate: the bits a second that may be sent now; nil where nobody knows.
    /// - Returns: how many times that packet is to leave again. It counts as done.
    mutating func claim(bytes: Int, rate: Double?, at now: MonotonicTime) -> Int {
        guard next.map({ now >= $0 }) ?? true else { return 0 }
        let rate = max(rate ?? Self.firstRate, Self.leastRate)
        let bits = Double(max(bytes, 1) * 8)
        let count = min(Self.packets, Int(rate * Self.longest / bits))
        guard count > 0 else { return 0 }
        next = now + .seconds(bits * Double(count) / (rate * Self.share))
        return count
    }

    /// No pictures are sent.
    /// - Parameter rate: the bits a second that may be sent now; nil where nobody knows.
    /// - Returns: how many bytes a probe may have, if one is due. It counts as done.
    mutating func claimAlone(rate: Double?, at now: MonotonicTime) -> Int? {
        guard next.map({ now >= $0 }) ?? true else { return nil }
        next = now + Self.interval
        let rate = max(rate ?? Self.firstRate, Self.leastRate)
        return Int(rate * Self.longestAlone / 8)
    }
}
