import Endpoint
import Media
import Packets
import SRT

/// Where a stream goes out: SRT, RTP, a call, UDP, a file or a pipe.
///
/// A sink takes *messages* of a transport stream, or it has ``viewers``, who get media. What it has in common for both stands here:
/// connections, figures, the end.
///
/// One thread at a time calls ``send(_:sourceTime:)`` and ``nextEvent()``, and asks for events only between two units, so that
/// no receiver begins in the middle of one. Everything else may be called from any thread. No allocation per message.
public final class Sink: Sendable {
    private enum Leg {
        case srt(SRTSink)
        case rtp(RTPSink)
        case call(RTPViewers, UDPCallSink?)
        case udp(UDPSink)
        case file(FileSink)
    }

    public let url: StreamURL
    private let leg: Leg

    /// Opens the endpoint. A listener listens when this returns; a caller calls in the background, for ever:
    /// ``awaitConnection(until:)`` shows how the first call went.
    /// - Throws: ``TransportError``: `cannotBind`, `unresolvable`, `unreachable` or `inaccessible`.
    /// - Parameters:
    ///   - readers: how many callers an SRT listener serves at a time.
    ///   - waits: whether a file's ``send(_:sourceTime:)`` may wait for the disk. Otherwise a thread of its own writes.
    ///   - rtp: where the output is RTP, go on as this sender.
    public convenience init(
        _ url: StreamURL, readers: Int = 1, waits: Bool = true,
        resuming rtp: RTPSenderState? = nil
    ) throws(TransportError) {
        try self.init(url, readers: readers, waits: waits, marksOrder: false, resuming: rtp)
    }

    /// Sends to viewers who come and go, each over a wire of their own.
    /// - Parameter url: what reports call it.
    public init(_ url: StreamURL, viewers: RTPViewers) {
        self.url = url
        leg = .call(viewers, nil)
    }

    /// Whom the media goes to, where the sink takes coded units as RTP payloads and no messages of a transport stream; nil elsewhere.
    /// A connection's viewer is ``RTPViewers/viewer(of:)``.
    public var viewers: RTPViewers? { if case .call(let viewers, _) = leg { viewers } else { nil } }

    /// Whether it has ``viewers``.
    public var takesMedia: Bool { viewers != nil }

    /// Writes a file or pipe that somebody else has opened, and closes it in the end.
    /// - Parameters:
    ///   - path: what errors call it.
    ///   - waits: whether ``send(_:sourceTime:)`` may wait for the disk.
    public init(path: String, adopting descriptor: Int32, waits: Bool = true) throws(TransportError) {
        url = .file(path: path)
        leg = .file(try FileSink(path: path, adopting: descriptor, waits: waits))
    }

    /// Sends plain RTP, and writes the description for its receivers into a file that somebody else has opened.
    public init(_ endpoint: SDPEndpoint, writingTo descriptor: Int32) throws(TransportError) {
        url = .sdp(endpoint)
        let sink = try UDPCallSink(endpoint, writingTo: descriptor)
        leg = .call(sink.viewers, sink)
    }

    /// - Parameter marksOrder: ask SRT receivers to hold back what comes after a missing message, as FFmpeg does. For
    ///   tests: it helps nobody.
    init(
        _ url: StreamURL, readers: Int = 1, waits: Bool = true, marksOrder: Bool,
        resuming rtp: RTPSenderState? = nil
    ) throws(TransportError) {
        self.url = url
        switch url {
        case .srt(let endpoint): leg = .srt(try SRTSink(endpoint, readers: readers, marksOrder: marksOrder))
        case .rtp(let endpoint): leg = .rtp(try RTPSink(endpoint, resuming: rtp))
        case .sdp(let endpoint):
            let sink = try UDPCallSink(endpoint)
            leg = .call(sink.viewers, sink)
        case .udp(let endpoint): leg = .udp(try UDPSink(endpoint))
        case .call(let endpoint): throw endpoint.cannotOpen
        case .file(let path): leg = .file(try FileSink(path: path, waits: waits))
        case .standardStream: leg = .file(try FileSink(path: nil, waits: waits))
        }
    }

    /// Waits for a caller's first connection, or a named pipe's reader. Returns at once for everything else, because a listener
    /// or one side of a rendezvous may be there first.
    /// - Parameter stopped: asked every ``pollInterval``; when it says so, this returns without a connection.
    /// - Throws: why the first attempt failed, when all of a host's addresses had one, or `unreachable` when the time came first. The sink goes on calling.
    public func awaitConnection(
        until limit: MonotonicTime, stopped: () -> Bool = { false }
    ) throws(TransportError) {
        try Self.awaitConnection(of: [self], until: limit, stopped: stopped)
    }

    /// Waits until one of several sinks is connected, as ``awaitConnection(until:stopped:)`` does for one.
    /// - Throws: when all of them have failed, or the time comes: what the first one says.
    public static func awaitConnection(
        of sinks: [Sink], until limit: MonotonicTime, stopped: () -> Bool = { false }
    ) throws(TransportError) {
        guard sinks.allSatisfy(\.isCaller) else { return }
        while !sinks.contains(where: \.isConnected) && !stopped() {
            let failures = sinks.compactMap(\.failureBeforeFirstConnection)
            if failures.count == sinks.count { throw failures[0] }
            guard MonotonicTime.now() < limit || sinks.contains(where: \.hasUntriedAddress) else {
                throw failures.first
                    ?? TransportError(
                        .unreachable, place: sinks[0].url.description,
                        sinks[0].hasConnections ? "nobody answers there" : "nobody reads the pipe")
            }
            (MonotonicTime.now() + pollInterval).sleep()
        }
    }

