import Endpoint
import Media
import Packets
import SRT

/// Where a stream comes in: SRT, RTP, a call, UDP, a file or a pipe.
///
/// ``receive(into:until:)`` belongs to one thread; everything else may be called from any. No allocation per message.
public final class Source: Sendable {
    private enum Leg {
        case srt(SRTSource)
        case rtp(RTPSource)
        case call(MediaSource)
        case udp(UDPSource)
        case file(FileSource)
    }

    public let url: StreamURL
    private let leg: Leg

    /// Opens the endpoint. A listener listens when this returns; a caller calls in the background, for ever. Waits for the
    /// process's resolver where a local address is a name.
    /// - Throws: ``TransportError``: `cannotBind`, `unresolvable` or `inaccessible`.
    public init(_ url: StreamURL) throws(TransportError) {
        self.url = url
        switch url {
        case .srt(let endpoint): leg = .srt(try SRTSource(endpoint))
        case .rtp(let endpoint): leg = .rtp(try RTPSource(endpoint))
        case .sdp(let endpoint): leg = .call(try MediaSource(endpoint))
        case .udp(let endpoint): leg = .udp(try UDPSource(endpoint))
        case .call(let endpoint): throw endpoint.cannotOpen
        case .file(let path): leg = .file(try FileSource(path: path))
        case .standardStream: leg = .file(try FileSource(path: nil))
        }
    }

    /// Receives calls whose packets something else carries, such as a WebRTC transport (``CallInbox``).
    /// - Parameters:
    ///   - url: what reports call it.
    ///   - latency: how long lost packets are waited for at most; nil for the usual.
    ///   - pictureSize: tells the sizes of a picture apart that is sent in several. Without it, the first that comes is received.
    public init(
        _ url: StreamURL, over wire: any RTPWire, latency: Nanoseconds? = nil, pictureSize: PictureSizeReader? = nil
    ) {
        self.url = url
        let bitRate: Int? = if case .call(let endpoint) = url { endpoint.bitRate } else { nil }
        leg = .call(MediaSource(wire, latency: latency, bitRate: bitRate, pictureSize: pictureSize))
    }

    /// The tracks of the present call, whose messages are single packets' payloads; nil where messages are a transport stream.
    /// They may be others after each ``LegEvent/connected(_:)``. Only the thread that receives may ask.
    public var tracks: [RTPTrack]? { if case .call(let source) = leg { source.tracks } else { nil } }

    /// Asks a call's sender for keyframes until this is set to false, because nothing that comes can be decoded. Only the thread
    /// that receives may call it. Other sources cannot be asked.
    public func needsKeyframe(_ isNeeded: Bool) { if case .call(let source) = leg { source.needsKeyframe(isNeeded) } }

    /// The same for those behind the source, such as a receiver who has just come. The sender is asked at the next
    /// ``receive(into:until:)``. Set it again for each call.
    /// - Parameter interval: how often the request is repeated; nil where nobody wants a keyframe.
    public func wantsKeyframe(every interval: Nanoseconds?) {
        if case .call(let source) = leg { source.wantsKeyframe(every: interval) }
    }

    /// Tells a call's sender that nobody receives any more (RFC 3550, 6.6). Other senders are told by ``close()`` or not at all. Only
    /// the thread that receives may call it, as its last call.
    public func sayGoodbye() { if case .call(let source) = leg { source.sayGoodbye() } }

    /// When the newest packet of a call's sender came, reports included; nil without one, and for other sources. Only the thread
    /// that receives may ask.
    public var lastHeard: MonotonicTime? { if case .call(let source) = leg { source.lastHeard } else { nil } }

    /// Reads a file or pipe that somebody else has opened, and closes it in the end.
    /// - Parameter path: what errors call it.
    /// - Throws: ``TransportError``: `inaccessible`.
    public init(path: String, adopting descriptor: Int32) throws(TransportError) {
        url = .file(path: path)
        leg = .file(try FileSource(path: path, adopting: descriptor))
    }

    /// Waits for the next message or event.
    /// - Parameters:
    ///   - buffer: at least ``Message/largest`` bytes, and no fewer than at the call before.
    ///   - limit: when to return `idle` instead.
    public func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        precondition(buffer.count >= Message.largest, "the buffer must hold the largest message")
        return switch leg {
        case .srt(let source): unsafe source.receive(into: buffer, until: limit)
        case .rtp(let source): unsafe source.receive(into: buffer, until: limit)
        case .call(let source): unsafe source.receive(into: buffer, until: limit)
        case .udp(let source): unsafe source.receive(into: buffer, until: limit)
        case .file(let source): unsafe source.receive(into: buffer, until: limit)
        }
    }

    /// Makes a present or the next ``receive(into:until:)`` return `idle`.
    public func interrupt() {
        switch leg {
        case .srt(let source): source.interrupt()
        case .rtp(let source): source.interrupt()
        case .call(let source): source.interrupt()
        case .udp(let source): source.interrupt()
        case .file(let source): source.interrupt()
        }
    }

    /// The recovery window of the present connection; zero without one.
    public var negotiatedWindow: Nanoseconds {
        switch leg {
        case .srt(let source): source.negotiatedWindow
        case .rtp(let source): source.negotiatedWindow
        case .call(let source): source.negotiatedWindow
        case .udp, .file: .zero
        }
    }

    /// The port that a listener, RTP or UDP endpoint is bound to, 0 otherwise.
    public var localPort: UInt16 {
        switch leg {
        case .srt(let source): source.localPort
        case .rtp(let source): source.localPort
        case .call(let source): source.localPort
        case .udp(let source): source.localPort
        case .file: 0
        }
    }

    /// Why a caller has not had any connection yet; nil when it has had one, or nothing has failed so far.
    public var failureBeforeFirstConnection: TransportError? {
        if case .srt(let source) = leg { source.failureBeforeFirstConnection } else { nil }
    }

    /// What keeps the leg from a sender now; nil where nothing does, or the protocol does not tell.
    public var trouble: LegTrouble? { if case .srt(let source) = leg { source.trouble } else { nil } }

    /// Begins to close the endpoint for good, without waiting for what is still on its way: ``close()`` waits for it. Where
    /// several endpoints are closed, begin with all of them.
    public func beginClosing() { if case .srt(let source) = leg { source.beginClosing() } }

    /// Closes the endpoint for good. When this returns, an SRT peer has been told; it takes
    /// ``SRTLink/connectionPollInterval`` at most. Nothing can be received any more.
    public func close() { if case .srt(let source) = leg { source.close() } }

    /// The leg's figures now. Takes a few microseconds; meant for once a second.
    public func statistics() -> LegFigures {
        switch leg {
        case .srt(let source): source.statistics()
        case .rtp(let source): source.statistics()
        case .call(let source): source.statistics()
        case .udp(let source): source.statistics()
        case .file(let source): source.statistics()
        }
    }

    /// The connections that the leg has now. SRT's legs have one at most; the others have none to show.
    public var peers: [ConnectedPeer] {
        if case .srt(let source) = leg { source.peers } else { [] }
    }

    /// Ends a connection and keeps its peer out for so long: a listener refuses callers from its host, a caller does not call.
    /// The leg goes on.
    /// - Returns: false when the leg has no such connection.
    public func kick(_ id: UInt64, for time: Nanoseconds) -> Bool {
        if case .srt(let source) = leg { source.kick(id, for: time) } else { false }
    }
}

extension CallEndpoint {
    /// Calls have no port of their own that a leg could open: whoever answers the offers opens it.
    var cannotOpen: TransportError {
        TransportError(.badURL, place: description, "WebRTC calls are not built in here")
    }
}
