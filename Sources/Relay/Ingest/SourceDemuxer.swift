import Container
import Endpoint
import Media
import Packets
import Transport

/// What takes a source's messages apart: a transport stream's demultiplexer, or the one for a call's packets.
protocol SourceDemuxer: ~Copyable {
    typealias Handler = (ContainerEvent) -> Void

    mutating func push(_ bytes: UnsafeRawBufferPointer, _ message: Message, handler: Handler)
    /// When the picture was taken that this message is of, and its time in the stream; nil where the sender does not say.
    func capture(of message: Message) -> (time: UInt64, presentation: MediaTime)?
    /// What an RTP time stamp of the message's picture has more than the picture's presentation time; nil where the message has none.
    func stampBase(of message: Message) -> UInt32?
    /// A connection begins.
    mutating func begin(_ source: Source)
    /// Messages before the next one are missing.
    mutating func recordLoss()
    /// When ``timeout(_:handler:)`` wants to be called.
    var nextTimer: MonotonicTime? { get }
    mutating func timeout(_ now: MonotonicTime, handler: Handler)
    /// The source ends or is interrupted.
    mutating func finish(handler: Handler)
    /// Another sender may come.
    mutating func restart(handler: Handler)
    var diagnosis: StreamDiagnosis { get }
    var unusedPackets: Int { get }
    /// Nothing that comes can be shown well before a keyframe, which the sender can be asked for.
    var needsKeyframe: Bool { get }
    /// Whether a keyframe is needed, as a message shows that was pushed; nil where it says nothing of the video.
    func keyframeNeed(after message: Message) -> Bool?
}

extension TransportStreamDemuxer: SourceDemuxer {
    mutating func push(_ bytes: UnsafeRawBufferPointer, _ message: Message, handler: Handler) {
        unsafe push(bytes, arrival: message.arrival, sourceTime: message.sourceTime, handler: handler)
    }

    func capture(of message: Message) -> (time: UInt64, presentation: MediaTime)? { nil }
    func stampBase(of message: Message) -> UInt32? { nil }
    mutating func begin(_ source: Source) {}
    var needsKeyframe: Bool { false }
    func keyframeNeed(after message: Message) -> Bool? { nil }
}

/// A call's packets, of tracks that the transport numbers.
struct CallDemuxer: SourceDemuxer, ~Copyable {
    private var demuxer: RTPDemuxer
    private var tracks: [RTPTrack]

    init(_ tracks: [RTPTrack]) {
        self.tracks = tracks
        demuxer = Self.demuxer(tracks)
    }

    /// A call may have other tracks than the one before.
    mutating func begin(_ source: Source) {
        guard let present = source.tracks, present != tracks else { return }
        tracks = present
        demuxer = Self.demuxer(present)
    }

    private static func demuxer(_ tracks: [RTPTrack]) -> RTPDemuxer {
        RTPDemuxer(
            tracks.enumerated().map { index, track in
                RTPStreamDescription(
                    id: index, format: .init(track.formats[0].codec), channels: track.formats[0].channels,
                    parameterSets: track.formats[0].parameterSets)
            })
    }

    mutating func push(_ bytes: UnsafeRawBufferPointer, _ message: Message, handler: Handler) {
        guard let packet = message.packet, tracks.indices.contains(packet.track) else { return }
        let facts = RTPPacketFacts(
            stream: packet.track, format: .init(tracks[packet.track].formats[packet.format].codec),
            timestamp: packet.timestamp, presentation: packet.presentation, isMarked: packet.isMarked, lost: packet.lost,
            arrival: packet.arrival, sourceTime: packet.sourceTime)
        unsafe demuxer.push(bytes, facts, handler: handler)
    }

    func capture(of message: Message) -> (time: UInt64, presentation: MediaTime)? {
        guard let packet = message.packet, let time = packet.extensions.captureTime, isVideo(packet) else { return nil }
        return (time, packet.presentation)
    }

    func stampBase(of message: Message) -> UInt32? {
        guard let packet = message.packet, isVideo(packet) else { return nil }
        return packet.timestamp &- UInt32(truncatingIfNeeded: packet.presentation.ticks)
    }

    private func isVideo(_ packet: RTPArrival) -> Bool { tracks.indices.contains(packet.track) && tracks[packet.track].isVideo }

    mutating func recordLoss() {}
    var nextTimer: MonotonicTime? { demuxer.nextTimer }
    mutating func timeout(_ now: MonotonicTime, handler: Handler) { demuxer.timeout(now, handler: handler) }
    mutating func finish(handler: Handler) { demuxer.finish(handler: handler) }
    mutating func restart(handler: Handler) { demuxer.restart(handler: handler) }
    var diagnosis: StreamDiagnosis { demuxer.diagnosis }
    var unusedPackets: Int { demuxer.unusedPackets }
    var needsKeyframe: Bool { demuxer.needsKeyframe }

    /// Sound between two packets of a picture knows nothing of what is missing there.
    func keyframeNeed(after message: Message) -> Bool? {
        guard let packet = message.packet, isVideo(packet) else { return nil }
        return demuxer.needsKeyframe
    }
}

extension Source {
    /// Receives calls whose packets something else carries. Of a picture that comes in several sizes, the largest is received.
    public convenience init(calls url: StreamURL, over wire: any RTPWire) {
        self.init(url, over: wire) { codec, payload in RTPPictureSize.read(payload, RTPPayloadFormat(codec)) }
    }
}

extension RTPPayloadFormat {
    fileprivate init(_ codec: RTPFormat.Codec) {
        self =
            switch codec {
            case .h264: .h264
            case .vp8: .vp8
            case .opus: .opus
            }
    }
}