    /// Whether somebody has to be there at the start: the one that is called, or a named pipe's reader.
    private var isCaller: Bool {
        switch leg {
        case .srt: if case .srt(let endpoint) = url { endpoint.mode == .caller } else { false }
        case .file(let sink): sink.awaitsReader
        case .rtp, .udp, .call: false
        }
    }

    private var hasUntriedAddress: Bool { if case .srt(let sink) = leg { sink.hasUntriedAddress } else { false } }

    private var failureBeforeFirstConnection: TransportError? {
        if case .srt(let sink) = leg { sink.failureBeforeFirstConnection } else { nil }
    }

    /// Hands over one message; never waits (except for a file's disk).
    ///
    /// Where a listener serves several readers, this is for the first place only. After the first connection, a message goes to
    /// another one only once ``nextEvent()`` has returned its event, so that
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
        // Its receivers have no use for messages.
        case .call: .notConnected
        case .udp(let sink): unsafe sink.send(message)
        case .file(let sink): unsafe sink.send(message)
        }
    }

    /// Hands over one message for one connection; never waits (except for a file's disk). The sender has to learn of connections
    /// by ``connection(at:)``.
    /// - Returns: ``Sent/notConnected`` when the connection is over.
    public func send(
        _ message: UnsafeRawBufferPointer, sourceTime: MonotonicTime? = nil, to connection: SinkConnection
    ) -> Sent {
        precondition((1...Message.largest).contains(message.count), "a message has 1 to \(Message.largest) bytes")
        return switch leg {
        case .srt(let sink):
            unsafe sink.send(message, sourceTime: sourceTime, to: connection.socket, at: connection.place)
        case .rtp(let sink): unsafe sink.send(message, sourceTime: sourceTime)
        case .call: .notConnected
        case .udp(let sink): unsafe sink.send(message)
        case .file(let sink): unsafe sink.send(message)
        }
    }

    /// How many connections there can be at a time.
    public var places: Int {
        switch leg {
        case .srt(let sink): sink.places
        case .call(let viewers, _): viewers.capacity
        case .rtp, .udp, .file: 1
        }
    }

    /// Whether connections come and go. Otherwise there is one from the beginning, which no event reports. A named pipe has none
    /// until somebody reads it.
    public var hasConnections: Bool {
        switch leg {
        case .srt: true
        case .call(_, let own): own == nil
        case .rtp, .udp, .file: false
        }
    }

    /// The connection at a place, below ``places``; nil when there is none. Costs an atomic load.
    public func connection(at place: Int) -> SinkConnection? {
        if case .call(let viewers, _) = leg {
            return viewers.viewer(at: place).map { SinkConnection(place: place, socket: $0.id) }
        }
        guard case .srt(let sink) = leg else { return isConnected ? SinkConnection(place: 0, socket: 0) : nil }
        let socket = sink.socket(at: place)
        return socket < 0 ? nil : SinkConnection(place: place, socket: socket)
    }

    /// How many connections there are.
    public var connections: Int { (0..<places).count { connection(at: $0) != nil } }

    /// Whether the connection is there still. Costs an atomic load.
    public func hasConnection(_ connection: SinkConnection) -> Bool { self.connection(at: connection.place) == connection }

    /// Waits until the peer has everything that was sent, nobody is there, or the time comes.
    public func flush(until limit: MonotonicTime) {
        while !isFlushed && .now() < limit { (MonotonicTime.now() + Self.pollInterval).sleep() }
    }

    private var isFlushed: Bool {
        switch leg {
        case .srt(let sink): sink.isFlushed
        case .file(let sink): sink.isFlushed
        case .rtp, .udp, .call: true
        }
    }

    /// How often a wait at the start or the end of a stream looks again: libsrt has no call that waits for either, and a
    /// millisecond is short beside a connection's handshake.
    private static let pollInterval = Nanoseconds.milliseconds(1)

    /// Removes the oldest event; nil when there is none. Costs one atomic load then.
    public func nextEvent() -> LegEvent? {
        switch leg {
        case .srt(let sink): sink.nextEvent()
        case .rtp, .udp, .call: nil
        case .file(let sink): sink.nextEvent()
        }
    }

    /// Whether messages can go out now. Costs an atomic load at most.
    public var isConnected: Bool {
        switch leg {
        case .srt(let sink): sink.isConnected
        case .rtp, .udp: true
        case .call(let viewers, _): viewers.isAnybodyThere
        case .file(let sink): !sink.isBroken && !sink.awaitsReader
        }
    }

    /// Whether nothing can ever go out again: a file or pipe that a write failed on. Network legs recover by themselves.
    public var isBroken: Bool {
        if case .file(let sink) = leg { sink.isBroken } else { false }
    }

    /// What keeps the leg from receivers now; nil where nothing does, or the protocol does not tell.
    public var trouble: LegTrouble? {
        switch leg {
        case .srt(let sink): sink.trouble
        case .file(let sink): sink.isBroken ? LegTrouble(.broken, "\(url): cannot be written any more") : nil
        case .rtp, .call, .udp: nil
        }
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
    public func close() {
        switch leg {
        case .srt(let sink): sink.close()
        case .call(_, let own): own?.close()
        case .rtp, .udp, .file: break
        }
    }

    /// What RTP's receivers know this sender by; nil elsewhere. For the thread that sends.
    public var rtpState: RTPSenderState? { if case .rtp(let sink) = leg { sink.state } else { nil } }

    /// The leg's figures now. Takes a few microseconds; meant for once a second.
    public func statistics() -> LegFigures {
        switch leg {
        case .srt(let sink): sink.statistics()
        case .rtp(let sink): sink.statistics()
        case .call(let viewers, _): viewers.statistics()
        case .udp(let sink): sink.statistics()
        case .file(let sink): sink.statistics()
        }
    }

    /// The connections that the leg has now. Only SRT's legs have some to show.
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
