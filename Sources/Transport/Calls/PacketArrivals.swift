import Media

/// When the packets of a session came, until the sender is told (``TransportFeedback``).
struct PacketArrivals: Sendable {
    private var numbers = SequenceUnwrapper(bits: 16)
    private var came: [(number: Int64, arrival: MonotonicTime)] = []
    private var next: Int64?
    private var count: UInt8 = 0

    var isEmpty: Bool { came.isEmpty }

    mutating func record(_ number: UInt16, at arrival: MonotonicTime) {
        // Nobody reads more of them than one report holds.
        guard came.count < TransportFeedback.mostPackets else { return }
        came.append((numbers.unwrap(Int64(number)), arrival))
    }

    /// What is to be told now; nil where nothing has come.
    mutating func claim() -> TransportFeedback? {
        guard !came.isEmpty else { return nil }
        came.sort { $0.number < $1.number }
        let last = came[came.count - 1].number
        let base = max(min(came[0].number, next ?? came[0].number), last - Int64(TransportFeedback.mostPackets) + 1)
        var arrivals = [Int64?](repeating: nil, count: Int(last - base + 1))
        let earliest = came.lazy.map(\.arrival).min()!
        let reference = earliest.nanoseconds / TransportFeedback.referenceStep
        let start = reference * TransportFeedback.referenceStep
        for packet in came where packet.number >= base {
            arrivals[Int(packet.number - base)] = (packet.arrival.nanoseconds - start) / TransportFeedback.step
        }
        came.removeAll(keepingCapacity: true)
        next = last + 1
        defer { count &+= 1 }
        return TransportFeedback(
            base: UInt16(truncatingIfNeeded: base), number: count,
            reference: UInt32(truncatingIfNeeded: reference & 0xff_ffff), arrivals: arrivals)
    }
}
