import CSRT
import Endpoint
import Media
import Packets
import Synchronization

/// Sends messages over SRT, each with the source time that the next hop is to know it by. Never waits. A listener serves several
/// readers, each in a place of its own; a caller has one place.
///
/// One thread at a time calls `send` and `nextEvent`; everything else may be called from any.
package final class SRTSink: Sendable {
    private enum Side {
        case caller(SRTLink)
        case listener(SRTReaders)
    }

    private let side: Side
    /// One for each place.
    private let senders: [ThreadConfined<Sender>]

    /// Whether the next message may go to another connection: from the report of one to the next message, and before the
    /// first. Where the sender names no connection.
    private let mayChange = Atomic<Bool>(true)

    /// - Parameter readers: how many a listener serves at a time.
    package init(_ endpoint: SRTEndpoint, readers: Int, marksOrder: Bool)
        throws(TransportError)
    {
        side =
            endpoint.mode == .listener
            ? .listener(try SRTReaders(endpoint, readers: readers))
            : .caller(try SRTLink(endpoint, direction: .output))
        let places =
            switch side {
            case .caller: 1
            case .listener(let readers): readers.places.count
            }
        let clockOffset = SRTLibrary.clockOffset()
        senders = (0..<places).map { _ in ThreadConfined(Sender(clockOffset: clockOffset, marksOrder: marksOrder)) }
    }

    deinit { close() }

    package func beginClosing() {
        switch side {
        case .caller(let link): link.beginStopping()
        case .listener(let readers): readers.beginStopping()
        }
    }

    package func close() {
        switch side {
        case .caller(let link): link.stop()
        case .listener(let readers): readers.stop()
        }
    }

    package var localPort: UInt16 { if case .listener(let readers) = side { readers.localPort } else { 0 } }
    package var places: Int { senders.count }
    package var isConnected: Bool { (0..<places).contains { socket(at: $0) >= 0 } }

    /// The socket of the connection at a place, or -1.
    package func socket(at place: Int) -> SRTSOCKET {
        switch side {
        case .caller(let link): link.socket.load(ordering: .acquiring)
        case .listener(let readers): readers.places[place].socket.load(ordering: .acquiring)
        }
    }

    package var failureBeforeFirstConnection: TransportError? {
        if case .caller(let link) = side { link.failureBeforeFirstConnection } else { nil }
    }

    package var trouble: LegTrouble? {
        switch side {
        case .caller(let link): link.trouble
        case .listener(let readers): readers.trouble
        }
    }

    /// A caller's host has addresses that have not been called yet.
    package var hasUntriedAddress: Bool {
        if case .caller(let link) = side { link.hasUntriedAddress.load(ordering: .acquiring) } else { false }
    }

    package func statistics() -> LegFigures {
        switch side {
        case .caller(let link): link.statistics()
        case .listener(let readers): readers.statistics()
        }
    }

    package var peers: [ConnectedPeer] {
        switch side {
        case .caller(let link): link.peers
        case .listener(let readers): readers.peers
        }
    }

    package func kick(_ id: UInt64, for time: Nanoseconds) -> Bool {
        switch side {
        case .caller(let link): link.kick(id, for: time)
        case .listener(let readers): readers.kick(id, for: time)
        }
    }

    package func nextEvent() -> LegEvent? {
        let event =
            switch side {
            case .caller(let link): link.events.pop()
            case .listener(let readers): readers.events.pop()
            }
        if case .connected = event { mayChange.store(true, ordering: .releasing) }
        return event
    }

    /// Sends to the connection at the first place.
    package func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?) -> Sent {
        let mayChange = mayChange.exchange(false, ordering: .acquiring)
        let present = socket(at: 0)
        return senders[0].use { sender in
            if mayChange { sender.begin(present) }
            return result(unsafe sender.send(message, sourceTime: sourceTime, to: present), present, at: 0)
        }
    }

    /// Sends to a connection, as long as its place has it.
    package func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?, to id: SRTSOCKET, at place: Int) -> Sent {
        guard socket(at: place) == id else { return .notConnected }
        return senders[place].use { sender in
            sender.begin(id)
            return result(unsafe sender.send(message, sourceTime: sourceTime, to: id), id, at: place)
        }
    }

    private func result(_ outcome: Sender.Outcome, _ id: SRTSOCKET, at place: Int) -> Sent {
        switch outcome {
        case .sent: return .sent
        case .notConnected: return .notConnected
        case .wouldBlock: return .wouldBlock
        case .stalled:
            switch side {
            case .caller(let link): link.abandon(id)
            case .listener(let readers): readers.places[place].abandoned.store(id, ordering: .relaxed)
            }
            return .wouldBlock
        }
    }

    /// Whether everything sent has reached its peer (or nobody is there to wait for).
    package var isFlushed: Bool {
        (0..<places).allSatisfy { place in
            let present = socket(at: place)
            var blocks = 0
            return unsafe present < 0 || srt_getsndbuffer(present, &blocks, nil) == SRT_ERROR || blocks == 0
        }
    }

    /// The connection that is sent to, as the sending thread knows it.
    private struct Sender {
        enum Outcome { case sent, wouldBlock, notConnected, stalled }

        let clockOffset: Int64
        let marksOrder: Bool
        private var id: SRTSOCKET = -1
        /// libsrt refuses times from before the connection, in its own microseconds.
        private var earliest: Int64 = 0
        private var stall = SendStall()

        init(clockOffset: Int64, marksOrder: Bool) {
            self.clockOffset = clockOffset
            self.marksOrder = marksOrder
        }

        /// From now on messages go to this connection; -1 changes nothing.
        mutating func begin(_ present: SRTSOCKET) {
            guard present != id, present >= 0 else { return }
            id = present
            earliest = srt_connection_time(id) + 1
            stall = SendStall()
        }

        mutating func send(
            _ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime?, to present: SRTSOCKET
        ) -> Outcome {
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
                stall.accepted(message.count)
                return .sent
            }
            let code = srt_getlasterror(nil)
            // The connection has ended, and its thread sees that.
            if SendStall.isOver(code) { return .notConnected }
            let isFull = code == SRT_EASYNCSND.rawValue
            return stall.refused(message.count, isFull: isFull, at: .now()) ? .stalled : .wouldBlock
        }
    }
}
