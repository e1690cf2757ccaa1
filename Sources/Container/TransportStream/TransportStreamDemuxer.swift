import Bitstream
import Media

/// Takes an MPEG transport stream apart (ISO/IEC 13818-1) and hands on each access unit of its main video as soon as its
/// last packet has come, where libavformat waits for the first of the next. docs/design/access-units.md explains how the end
/// is known.
///
/// It follows one program, the first with H.264 video; that stream's units come out as access units, the program's other
/// streams as whole PES payloads. Whatever the bytes are, it neither fails nor grows without bound: what it cannot use it
/// counts (``counters``), and ``diagnosis`` says in one value what is missing.
///
/// After each stream has reached its largest unit, it allocates nothing. Not thread-safe: one thread owns it.
public struct TransportStreamDemuxer: ~Copyable {
    public struct Options: Sendable {
        /// Units larger than this many bytes are dropped and counted.
        public var unitLimit = 8 << 20
        /// Whether an end may be learnt from signs. Without, units wait for the next one, as in libavformat.
        public var handsOnEarly = true

        public init() {}
    }

    public typealias Handler = (TransportStreamEvent) -> Void

    var context: StreamContext
    var tables = ProgramFollower()
    var streams: [PacketizedStream] = []
    /// For each PID: the index into `streams`, or one of ``Route``'s others.
    var routes = [Int16](repeating: Route.unknown, count: 8192)
    private var aligner = PacketAligner()
    private var largestMessage = 0
    private var lastPayloadPID = -1
    private var mainVideoIndex = -1
    private var told: ProgramDescription?
    // What the last restart keeps of the time before.
    private var earlierPackets = 0
    private var earlierFaults = 0
    /// By PID.
    private var earlierDecodes: [Int: MediaTime] = [:]
    private var earlierVideoDecode: MediaTime?

    /// The newest program clock reference (27 MHz) and when its message arrived; for cadence measurements.
    public private(set) var clockReference: (ticks: Int64, arrival: MonotonicTime)?

    enum Route {
        static let unknown: Int16 = -1
        static let association: Int16 = -2
        static let map: Int16 = -3
        static let counted: Int16 = -4
    }

    public init(options: Options = Options()) {
        context = StreamContext(unitLimit: options.unitLimit, believesSigns: options.handsOnEarly)
        routes[0] = Route.association
    }

    /// What has been counted so far.
    public var counters: TransportStreamCounters {
        var counters = context.counters
        counters.sectionFaults = earlierFaults + tables.faults
        counters.skippedBytes = aligner.skippedBytes
        counters.syncLosses = aligner.losses
        return counters
    }

    /// Packets of PIDs that no table names, or that are only counted: other programs, and tables beside the program's.
    public var unusedPackets: Int { context.counters.unusedPackets }

    /// The program that is followed, once its map is known.
    public var program: ProgramDescription? { tables.current }

    /// How the main video's units end, as learnt so far.
    public var standing: EndStanding {
        guard mainVideoIndex >= 0, let trust = streams[mainVideoIndex].video?.trust else { return EndStanding() }
        return EndStanding(trust)
    }

    /// Takes the next bytes of the stream: one message of the network, or any piece of a file.
    ///
    /// - Parameters:
    ///   - bytes: not kept.
    ///   - arrival: when they arrived: what waited for others to come before it has come before them.
    ///   - sourceTime: when the sender sent them, on this machine's clock, where that is known.
    ///   - handler: called for each event, before this returns.
    public mutating func push(
        _ bytes: UnsafeRawBufferPointer, arrival: MonotonicTime, sourceTime: MonotonicTime?, handler: Handler
    ) {
        context.message = MessageTime(arrival: arrival, source: sourceTime)
        lastPayloadPID = -1
        var input = unsafe PacketAligner.Input(bytes)
        while let packet = unsafe aligner.next(&input) { unsafe take(packet, handler) }

        guard mainVideoIndex >= 0 else { return }
        let main = streams[mainVideoIndex]
        main.video!.messageEnded(&context, handler)
        if bytes.count < largestMessage, lastPayloadPID == main.id, aligner.isEmpty {
            main.video!.messageFlushed(&context, handler)
        }
        largestMessage = max(largestMessage, bytes.count)
    }

    /// The transport says that bytes before the next ones are missing. Continuity counters have 4 bits and may not
    /// show it.
    public mutating func noteLoss() {
        for stream in streams { stream.noteUnseenLoss() }
        aligner.reset()
    }

    /// When ``timeout(_:handler:)`` wants to be called if nothing is pushed before.
    public var nextTimer: MonotonicTime? { mainVideoIndex >= 0 ? streams[mainVideoIndex].video!.deadline : nil }

    /// The time has come to `now`.
    public mutating func timeout(_ now: MonotonicTime, handler: Handler) {
        guard mainVideoIndex >= 0 else { return }
        streams[mainVideoIndex].video!.timePassed(now, &context, handler)
    }

    /// The stream ends or is interrupted: hands on what is there. More may be pushed: the tables stay, but how units end is
    /// learnt anew, since another sender may have taken over.
    public mutating func finish(handler: Handler) {
        for stream in streams { stream.finish(&context, handler) }
        aligner.reset()
        largestMessage = 0
    }

