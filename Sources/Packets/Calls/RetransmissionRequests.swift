import Media

/// Which lost packets are to be asked for, and when (RFC 4585, generic NACK).
///
/// A packet is asked for as soon as a later one has come, again after a round trip, and until nobody waits for it any more. A
/// pure value; allocates nothing after the first losses.
struct RetransmissionRequests: Sendable {
    private struct Missing {
        var number: Int64
        var firstAsked: MonotonicTime?
        var asked: MonotonicTime?
        var tries = 0
    }

    /// More packets at once are no loss that can be repaired in time.
    static let most = 256
    private static let mostTries = 10
    /// Assumed before a packet that was asked for has come.
    static let firstRoundTrip = Nanoseconds.milliseconds(40)

    private var missing: [Missing] = []
    /// The newest of those that nobody waits for any more. Where the round trip has become longer than packets are held, only they
    /// show it.
    private var forgotten: [Missing] = []
    private static let mostForgotten = 8
    /// From a request to its packet; smoothed as TCP does (RFC 6298).
    private(set) var roundTrip: Nanoseconds?

    var count: Int { missing.count }

    /// How long to wait for an answer before asking again.
    var retryInterval: Nanoseconds {
        let trip = roundTrip ?? Self.firstRoundTrip
        return max(trip + trip / 4, .milliseconds(5))
    }

    mutating func removeAll() {
        missing.removeAll(keepingCapacity: true)
        forgotten.removeAll(keepingCapacity: true)
    }

    /// Packets were found missing.
    /// - Returns: false when they are too many.
    mutating func add(_ numbers: Range<Int64>) -> Bool {
        guard numbers.count + missing.count <= Self.most else {
            missing.removeAll(keepingCapacity: true)
            return false
        }
        for number in numbers { missing.append(Missing(number: number)) }
        return true
    }

    /// A packet has come.
    /// - Returns: whether it had been asked for.
    mutating func came(_ number: Int64, at now: MonotonicTime) -> Bool {
        guard let index = missing.firstIndex(where: { $0.number == number }) else {
            if let late = forgotten.firstIndex(where: { $0.number == number }) {
                observe(from: forgotten.remove(at: late).firstAsked, to: now)
            }
            return false
        }
        let packet = missing.remove(at: index)
        guard let asked = packet.asked else { return false }
        // Of a packet that was asked for twice nobody knows which request it answers, unless it comes too soon after the second.
        if packet.tries == 1 || roundTrip.map({ now - asked < $0 / 2 }) ?? true { observe(from: packet.firstAsked, to: now) }
        return true
    }

    private mutating func observe(from asked: MonotonicTime?, to now: MonotonicTime) {
        guard let asked else { return }
        let sample = max(now - asked, .milliseconds(0.5))
        roundTrip = roundTrip.map { $0 + (sample - $0) / 8 } ?? sample
    }

    /// A packet has come another way. What was asked for may come, too, and says how long that took.
    mutating func withdraw(_ number: Int64) {
        guard let index = missing.firstIndex(where: { $0.number == number }) else { return }
        let packet = missing.remove(at: index)
        if packet.tries > 0 { keep(packet) }
    }

    private mutating func keep(_ packet: Missing) {
        if forgotten.count == Self.mostForgotten { forgotten.removeFirst() }
        forgotten.append(packet)
    }

    /// Nobody waits for packets before this one any more.
    mutating func forget(before number: Int64) {
        for packet in missing where packet.number < number && packet.tries > 0 { keep(packet) }
        missing.removeAll { $0.number < number }
    }

    /// When something is to be asked for; nil when nothing is.
    var due: MonotonicTime? {
        var next: MonotonicTime?
        for packet in missing where packet.tries < Self.mostTries {
            guard let asked = packet.asked else { return MonotonicTime(nanoseconds: .min) }
            next = min(next ?? asked, asked)
        }
        return next.map { $0 + retryInterval }
    }

    /// The numbers to ask for now. They count as asked for.
    mutating func claim(at now: MonotonicTime, _ numbers: inout [UInt16]) {
        let interval = retryInterval
        for index in missing.indices where missing[index].tries < Self.mostTries {
            if let asked = missing[index].asked, now - asked < interval { continue }
            missing[index].asked = now
            missing[index].firstAsked = missing[index].firstAsked ?? now
            missing[index].tries += 1
            numbers.append(UInt16(truncatingIfNeeded: missing[index].number))
        }
    }
}
