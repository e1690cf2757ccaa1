import Media

/// What a receiver reports of a source (RFC 3550, 6.4.1 and A.3, A.8). A pure value.
struct ReceptionFigures: Sendable {
    private var first: Int64?
    private(set) var highest: Int64 = 0
    private(set) var received: Int64 = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore: Int64 = 0
    private var jitter = 0.0
    private var transit: Double?
    private var report: (middle: UInt32, arrival: MonotonicTime)?

    /// - Parameters:
    ///   - number: without wrapping.
    ///   - ticks: the time stamp without wrapping, in ticks of `rate`.
    mutating func record(number: Int64, ticks: Int64, rate: Int, arrival: MonotonicTime) {
        record(number: number)
        let now = Double(arrival.nanoseconds) * Double(rate) / 1e9 - Double(ticks)
        if let transit { jitter += (min(abs(now - transit), 1e8) - jitter) / 16 }
        transit = now
    }

    /// A packet that says nothing of the time.
    mutating func record(number: Int64) {
        if first == nil { (first, highest) = (number, number) }
        highest = max(highest, number)
        received += 1
    }

    /// The number of the wire, without the circles before the first packet.
    mutating func apply(_ sender: SenderReport, arrival: MonotonicTime) {
        report = (UInt32(truncatingIfNeeded: sender.wallClock >> 16), arrival)
    }

    mutating func block(of source: UInt32, at now: MonotonicTime) -> RTCPPacket.ReportBlock? {
        guard let first else { return nil }
        let expected = highest - first + 1
        let lost = expected - received
        let interval = expected - expectedBefore
        let lostInterval = interval - (received - receivedBefore)
        (expectedBefore, receivedBefore) = (expected, received)
        let fraction = interval > 0 && lostInterval > 0 ? UInt8(min(255, lostInterval * 256 / interval)) : 0
        let delay = report.map { max(0, (now - $0.arrival).count) } ?? 0
        return RTCPPacket.ReportBlock(
            source: source, fractionLost: fraction, lost: Int32(min(max(lost, -0x80_0000), 0x7f_ffff)),
            highestSequence: UInt32(truncatingIfNeeded: highest), jitter: UInt32(min(jitter, Double(UInt32.max))),
            lastReport: report?.middle ?? 0, delay: UInt32(truncatingIfNeeded: delay / 1000 * 65536 / 1_000_000))
    }
}
