/// Where RTP packets stand by their 16-bit numbers (RFC 3550, A.1): near the highest so far, or so far off that the source
/// may have begun to count anew, which a second packet in a row confirms.
struct RTPOrder: Sendable {
    struct Place: Hashable, Sendable {
        /// Counts the source's packets, without wrapping.
        var number: Int64
        /// From the highest number so far: 1 for the next one, less for those that others have overtaken.
        var step: Int64
    }

    enum Verdict: Hashable, Sendable {
        case at(Place)
        /// A single packet from nowhere.
        case astray
        /// The source counts anew from here.
        case anew
    }

    /// More packets in a row are not lost but counted otherwise: 9 s at 20 Mb/s.
    static let mostLost: Int64 = 1 << 14
    /// No packet is overtaken by more.
    static let mostOvertaken: Int64 = 1 << 10

    private var numbers = SequenceUnwrapper(bits: 16)
    /// The number that would confirm a new count.
    private var expected: UInt16?

    init() {}

    /// Takes the first packet's number.
    mutating func begin(at number: UInt16) -> Int64 {
        self = RTPOrder()
        return numbers.unwrap(Int64(number))
    }

    mutating func judge(_ number: UInt16) -> Verdict {
        let step = numbers.step(to: Int64(number))
        guard (-Self.mostOvertaken...Self.mostLost).contains(step) else {
            if expected == number { return .anew }
            expected = number &+ 1
            return .astray
        }
        expected = nil
        return .at(Place(number: numbers.unwrap(Int64(number)), step: step))
    }
}
