import Endpoint
import Media
import Synchronization

/// Sends MPEG-TS over RTP to one address, with sender reports to the port above. Never waits. One thread at a time calls `send`.
package final class RTPSink: Sendable {
    private let figures = Figures()
    private let sender: ThreadConfined<Sender>

    /// Counted by the thread that sends, read by any.
    private final class Figures: Sendable {
        let datagrams = SentDatagrams()
        let reports = Atomic<Int64>(0)
    }

    /// - Parameter state: go on as this sender; nil for a new one.
    package init(_ endpoint: RTPEndpoint, resuming state: RTPSenderState? = nil) throws(TransportError) {
        let place = endpoint.description
        guard !endpoint.host.isEmpty, endpoint.port != 0 else {
            throw TransportError(.badURL, place: place, "an output needs a host and a port: rtp://host:port")
        }
        guard endpoint.latency == nil else {
            throw TransportError(.badURL, place: place, "latency is for inputs: an output waits for nothing")
        }
        sender = ThreadConfined(Sender(try RTPSockets.sending(to: endpoint), figures, state ?? .random()))
    }

    /// For the thread that sends.
    package var state: RTPSenderState { sender.use { $0.state } }

    package func statistics() -> LegFigures {
        var statistics = figures.datagrams.statistics()
        statistics.reports = figures.reports.load(ordering: .relaxed)
        return statistics
    }

    package func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
        sender.use { unsafe $0.send(message, sourceTime: sourceTime) }
    }

    @safe private struct Sender: ~Copyable {
        /// How often reports go out. RFC 3550 (6.2) has the interval vary, so that many receivers do not speak in step; this
        /// is one sender.
        private static let reportInterval = Nanoseconds.seconds(5)

        private let sockets: RTPSockets
        private let figures: Figures
        /// A packet's header and a report, written anew for each.
        private let head = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPHeader.byteCount, alignment: 16)
        private let report = UnsafeMutableRawBufferPointer.allocate(byteCount: RTCPDatagram.mostBytes, alignment: 16)

        private(set) var state: RTPSenderState
        private let name = UInt64.random(in: 0 ... .max)
        private var nextReport = MonotonicTime(nanoseconds: 0)

        init(_ sockets: consuming RTPSockets, _ figures: Figures, _ state: RTPSenderState) {
            self.sockets = sockets
            self.figures = figures
            self.state = state
        }

        deinit {
            if figures.datagrams.count > 0 { sendReport(at: .now(), isGoodbye: true) }
            unsafe head.deallocate()
            unsafe report.deallocate()
        }

        mutating func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
            let now = MonotonicTime.now()
            let header = RTPHeader(
                sequence: state.sequence, timestamp: timestamp(at: sourceTime ?? now), source: state.source)
            unsafe header.write(to: head)
            // The number of a packet that does not go out is used up, so that receivers see a loss.
            state.sequence &+= 1
            let sent = unsafe sockets.stream.send(UnsafeRawBufferPointer(head), message)
            figures.datagrams.record(sent, byteCount: message.count)
            // Behind the first packet, from which receivers know the source.
            if now >= nextReport {
                nextReport = now + Self.reportInterval
                sendReport(at: now, isGoodbye: false)
            }
            return sent
        }

        private func timestamp(at time: MonotonicTime) -> UInt32 {
            state.timestampBase &+ UInt32(truncatingIfNeeded: MediaTime.ticks(in: Nanoseconds(time.nanoseconds)))
        }

        /// A lost report does no harm: the next one replaces it.
        private func sendReport(at now: MonotonicTime, isGoodbye: Bool) {
            let said = SenderReport(
                source: state.source, wallClock: wallClockNow(), timestamp: timestamp(at: now),
                packets: UInt32(truncatingIfNeeded: figures.datagrams.count),
                bytes: UInt32(truncatingIfNeeded: figures.datagrams.bytes))
            let count = unsafe RTCPDatagram.write(said, name: name, isGoodbye: isGoodbye, to: report)
            let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
            let datagram = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(report)[..<count])
            if unsafe sockets.reports.send(none, datagram) == .sent { figures.reports.add(1, ordering: .relaxed) }
        }
    }
}

/// What an RTP sender's receivers know it by. With it another process goes on for the same receivers.
public struct RTPSenderState: Hashable, Sendable, BitwiseCopyable {
    /// The synchronisation source.
    public var source: UInt32
    /// The next packet's sequence number.
    public var sequence: UInt16
    /// The time stamp at time zero of the monotonic clock.
    public var timestampBase: UInt32

    public init(source: UInt32, sequence: UInt16, timestampBase: UInt32) {
        self.source = source
        self.sequence = sequence
        self.timestampBase = timestampBase
    }

    /// RFC 3550 (5.1) has all of these begin anywhere.
    static func random() -> RTPSenderState {
        RTPSenderState(
            source: .random(in: 1 ... .max), sequence: .random(in: 0 ... .max), timestampBase: .random(in: 0 ... .max))
    }
}
