import Media

/// Decides how many bits a second the outputs' links carry, between a floor and a ceiling: down at once when a link does not keep
/// up, up again in small steps (additive increase, multiplicative decrease; Chiu and Jain 1989).
///
/// A link does not keep up when more waits in its send buffer than its round trip and a part of its recovery window explain, or
/// when it has dropped packets that had become too old. Packets that are lost and sent again in time are no reason: SRT makes
/// good for them.
///
/// One slow link lowers the others to the floor at most, which is the operator's. A link that does not keep up at the floor
/// either counts no more until it has kept up for a while: it would hold the others there for ever.
///
/// A pure value; it reads no clock.
struct LinkRate {
    /// What one link says at one moment.
    struct Sample {
        /// The same for the same connection.
        var id: UInt64
        /// From the oldest packet in the send buffer to the newest.
        var waiting: Nanoseconds
        var roundTripTime: Nanoseconds
        var window: Nanoseconds
        /// Packets that were dropped because they had become too old, since the connection began.
        var packetsDropped: Int64
    }

    private struct Link {
        var id: UInt64
        var packetsDropped: Int64
        var isBehind = false
        /// Since when it has been behind at the floor, or has kept up again.
        var since: MonotonicTime
        var counts = true
    }

    /// What the next rate is of the one before, where a link is behind.
    static let decrease = 0.75
    /// After a decrease, what waits has to leave before the next says anything.
    static let decreaseInterval = Nanoseconds.milliseconds(1_500)
    /// So long all links keep up before the rate rises, and then by this share of the ceiling each second.
    static let increaseDelay = Nanoseconds.seconds(4)
    static let increase = 0.04
    /// A link that has been behind at the floor for so long does not count, until it has kept up for as long.
    static let hopelessTimeout = Nanoseconds.seconds(6)

    private(set) var rate: Int
    private var range: ClosedRange<Int>
    private var links: [Link] = []
    private var lastChange: MonotonicTime
    private var lastBehind: MonotonicTime?

    init(_ range: ClosedRange<Int>, at now: MonotonicTime) {
        self.range = range
        rate = range.upperBound
        lastChange = now
    }

    /// The operator has set other limits.
    mutating func set(_ range: ClosedRange<Int>) {
        // At the ceiling it stays at the ceiling.
        rate = rate == self.range.upperBound ? range.upperBound : min(max(rate, range.lowerBound), range.upperBound)
        self.range = range
    }

    /// - Returns: the bit rate from now on.
    mutating func observe(_ samples: [Sample], at now: MonotonicTime) -> Int {
        links.removeAll { link in !samples.contains { $0.id == link.id } }
        for sample in samples { observe(sample, at: now) }
        if links.contains(where: { $0.isBehind && $0.counts }) {
            lastBehind = now
            if now - lastChange >= Self.decreaseInterval, rate > range.lowerBound {
                rate = max(range.lowerBound, Int(Double(rate) * Self.decrease))
                lastChange = now
            }
        } else if rate < range.upperBound, lastBehind.map({ now - $0 >= Self.increaseDelay }) ?? true {
            let step = Double(range.upperBound) * Self.increase * min((now - lastChange).seconds, 1)
            rate = min(range.upperBound, rate + Int(step))
            lastChange = now
        }
        return rate
    }

    private mutating func observe(_ sample: Sample, at now: MonotonicTime) {
        guard let index = links.firstIndex(where: { $0.id == sample.id }) else {
            links.append(Link(id: sample.id, packetsDropped: sample.packetsDropped, since: now))
            return
        }
        let usual = sample.roundTripTime * 2 + .milliseconds(20)
        let isBehind =
            sample.packetsDropped > links[index].packetsDropped
            || sample.waiting > usual + max(sample.window / 2, .milliseconds(20))
        links[index].packetsDropped = sample.packetsDropped
        let isAtFloor = rate <= range.lowerBound
        let wasBehind = links[index].isBehind
        links[index].isBehind = isBehind
        if links[index].counts {
            // The time counts from when the rate had reached the floor.
            if !(isBehind && isAtFloor && wasBehind) { links[index].since = now }
            if now - links[index].since >= Self.hopelessTimeout {
                links[index].counts = false
                links[index].since = now
            }
        } else {
            if isBehind { links[index].since = now }
            if now - links[index].since >= Self.hopelessTimeout {
                links[index].counts = true
                links[index].since = now
            }
        }
    }
}
