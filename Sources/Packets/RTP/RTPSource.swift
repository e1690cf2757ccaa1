import Endpoint
import Media
import Synchronization

/// Receives MPEG-TS over RTP in the sender's order, with source times.
///
/// `receive` belongs to one thread; everything else may be called from any.
package final class RTPSource: Sendable {
    private let window: Nanoseconds
    private let bell: Bell
    private let figures: RTPFigures
    private let receiver: ThreadConfined<OrderedReceiver<RTPFeed>>
    package let localPort: UInt16

    package init(_ endpoint: RTPEndpoint) throws(TransportError) {
        let sockets = try RTPSockets.bound(to: endpoint)
        window = endpoint.window
        localPort = sockets.stream.localPort
        bell = Bell()
        figures = RTPFigures()
        receiver = ThreadConfined(
            OrderedReceiver(
                RTPFeed(sockets, window: window, bell: bell, figures: figures), capacity: Self.mostHeld,
                room: RTPFeed.largest))
    }

    /// How far past a missing packet others are held: 80 ms at 100 Mb/s.
    private static let mostHeld = 1024

    package var negotiatedWindow: Nanoseconds { figures.isConnected.load(ordering: .relaxed) ? window : .zero }
    package func interrupt() { bell.ring() }

    package func statistics() -> LegFigures {
        var statistics = figures.statistics()
        statistics.window = negotiatedWindow
        return statistics
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        receiver.use { unsafe $0.receive(into: buffer, until: limit) }
    }
}

/// The figures of an RTP input. Counted by the thread that receives, read by any.
final class RTPFigures: Sendable {
    let isConnected = Atomic<Bool>(false)
    let connections = Atomic<Int64>(0)
    let received = Atomic<Int64>(0)
    let bytes = Atomic<Int64>(0)
    let lost = Atomic<Int64>(0)
    let dropped = Atomic<Int64>(0)
    let unexpected = Atomic<Int64>(0)
    let reports = Atomic<Int64>(0)
    let reportsRejected = Atomic<Int64>(0)

    func statistics() -> LegFigures {
        var statistics = LegFigures()
        statistics.isConnected = isConnected.load(ordering: .relaxed)
        statistics.connections = connections.load(ordering: .relaxed)
        statistics.packetsReceived = received.load(ordering: .relaxed)
        statistics.bytesReceived = bytes.load(ordering: .relaxed)
        statistics.packetsLost = lost.load(ordering: .relaxed)
        statistics.packetsDropped = dropped.load(ordering: .relaxed)
        statistics.packetsUnexpected = unexpected.load(ordering: .relaxed)
        statistics.reports = reports.load(ordering: .relaxed)
        statistics.reportsRejected = reportsRejected.load(ordering: .relaxed)
        return statistics
    }
}