    /// Another sender may take over: hands on what is there and forgets everything about the stream but the counters and
    /// where its time was. The next tables, and the next parameters, are told again even if they are the same; units are
    /// counted from 0 again. Until then ``diagnosis`` describes what has come since.
    public mutating func restart(handler: Handler) {
        finish(handler: handler)
        earlierPackets = context.counters.packets
        earlierFaults += tables.faults
        for stream in streams {
            guard let decode = stream.newestDecode else { continue }
            earlierDecodes[stream.id] = decode
            if stream.video != nil { earlierVideoDecode = decode }
        }
        tables = ProgramFollower()
        streams = []
        mainVideoIndex = -1
        lastPayloadPID = -1
        told = nil
        clockReference = nil
        for pid in routes.indices { routes[pid] = Route.unknown }
        routes[0] = Route.association
    }

    private mutating func take(_ p: UnsafePointer<UInt8>, _ handler: Handler) {
        context.counters.packets += 1
        guard let packet = unsafe TransportPacket(p), !packet.hasError else {
            context.counters.brokenPackets += 1
            handler(.fault(.brokenPacket, isMainVideo: false))
            return
        }
        if packet.clockReference >= 0, packet.pid == tables.current?.clockID ?? -1 {
            clockReference = (packet.clockReference, context.message.arrival)
        }
        let route = routes[packet.pid]
        if route >= 0 {
            if packet.hasPayload { lastPayloadPID = packet.pid }
            unsafe streams[Int(route)].push(packet, p, &context, handler)
            return
        }
        switch route {
        case Route.association, Route.map:
            guard packet.hasPayload, !packet.isScrambled else { return }
            let payload = unsafe UnsafeRawBufferPointer(
                start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
            if unsafe tables.push(payload, packet) { follow(handler) }
        default:
            if packet.pid == TransportPacket.nullPID {
                context.counters.nullPackets += 1
            } else {
                context.counters.unusedPackets += 1
            }
        }
    }

    /// Takes over what the tables say now.
    private mutating func follow(_ handler: Handler) {
        for pid in routes.indices { routes[pid] = Route.unknown }
        routes[0] = Route.association
        for pid in tables.mapIDs { routes[pid] = Route.map }
        let wanted = tables.current?.streams ?? []
        var kept: [PacketizedStream] = []
        for stream in streams {
            if let same = wanted.first(where: { $0.id == stream.id && $0.role == stream.description.role }),
                same.codec == stream.description.codec
            {
                stream.update(same)
                kept.append(stream)
            } else {
                stream.finish(&context, handler)
            }
        }
        if let program = tables.current, program != told {
            told = program
            handler(.program(program))
        }
        streams = wanted.compactMap { description in
            if description.role == .counted { return nil }
            if let same = kept.first(where: { $0.id == description.id }) { return same }
            let decode = description.role == .mainVideo ? earlierVideoDecode : earlierDecodes[description.id]
            return PacketizedStream(description, newestDecode: decode)
        }
        for (index, stream) in streams.enumerated() { routes[stream.id] = Int16(index) }
        mainVideoIndex = streams.firstIndex { $0.video != nil } ?? -1
    }

    /// The main video's parameters, once a picture with them was handed on.
    public var format: SequenceParameterSet? { mainVideoIndex >= 0 ? streams[mainVideoIndex].video!.format : nil }

    /// What is known of the stream since the last restart, or what it lacks.
    public var diagnosis: StreamDiagnosis {
        if context.counters.packets == earlierPackets { return .noPackets }
        if !tables.hasAssociation { return .noAssociation }
        guard let program = tables.current else {
            return tables.hasMap ? .noVideo(streams: tables.codecs) : .noMap
        }
        guard mainVideoIndex >= 0 else {
            let videos = program.streams.map(\.codec).filter(\.isVideo)
            return videos.first.map { .unsupportedVideo($0) } ?? .noVideo(streams: program.streams.map(\.codec))
        }
        let sets = streams[mainVideoIndex].video!.parameterSets
        if let format = sets.newest { return .video(format) }
        if streams[mainVideoIndex].isScrambled { return .scrambled }
        return sets.lastFault.map { .unusableVideo($0) } ?? .noParameters
    }
}

/// What a transport stream turned out to be, for a report to a person or a decision after some seconds.
public enum StreamDiagnosis: Hashable, Sendable {
    /// No transport packets in the bytes.
    case noPackets
    /// No program association table.
    case noAssociation
    /// No program map table.
    case noMap
    /// The program has these streams only.
    case noVideo(streams: [StreamCodec])
    /// Video, but none that can be decoded.
    case unsupportedVideo(StreamCodec)
    /// H.264, but encrypted: nothing of it can be read.
    case scrambled
    /// H.264 without a sequence parameter set so far.
    case noParameters
    /// The sequence parameter sets make no sense.
    case unusableVideo(BitstreamFault)
    case video(SequenceParameterSet)
}

/// How far each sign of a unit's end is believed in the main video.
public struct EndStanding: Hashable, Sendable {
    public private(set) var trustsLength = false
    public private(set) var trustsStuffing = false
    public private(set) var trustsFlush = false
    /// Signs that were followed by more of the same unit.
    public private(set) var contradictions = 0

    init() {}

    init(_ trust: EndOfUnitTrust) {
        trustsLength = trust.length.isTrusted
        trustsStuffing = trust.stuffing.isTrusted && trust.plainPackets >= EndOfUnitTrust.plainPacketsNeeded
        trustsFlush = trust.flush.isTrusted
        contradictions = trust.length.contradictions + trust.stuffing.contradictions + trust.flush.contradictions
    }
}
