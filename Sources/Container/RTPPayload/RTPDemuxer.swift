import Bitstream
import Media

/// Puts the units of RTP streams together and delivers them as ``TransportStreamDemuxer`` does, so that what is behind does not
/// know what they came in. The first stream of video is the main video; streams of sound pass.
///
/// Packets come in their sender's order. Any payload may come. After each stream has reached its largest unit, it allocates
/// nothing. Not thread-safe: one thread owns it.
public struct RTPDemuxer: ~Copyable {
    public typealias Handler = (ContainerEvent) -> Void

    private let descriptions: [RTPStreamDescription]
    private let unitLimit: Int
    private var video: RTPVideoAssembly?
    private var sound: [RTPSoundAssembly]
    /// The format that was reported for the main video.
    private var reported: RTPPayloadFormat?
    private var hasPackets = false
    /// Packets of streams that nobody described.
    public private(set) var unusedPackets = 0

    public init(_ streams: [RTPStreamDescription], unitLimit: Int = TransportStreamDemuxer.defaultUnitLimit) {
        descriptions = streams
        self.unitLimit = unitLimit
        sound = streams.filter { !$0.format.isVideo }.map { RTPSoundAssembly(stream: $0.id) }
    }

    private var mainVideo: RTPStreamDescription? { descriptions.first { $0.format.isVideo } }

    /// Whether the main video's sender is to be asked for a keyframe: without one nothing that comes can be shown well.
    public var needsKeyframe: Bool { mainVideo != nil && hasPackets && video?.needsKeyframe ?? true }

    /// Processes a packet's payload.
    /// - Parameters:
    ///   - payload: without RTP's header and padding; not kept.
    ///   - handler: called for each event, before this returns.
    public mutating func push(_ payload: UnsafeRawBufferPointer, _ packet: RTPPacketFacts, handler: Handler) {
        hasPackets = true
        let bytes = unsafe Span<UInt8>(_unsafeElements: payload.assumingMemoryBound(to: UInt8.self))
        if let mainVideo, mainVideo.id == packet.stream, packet.format.isVideo {
            if video?.format != packet.format {
                video?.finish(limit: unitLimit, handler)
                video = RTPVideoAssembly(mainVideo, format: packet.format)
            }
            report(packet.format, handler)
            // A payload without bytes keeps a path open. What is missing before it may have been part of a picture.
            if payload.count > 0 {
                video!.push(bytes, packet, limit: unitLimit, handler)
            } else {
                video!.recordLoss(of: packet.lost, handler)
            }
        } else if let index = sound.firstIndex(where: { $0.stream == packet.stream }), !packet.format.isVideo {
            report(reported, handler)
            sound[index].push(bytes, packet, limit: unitLimit, handler)
        } else {
            unusedPackets += 1
        }
    }

    /// Delivers what is there, because the stream ends or is interrupted. More may be pushed.
    public mutating func finish(handler: Handler) { video?.finish(limit: unitLimit, handler) }

    /// When ``timeout(_:handler:)`` wants to be called: a picture is complete then if nothing comes.
    public var nextTimer: MonotonicTime? { video?.timer }

    /// Delivers the picture that counts as complete.
    /// - Parameter now: everything that had come by then was pushed.
    public mutating func timeout(_ now: MonotonicTime, handler: Handler) { video?.timeout(now, limit: unitLimit, handler) }

    /// Delivers what is there and forgets everything about the streams, because another sender may come.
    public mutating func restart(handler: Handler) {
        finish(handler: handler)
        video = nil
        reported = nil
        hasPackets = false
        for index in sound.indices { sound[index] = RTPSoundAssembly(stream: sound[index].stream) }
        programIsReported = false
    }

    private var programIsReported = false

    /// Describes the program before its first unit, and when the video's format changes.
    private mutating func report(_ format: RTPPayloadFormat?, _ handler: Handler) {
        guard !programIsReported || format != reported else { return }
        programIsReported = true
        reported = format
        let main = mainVideo?.id
        let streams = descriptions.map { description in
            var described = description
            if description.id == main, let format { described.format = format }
            let role: ElementaryStreamDescription.Role =
                description.id == main ? .mainVideo : description.format.isVideo ? .ignored : .passing
            return described.elementaryStream(role: role)
        }
        handler(.program(ProgramDescription(number: 1, mapID: 0, version: 0, streams: streams)))
    }

    /// What is known of the streams since the last restart, or what they lack.
    public var diagnosis: StreamDiagnosis {
        guard hasPackets else { return .noPackets }
        guard mainVideo != nil else { return .noVideo(streams: descriptions.map(\.format.codec)) }
        guard let video else { return .silentVideo }
        if let parameters = video.newestParameters { return .video(parameters) }
        return video.lastFault.map { .unusableVideo($0) } ?? (video.format == .vp8 ? .noKeyframe : .noParameters)
    }
}

/// Gives each packet of Opus as a unit of a stream that passes.
struct RTPSoundAssembly {
    let stream: Int
    private let storage = UnitStorage(capacity: 4096)
    private var serial = 0

    init(stream: Int) { self.stream = stream }

    mutating func push(_ payload: Span<UInt8>, _ packet: RTPPacketFacts, limit: Int, _ handler: RTPDemuxer.Handler) {
        if packet.lost > 0 { handler(.fault(.gap(packets: packet.lost), isMainVideo: false)) }
        guard payload.count > 0 else { return }
        storage.removeAll()
        guard OpusPayload.append(payload, to: storage, limit: limit) else {
            return handler(
                .fault(.oversizedUnit(presentation: packet.presentation, isKeyframe: false), isMainVideo: false))
        }
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: false, codec: nil, serial: serial, bytes: storage.bytes,
            presentation: packet.presentation, decode: nil, firstArrival: packet.arrival, lastArrival: packet.arrival,
            lastSourceTime: packet.sourceTime, isKeyframe: false, damage: [], evidence: .marker, parameterSets: nil)
        handler(.unit(unit))
        serial += 1
    }
}
