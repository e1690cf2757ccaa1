import CSRT
import Media
import Synchronization

/// Sends messages over SRT, each with the time at which the next hop is to think it was made. Never waits.
///
/// `send` belongs to one thread; everything else may be called from any.
final class SRTSink: @unchecked Sendable {
    private let link: SRTLink
    private let clockOffset: Int64
    private let marksOrder: Bool

    /// Whether the next message may go to another connection: from the telling of one to the next message, and before the
    /// first.
    private let mayChange = Atomic<Bool>(true)

    // The connection that is sent to, as the sending thread knows it.
    private var id: SRTSOCKET = -1
    /// libsrt refuses times from before the connection, in its own microseconds.
    private var earliest: Int64 = 0
    /// Since when it has taken nothing that it was given; nil while it takes.
    private var refusesSince: MonotonicTime?

    /// A connection that has taken nothing for so long takes nothing any more. Where all that is under way is lost and fills
    /// libsrt's buffers, or those of a receiver that is read early (TSBPD off) have been full, each side of libsrt 1.5.1
    /// waits for the other for ever. It waits as long for a peer that is silent.
    private static let patience = Nanoseconds.seconds(5)

    init(_ endpoint: SRTEndpoint, marksOrder: Bool) throws(TransportError) {
        self.marksOrder = marksOrder
        _ = SRTLibrary.started
        clockOffset = SRTLibrary.clockOffset()
        link = try SRTLink(endpoint, direction: .output)
    }

    deinit { link.stop() }

    var localPort: UInt16 { link.localPort }
    var isConnected: Bool { link.socket.load(ordering: .acquiring) >= 0 }
    var failureBeforeFirstConnection: TransportError? { link.failureBeforeFirstConnection }
    func statistics() -> LegStatistics { link.statistics() }

    func nextEvent() -> LegEvent? {
        let event = link.events.take()
        if case .connected = event { mayChange.store(true, ordering: .releasing) }
        return event
    }

    func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
        let mayChange = mayChange.exchange(false, ordering: .acquiring)
        let present = link.socket.load(ordering: .acquiring)
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
        if now - since >= Self.patience { link.giveUp(id) }
        return .wouldBlock
    }

    /// Whether everything sent has reached the peer (or nobody is there to wait for).
    var isFlushed: Bool {
        let present = link.socket.load(ordering: .acquiring)
        var blocks = 0
        return unsafe present < 0 || srt_getsndbuffer(present, &blocks, nil) == SRT_ERROR || blocks == 0
    }
}
