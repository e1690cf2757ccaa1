import Endpoint
import Media

/// Where a stream goes out: SRT, RTP, UDP, a file or a pipe.
///
/// One thread at a time calls ``send(_:sourceTime:)`` and ``nextEvent()``, and asks for events only between two units, so that
/// no receiver begins in the middle of one. Everything else may be called from any thread. No allocation per message.
public final class Sink: Sendable {
    private enum Leg {
        case srt(SRTSink)
        case rtp(RTPSink)
        case udp(UDPSink)
        case file(FileSink)
    }

    public let url: StreamURL
    private let leg: Leg

    /// Opens the endpoint. A listener listens when this returns; a caller calls in the background, for ever:
    /// ``awaitConnection(until:)`` shows how the first call went.
    /// - Throws: ``TransportError``: `cannotBind`, `unresolvable`, `unreachable` or `inaccessible`.
    /// - Parameters:
    ///   - judge: has the last word on the callers of an SRT listener.
    ///   - rtp: where the output is RTP, go on as this sender.
    public convenience init(
        _ url: StreamURL, judge: (any CallJudge)? = nil, resuming rtp: RTPSenderState? = nil
    ) throws(TransportError) {
        try self.init(url, marksOrder: false, judge: judge, resuming: rtp)
    }

    /// Writes a file or pipe that somebody else has opened, and closes it in the end.
    /// - Parameter path: what errors call it.
    public init(path: String, adopting descriptor: Int32) throws(TransportError) {
        url = .file(path: path)
        leg = .file(try FileSink(path: path, adopting: descriptor))
    }

    /// - Parameter marksOrder: ask SRT receivers to hold back what comes after a missing message, as FFmpeg does. For
    ///   tests: it helps nobody.
    init(
        _ url: StreamURL, marksOrder: Bool, judge: (any CallJudge)? = nil, resuming rtp: RTPSenderState? = nil
    ) throws(TransportError) {
        self.url = url
        switch url {
        case .srt(let endpoint): leg = .srt(try SRTSink(endpoint, marksOrder: marksOrder, judge: judge))
        case .rtp(let endpoint): leg = .rtp(try RTPSink(endpoint, resuming: rtp))
        case .udp(let endpoint): leg = .udp(try UDPSink(endpoint))
        case .file(let path): leg = .file(try FileSink(path: path))
        case .standardStream: leg = .file(try FileSink(path: nil))
        }
    }

    /// Waits for a caller's first connection. Returns at once for everything else, because a listener or one side of a
    /// rendezvous may be there first.
    /// - Parameter stopped: asked every ``pollInterval``; when it says so, this returns without a connection.
    /// - Throws: why the first attempt failed, or `unreachable` when the time came first. The sink goes on calling.
    public func awaitConnection(
        until limit: MonotonicTime, stopped: () -> Bool = { false }
    ) throws(TransportError) {
        guard case .srt(let sink) = leg, case .srt(let endpoint) = url, endpoint.mode == .caller else { return }
        while !sink.isConnected && !stopped() {
            if let failure = sink.failureBeforeFirstConnection { throw failure }
            guard MonotonicTime.now() < limit else {
                throw TransportError(.unreachable, place: url.description, "nobody answers there")
            }
            (MonotonicTime.now() + Self.pollInterval).sleep()
        }
    }

    /// Hands over one message; never waits (except for a file's disk).
    ///
    /// After the first connection, a message goes to another one only once ``nextEvent()`` has returned its event, so that
    /// what was begun for one peer is not finished to another. Until then the result is ``Sent/notConnected``. So a
    /// sender also asks for events.
    /// - Parameters:
    ///   - message: 1 to ``Message/largest`` bytes.
    ///   - sourceTime: the time at which the message was made, for the next hop; nil for now. Times from before the
    ///     connection count as its beginning.
    public func send(_ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime? = nil) -> Sent {
        precondition((1...Message.largest).contains(message.count), "a message has 1 to \(Message.largest) bytes")
        return switch leg {
        case .srt(let sink): unsafe sink.send(message, sourceTime: sourceTime)
        case .rtp(let sink): unsafe sink.send(message, sourceTime: sourceTime)
        case .udp(let sink): unsafe sink.send(message)
        case .file(let sink): unsafe sink.send(message)
        }
    }

    /// Waits until the peer has everything that was sent, nobody is there, or the time comes.
    public func flush(until limit: MonotonicTime) {
        guard case .srt(let sink) = leg else { return }
        while !sink.isFlushed && .now() < limit { (MonotonicTime.now() + Self.pollInterval).sleep() }
    }

    /// How often a wait at the start or the end of a stream looks again: libsrt has no call that waits for either, and a
    /// millisecond is short beside a connection's handshake.
    private static let pollInterval = Nanoseconds.milliseconds(1)

    /// Removes the oldest event; nil when there is none. Costs one atomic load then.
    public func nextEvent() -> LegEvent? {
        switch leg {
        case .srt(let sink): sink.nextEvent()
        case .rtp, .udp: nil
        case .file(let sink): sink.nextEvent()
        }
    }

    /// Whether messages can go out now. Costs an atomic load at most.
    public var isConnected: Bool {
        switch leg {
        case .srt(let sink): sink.isConnected
        case .rtp, .udp: true
        case .file(let sink): !sink.isBroken
        }
    }

    /// Whether nothing can ever go out again: a file or pipe that a write failed on. Network legs recover by themselves.
    public var isBroken: Bool {
        if case .file(let sink) = leg { sink.isBroken } else { false }
    }

    /// The port that a listener is bound to, 0 otherwise.
    public var localPort: UInt16 {
        if case .srt(let sink) = leg { sink.localPort } else { 0 }
    }

    /// Begins to close the endpoint for good, without waiting for what is still on its way: ``close()`` waits for it. Where
    /// several endpoints are closed, begin with all of them.
    public func beginClosing() { if case .srt(let sink) = leg { sink.beginClosing() } }

    /// Closes the endpoint for good. When this returns, an SRT peer has been told; it takes
    /// ``SRTLink/connectionPollInterval`` at most. Nothing can be sent any more.
    public func close() { if case .srt(let sink) = leg { sink.close() } }

    /// What RTP's receivers know this sender by; nil elsewhere. For the thread that sends.
    public var rtpState: RTPSenderState? { if case .rtp(let sink) = leg { sink.state } else { nil } }

    /// The leg's figures now. Takes a few microseconds; meant for once a second.
    public func statistics() -> LegStatistics {
        switch leg {
        case .srt(let sink): sink.statistics()
        case .rtp(let sink): sink.statistics()
        case .udp(let sink): sink.statistics()
        case .file(let sink): sink.statistics()
        }
    }

    /// The connections that the leg has now. SRT's legs have one at most; the others have none to show.
    public var peers: [ConnectedPeer] {
        if case .srt(let sink) = leg { sink.peers } else { [] }
    }

    /// Ends a connection and keeps its peer out for so long: a listener refuses callers from its host, a caller does not call.
    /// The leg goes on.
    /// - Returns: false when the leg has no such connection.
    public func kick(_ id: UInt64, for time: Nanoseconds) -> Bool {
        if case .srt(let sink) = leg { sink.kick(id, for: time) } else { false }
    }
}
