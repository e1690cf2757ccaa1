import Media

/// Decides how many bits a second the outputs' links carry, between a floor and a ceiling: down at once when a link does not keep
/// up, up again in small steps (additive increase, multiplicative decrease; Chiu and Jain 1989).
///
/// A link does not keep up when more waits in its send buffer than its round trip and a part of its recovery window explain, or
/// when it has dropped packets that had become too old. Packets that are lost and sent again in time are no reason: SRT makes
/// good for them.
///
/// One slow link lowers the others to the floor at most, which is the operator's. A link that does not keep up at the floor
/// either counts no more until it has kept up for a while: it would hold the others there for ever. So would a receiver that
/// does not keep up, goes and comes again. The next link to its host counts only when it has kept up for a while.
///
/// A pure value; it reads no clock.
struct LinkRate {
    /// What one link says at one moment.
    struct Sample {
        /// The same for the same connection.
        var id: UInt64
        /// The other end's host, without the port.
        var host: String
        /// From the oldest packet in the send buffer to the newest; nil where that is not known just now.
        var waiting: Nanoseconds?
        var roundTripTime: Nanoseconds
        var window: Nanoseconds
        /// Packets that were dropped because they had become too old, since the connection began.
        var packetsDropped: Int64
    }

    private struct Link {
        var id: UInt64
        var host: String
        var began: MonotonicTime
        var packetsDropped: Int64
        var isBehind = false
        var lastBehind: MonotonicTime?
        /// Since when it has been behind at the floor, or has kept up again.
        var since: MonotonicTime
        var counts: Bool
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
    /// So long a new link is not behind, whatever waits: it begins with a keyframe, and its round trip is not known well.
    static let settlingTime = Nanoseconds.seconds(2)
    /// So long a host is remembered whose link was behind when it ended, and so many hosts are.
    static let memory = Nanoseconds.seconds(60)
    static let mostHosts = 64

    private(set) var rate: Int
    private var range: ClosedRange<Int>
    private var links: [Link] = []
    /// Hosts whose links were behind when they ended, and when that was.
    private var endedBehind: [String: MonotonicTime] = [:]
    private var lastChange: MonotonicTime

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

    /// - Parameters:
    ///   - samples: of all links that there are. What is known of others is forgotten.
    ///   - othersReceive: whether there are receivers whose links say nothing, such as files.
    /// - Returns: the bit rate from now on.
    mutating func observe(_ samples: [Sample], othersReceive: Bool = false, at now: MonotonicTime) -> Int {
        forgetEnded(samples, at: now)
        for sample in samples { observe(sample, at: now) }
        // Where nobody else gains by it, a link that is behind at the floor stays there.
        let all = !othersReceive && !links.contains(where: \.counts)
        let counted = links.filter { all || $0.counts }
        if counted.contains(where: \.isBehind) {
            if now - lastChange >= Self.decreaseInterval, rate > range.lowerBound {
                rate = max(range.lowerBound, Int(Double(rate) * Self.decrease))
                lastChange = now
            }
        } else if rate < range.upperBound,
            counted.allSatisfy({ $0.lastBehind.map { now - $0 >= Self.increaseDelay } ?? true })
        {
            let step = Double(range.upperBound) * Self.increase * min((now - lastChange).seconds, 1)
            rate = min(range.upperBound, rate + Int(step))
            lastChange = now
        }
        return rate
    }

    private mutating func forgetEnded(_ samples: [Sample], at now: MonotonicTime) {
        endedBehind = endedBehind.filter { now - $0.value < Self.memory }
        links.removeAll { link in
            guard !samples.contains(where: { $0.id == link.id }) else { return false }
            if link.isBehind || !link.counts { endedBehind[link.host] = now }
            return true
        }
        while endedBehind.count > Self.mostHosts, let oldest = endedBehind.min(by: { $0.value < $1.value }) {
            endedBehind[oldest.key] = nil
        }
    }

    private mutating func observe(_ sample: Sample, at now: MonotonicTime) {
        guard let index = links.firstIndex(where: { $0.id == sample.id }) else {
            links.append(
                Link(
                    id: sample.id, host: sample.host, began: now, packetsDropped: sample.packetsDropped, since: now,
                    counts: endedBehind[sample.host] == nil))
            return
        }
        let usual = sample.roundTripTime * 2 + .milliseconds(20) + max(sample.window / 2, .milliseconds(20))
        let hasDropped = sample.packetsDropped > links[index].packetsDropped
        // What is not known now is as it was.
        let isFull = sample.waiting.map { $0 > usual } ?? links[index].isBehind
        let isBehind = (hasDropped || isFull) && now - links[index].began >= Self.settlingTime
        links[index].packetsDropped = max(links[index].packetsDropped, sample.packetsDropped)
        if isBehind { links[index].lastBehind = now }
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
