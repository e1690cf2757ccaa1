/// Where RTP packets stand by their 16-bit numbers (RFC 3550, A.1): near the highest so far, or so far off that the source
/// may have begun to count anew, which a second packet in a row confirms.
///
/// Packets of a source that begins anew a little behind where it was look like copies of earlier ones. But a copy has its
/// original's time stamp, however it comes. So a known number with another time stamp counts as far off, too.
struct RTPOrder: Sendable {
    struct Place: Hashable, Sendable {
        /// Counts the source's packets, without wrapping.
        var number: Int64
        /// From the highest number so far: 1 for the next one, less for one that others have overtaken.
        var step: Int64
    }

    enum Verdict: Hashable, Sendable {
        case at(Place)
        /// A single packet that is far off.
        case unexpected
        /// The source counts anew from here.
        case startsAnew
    }

    /// A longer step is no loss but a new count: 9 s at 20 Mb/s.
    static let mostLost: Int64 = 1 << 14
    /// No packet is overtaken by more, and no copy is further behind: 0.5 s at 20 Mb/s.
    static let mostOvertaken: Int64 = 1 << 10

    /// A packet that is sent again lies behind the newest one, or a little ahead where it has overtaken others. Numbers further ahead
    /// are another source's.
    static let mostRepeatedAhead: Int64 = 64

    /// What is lost for longer is not repaired by what later packets carry along.
    private static let mostCompared: Int64 = 32

    /// A packet that has come.
    private struct Seen {
        /// In the count without wrapping; ``nothing`` before any.
        var number = nothing
        var timestamp: UInt32 = 0
        static let nothing = Int64.min
    }

    private var numbers = SequenceUnwrapper(bits: 16)
    /// The number that would confirm a new count.
    private var expected: UInt16?
    /// The newest packets, each at the place given by its number's last bits.
    private var seen = [Seen](repeating: Seen(), count: Int(mostOvertaken))

    init() {}

    /// Begins with the first packet.
    mutating func begin(at number: UInt16, timestamp: UInt32) -> Int64 {
        numbers = SequenceUnwrapper(bits: 16)
        expected = nil
        for place in seen.indices { seen[place] = Seen() }
        let first = numbers.unwrap(Int64(number))
        seen[place(of: first)] = Seen(number: first, timestamp: timestamp)
        return first
    }

    /// - Parameter isRepeat: the packet was asked for again. It says nothing of where its source counts.
    mutating func judge(_ number: UInt16, timestamp: UInt32, isRepeat: Bool = false) -> Verdict {
        let step = numbers.step(to: Int64(number))
        let most = isRepeat ? Self.mostRepeatedAhead : Self.mostLost
        guard (1 - Self.mostOvertaken...most).contains(step) else { return judgeFarOff(number, isRepeat) }
        var after = numbers
        let packet = Seen(number: after.unwrap(Int64(number)), timestamp: timestamp)
        let place = place(of: packet.number)
        if seen[place].number == packet.number, seen[place].timestamp != timestamp { return judgeFarOff(number, isRepeat) }
        numbers = after
        seen[place] = packet
        if !isRepeat { expected = nil }
        return .at(Place(number: packet.number, step: step))
    }

    /// Whether a packet that is missing may have a time stamp: it lies behind that of the nearest one before that has come, and before
    /// that of the nearest one behind. Says nothing of packets further away than ``mostCompared``.
    func admits(_ number: Int64, timestamp: UInt32) -> Bool {
        for step in 1...Self.mostCompared {
            let before = seen[place(of: number - step)]
            guard before.number == number - step else { continue }
            guard Int32(bitPattern: timestamp &- before.timestamp) > 0 else { return false }
            break
        }
        for step in 1...Self.mostCompared {
            let behind = seen[place(of: number + step)]
            guard behind.number == number + step else { continue }
            return Int32(bitPattern: behind.timestamp &- timestamp) > 0
        }
        return true
    }

    private mutating func judgeFarOff(_ number: UInt16, _ isRepeat: Bool) -> Verdict {
        if isRepeat { return .unexpected }
        if expected == number { return .startsAnew }
        expected = number &+ 1
        return .unexpected
    }

    private func place(of number: Int64) -> Int { Int(truncatingIfNeeded: number & (Self.mostOvertaken - 1)) }
}
