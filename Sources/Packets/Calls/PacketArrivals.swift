import Media

/// When the packets of a session came, until the sender is told (``TransportFeedback``).
///
/// Fixed memory. Owned by one thread.
struct PacketArrivals: Sendable {
    private struct Arrival {
        var number = nothing
        var time = MonotonicTime(nanoseconds: 0)
        static let nothing = Int64.min
    }

    /// Numbers that lie further apart are no loss: the sender counts anew. A second at 10 Mb/s.
    static let capacity = 1024

    private var numbers = SequenceUnwrapper(bits: 16)
    /// The newest packets, each at the place given by its number's last bits. A packet that others have overtaken is told with
    /// those that came before it, or they would count as lost.
    private var arrivals = [Arrival](repeating: Arrival(), count: capacity)
    /// What is to be told of; nil before the first packet.
    private var range: Range<Int64>?
    private var count: UInt8 = 0
    /// Something has come since the last report.
    private(set) var hasNews = false
    /// What ``claim()`` has found.
    private(set) var report = TransportFeedback()

    private func place(of number: Int64) -> Int { Int(truncatingIfNeeded: number) & (Self.capacity - 1) }

    mutating func record(_ wire: UInt16, at time: MonotonicTime) {
        if abs(numbers.step(to: Int64(wire))) >= Self.capacity {
            numbers = SequenceUnwrapper(bits: 16)
            for place in arrivals.indices { arrivals[place].number = Arrival.nothing }
            range = nil
        }
        let number = numbers.unwrap(Int64(wire))
        let place = place(of: number)
        guard arrivals[place].number != number else { return }
        arrivals[place] = Arrival(number: number, time: time)
        let told = range ?? number..<number
        let end = max(told.upperBound, number + 1)
        // A report has room for so many. Nobody reads more of them.
        let earliest = end - Int64(TransportFeedback.mostPackets)
        guard number >= earliest else { return }
        range = max(min(told.lowerBound, number), earliest)..<end
        hasNews = true
    }

    /// Fills ``report`` with what is to be told now.
    /// - Returns: false where nothing has come.
    mutating func claim() -> Bool {
        guard hasNews, let told = range else { return false }
        report.base = UInt16(truncatingIfNeeded: told.lowerBound)
        report.number = count
        report.arrivals.removeAll(keepingCapacity: true)
        var start: Int64?
        for number in told {
            let arrival = arrivals[place(of: number)]
            guard arrival.number == number else {
                report.arrivals.append(nil)
                continue
            }
            let reference = start ?? arrival.time.nanoseconds / TransportFeedback.referenceStep
            start = reference
            report.arrivals.append(
                (arrival.time.nanoseconds - reference * TransportFeedback.referenceStep) / TransportFeedback.step)
        }
        report.reference = UInt32(truncatingIfNeeded: (start ?? 0) & 0xff_ffff)
        range = told.upperBound..<told.upperBound
        hasNews = false
        count &+= 1
        return true
    }
}
