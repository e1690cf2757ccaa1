import CSRT
import Endpoint
import Media
import Synchronization

/// Sends messages over SRT, each with the source time that the next hop is to know it by. Never waits.
///
/// One thread at a time calls `send` and `nextEvent`; everything else may be called from any.
final class SRTSink: Sendable {
    private let link: SRTLink
    private let sender: ThreadConfined<Sender>

    /// Whether the next message may go to another connection: from the report of one to the next message, and before the
    /// first.
    private let mayChange = Atomic<Bool>(true)

    init(_ endpoint: SRTEndpoint, marksOrder: Bool, judge: (any CallJudge)? = nil) throws(TransportError) {
        link = try SRTLink(endpoint, direction: .output, judge: judge)
        sender = ThreadConfined(Sender(clockOffset: SRTLibrary.clockOffset(), marksOrder: marksOrder))
    }

    deinit { link.stop() }

    func beginClosing() { link.beginStopping() }
    func close() { link.stop() }

    var localPort: UInt16 { link.localPort }
    var isConnected: Bool { link.socket.load(ordering: .acquiring) >= 0 }
    var failureBeforeFirstConnection: TransportError? { link.failureBeforeFirstConnection }
    func statistics() -> LegStatistics { link.statistics() }
    var peers: [ConnectedPeer] { link.peers }
    func kick(_ id: UInt64, for time: Nanoseconds) -> Bool { link.kick(id, for: time) }

    func nextEvent() -> LegEvent? {
        let event = link.events.pop()
        if case .connected = event { mayChange.store(true, ordering: .releasing) }
        return event
    }

    func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
        let mayChange = mayChange.exchange(false, ordering: .acquiring)
        let present = link.socket.load(ordering: .acquiring)
        return sender.use { unsafe $0.send(message, sourceTime: sourceTime, to: present, mayChange: mayChange, link) }
    }

    /// Whether everything sent has reached the peer (or nobody is there to wait for).
    var isFlushed: Bool {
        let present = link.socket.load(ordering: .acquiring)
        var blocks = 0
        return unsafe present < 0 || srt_getsndbuffer(present, &blocks, nil) == SRT_ERROR || blocks == 0
    }

    /// The connection that is sent to, as the sending thread knows it.
    private struct Sender {
        let clockOffset: Int64
        let marksOrder: Bool
        private var id: SRTSOCKET = -1
        /// libsrt refuses times from before the connection, in its own microseconds.
        private var earliest: Int64 = 0
        /// Since when libsrt has accepted no message; nil while it accepts them.
        private var refusesSince: MonotonicTime?

        /// A connection that has accepted nothing for so long accepts nothing any more. Where all that is under way is lost
        /// and fills libsrt's buffers, or those of a receiver that is read early (TSBPD off) have been full, each side of
        /// libsrt 1.5.1 waits for the other for ever. libsrt waits as long for a silent peer.
        private static let sendStallTimeout = Nanoseconds.seconds(5)

        init(clockOffset: Int64, marksOrder: Bool) {
            self.clockOffset = clockOffset
            self.marksOrder = marksOrder
        }

        mutating func send(
            _ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?, to present: SRTSOCKET, mayChange: Bool,
            _ link: SRTLink
        ) -> Sent {
            if present != id, present >= 0, mayChange {
                id = present
                earliest = srt_connection_time(id) + 1
                refusesSince = nil
            }
            guard id >= 0, id == present else { return .notConnected }
            var control = unsafe SRT_MSGCTRL()
            unsafe srt_msgctrl_init(&control)
            unsafe control.inorder = marksOrder ? 1 : 0
            if let sourceTime {
                unsafe control.srctime = max((sourceTime.nanoseconds + clockOffset) / 1_000, earliest)
            }
            let count = unsafe srt_sendmsg2(
                id, message.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(message.count), &control)
            guard count == SRT_ERROR else {
                refusesSince = nil
                return .sent
            }
            guard srt_getlasterror(nil) == SRT_EASYNCSND.rawValue else { return .notConnected }
            let now = MonotonicTime.now()
            let since = refusesSince ?? now
            refusesSince = since
            if now - since >= Self.sendStallTimeout { link.abandon(id) }
            return .wouldBlock
        }
    }
}
