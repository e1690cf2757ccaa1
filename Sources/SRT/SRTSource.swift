import Endpoint
import Media
import Packets
import Synchronization

/// Receives messages over SRT, early or with SRT's own delay, in the sender's order.
///
/// `receive` belongs to one thread; everything else may be called from any.
package final class SRTSource: Sendable {
    private let link: SRTLink
    private let receiver: ThreadConfined<OrderedReceiver<SRTFeed>>

    /// - Parameters:
    ///   - mostHeld: how far past a missing message others are held. libsrt's own receive buffer reaches as far,
    ///     which is a second at 86 Mb/s. For tests: less.
    ///   - health: whether messages can be read early; the process's own, except in tests.
    package init(
        _ endpoint: SRTEndpoint, mostHeld: Int = 8192, health: ArrivalHealth = .shared
    ) throws(TransportError) {
        guard endpoint.maxReaders == nil else {
            throw TransportError(.badURL, place: endpoint.description, "maxreaders is for outputs: an input has one sender")
        }
        link = try SRTLink(endpoint, direction: .input, health: health)
        receiver = ThreadConfined(OrderedReceiver(SRTFeed(link), capacity: mostHeld, room: Message.largest))
    }

    deinit { link.stop() }

    package func beginClosing() { link.beginStopping() }
    package func close() { link.stop() }

    package var localPort: UInt16 { link.localPort }
    package var negotiatedWindow: Nanoseconds { link.negotiatedWindow }
    package var failureBeforeFirstConnection: TransportError? { link.failureBeforeFirstConnection }
    package var trouble: LegTrouble? { link.trouble }
    package func statistics() -> LegFigures { link.statistics() }
    package var peers: [ConnectedPeer] { link.peers }
    package func kick(_ id: UInt64, for time: Nanoseconds) -> Bool { link.kick(id, for: time) }

    /// What sees the present connection's packets. For tests.
    var tap: ArrivalTap? { link.tap }

    package func interrupt() { link.interrupt() }

    package func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        receiver.use { unsafe $0.receive(into: buffer, until: limit) }
    }
}
