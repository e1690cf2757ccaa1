import Media
import Synchronization

/// Sends MPEG-TS over RTP to one address, with sender reports to the port above. Never waits. `send` belongs to one thread.
@safe final class RTPSink: @unchecked Sendable {
    /// How often reports go out. RFC 3550 (6.2) has many receivers vary it, so that they do not speak in step; here is one
    /// sender.
    static let reportEvery = Nanoseconds.seconds(5)

    private let stream: DatagramSocket
    private let reports: DatagramSocket
    /// A packet's header and a report, made anew in place for each.
    private let head = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPHeader.byteCount, alignment: 16)
    private let report = UnsafeMutableRawBufferPointer.allocate(byteCount: RTCPDatagram.mostBytes, alignment: 16)

    // All three begin anywhere, as RFC 3550 (5.1) has it.
    private let source = UInt32.random(in: 1 ... .max)
    private var sequence = UInt16.random(in: 0 ... .max)
    private let firstTimestamp = UInt32.random(in: 0 ... .max)
    private let name = UInt64.random(in: 0 ... .max)
    private var nextReport = MonotonicTime(nanoseconds: 0)

    private let datagrams = SentDatagrams()
    private let reported = Atomic<Int64>(0)

    init(_ endpoint: RTPEndpoint) throws(TransportError) {
        let place = endpoint.description
        guard !endpoint.host.isEmpty, endpoint.port != 0 else {
            throw TransportError(.badURL, place: place, "an output needs a host and a port: rtp://host:port")
        }
        guard endpoint.latency == nil else {
            throw TransportError(.badURL, place: place, "latency is for inputs: an output waits for nothing")
        }
        let sockets = try RTPSockets.sending(to: endpoint)
        stream = sockets.stream
        reports = sockets.reports
    }

    deinit {
        if datagrams.count > 0 { sendReport(at: .now(), isGoodbye: true) }
        unsafe head.deallocate()
        unsafe report.deallocate()
    }

    func statistics() -> LegStatistics {
        var figures = datagrams.statistics()
        figures.reports = reported.load(ordering: .relaxed)
        return figures
    }

    func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
        let now = MonotonicTime.now()
        unsafe RTPHeader(sequence: sequence, timestamp: timestamp(at: sourceTime ?? now), source: source).write(to: head)
        // A packet that does not go out is one that got lost: receivers are to see that.
        sequence &+= 1
        let sent = unsafe stream.send(UnsafeRawBufferPointer(head), message)
        datagrams.note(sent, byteCount: message.count)
        // Behind the first packet: receivers know the source by then.
        if now >= nextReport {
            nextReport = now + Self.reportEvery
            sendReport(at: now, isGoodbye: false)
        }
        return sent
    }

    private func timestamp(at time: MonotonicTime) -> UInt32 {
        firstTimestamp &+ UInt32(truncatingIfNeeded: MediaTime.ticks(in: Nanoseconds(time.nanoseconds)))
    }

    /// Lost reports are replaced by the next ones.
    private func sendReport(at now: MonotonicTime, isGoodbye: Bool) {
        let said = SenderReport(
            source: source, wallClock: wallClockNow(), timestamp: timestamp(at: now),
            packets: UInt32(truncatingIfNeeded: datagrams.count),
            bytes: UInt32(truncatingIfNeeded: datagrams.bytes))
        let count = unsafe RTCPDatagram.write(said, name: name, isGoodbye: isGoodbye, to: report)
        let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        let datagram = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(report)[..<count])
        if unsafe reports.send(none, datagram) == .sent { reported.add(1, ordering: .relaxed) }
    }
}
