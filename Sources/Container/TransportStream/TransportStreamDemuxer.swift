import Bitstream
import Media

/// Takes an MPEG transport stream apart (ISO/IEC 13818-1) and delivers each access unit of its main video as soon as
/// its last packet has come, where libavformat waits for the first of the next. docs/design/access-units.md explains
/// how the end is known.
///
/// It follows one program, the first with video that can be decoded. That stream's units come out as access units, the program's
/// other streams as whole PES payloads. The packets of other programs come out as they are (``Multiplex``). Whatever the bytes are, it neither fails nor grows without bound: what it
/// cannot use it reports as a ``ContainerFault``, and ``diagnosis`` says in one value what is missing.
///
/// After each stream has reached its largest unit, it allocates nothing. Not thread-safe: one thread owns it.
public struct TransportStreamDemuxer: ~Copyable {
    public typealias Handler = (ContainerEvent) -> Void

    /// The limit on a unit's bytes where none is given.
    public static let defaultUnitLimit = 8 << 20

    private var context: StreamContext
    private var tables = ProgramFollower()
    private(set) var streams: [PacketizedStream] = []
    /// For each PID: the index into `streams`, or one of ``Route``'s others.
    private var routes = [Int16](repeating: Route.unknown, count: 8192)
    private var aligner = PacketAligner()
    private var sharedCounter = SharedCounter()
    private var largestMessage = 0
    private var lastPayloadPID = -1
    private var mainVideoIndex = -1
    /// The main video's PID, whether a packet of it has come, and how many units of other videos have begun before that.
    private var mainVideo = (id: -1, hasCome: false, others: 0)
    /// So many are enough to see that nothing comes of it: half a second.
    private static let mostOthers = 15
    private var reportedProgram: ProgramDescription?
    /// What was reported of the other programs; nil before a program is known.
    private var reportedMultiplex: Multiplex??
    /// The identifiers of the packets that come out as they are, if there are any.
    private var others = PacketIdentifiers()
    private var passesOthers = false
    /// Such packets of the message at hand.
    private var passing = MessageBuffer()
    /// Packets so far, and how many of them came before the last restart.
    private(set) var packets = 0
    private var packetsBeforeRestart = 0

    /// Sections of tables that were dropped for their checksum or length, and whether some were believed all the same.
    private var brokenSections = 0
    private var hasBelievedSections = false

    /// Packets so far that do not come out and that no table is read from: of streams that are not used, and what belongs to no
    /// program that is known.
    public private(set) var unusedPackets = 0

    private enum Route {
        static let unknown: Int16 = -1
        static let association: Int16 = -2
        static let map: Int16 = -3
        /// The conditional access table of a multiplex.
        static let access: Int16 = -4
    }

    /// - Parameter unitLimit: units larger than this many bytes are dropped and reported.
    public init(unitLimit: Int = Self.defaultUnitLimit) {
        context = StreamContext(unitLimit: unitLimit)
        routes[0] = Route.association
    }

    /// The program that is followed, once its map is known.
    var program: ProgramDescription? { tables.current }

    /// Processes the next bytes of the stream: one message of the network, or any piece of a file. Any bytes at all.
    ///
    /// - Parameters:
    ///   - bytes: not kept.
    ///   - arrival: when they arrived. Bytes that waited for earlier ones arrived before those did.
    ///   - sourceTime: when the sender sent them, on this machine's clock, where that is known.
    ///   - handler: called for each event, before this returns.
    public mutating func push(
        _ bytes: UnsafeRawBufferPointer, arrival: MonotonicTime, sourceTime: MonotonicTime?, handler: Handler
    ) {
        context.message = MessageTime(arrival: arrival, source: sourceTime)
        lastPayloadPID = -1
        var input = unsafe PacketAligner.Input(bytes)
        while let packet = unsafe aligner.next(&input) { unsafe process(packet, handler) }
        flushOthers(handler)
        reportSkippedBytes(handler)

        guard mainVideoIndex >= 0 else { return }
        let main = streams[mainVideoIndex]
        main.video!.messageEnded(&context, handler)
        if bytes.count < largestMessage, lastPayloadPID == main.id, aligner.isEmpty {
            main.video!.messageFlushed(&context, handler)
        }
        largestMessage = max(largestMessage, bytes.count)
    }

    /// Records that bytes before the next ones are missing, as the transport knows. Continuity counters have 4 bits and
    /// may not show it.
    public mutating func recordLoss() {
        for stream in streams { stream.recordHiddenLoss() }
        sharedCounter.forget()
        aligner.reset()
    }

    /// When ``timeout(_:handler:)`` wants to be called if nothing is pushed before.
    public var nextTimer: MonotonicTime? { mainVideoIndex >= 0 ? streams[mainVideoIndex].video!.deadline : nil }

    /// The time has come to `now`.
    public mutating func timeout(_ now: MonotonicTime, handler: Handler) {
        guard mainVideoIndex >= 0 else { return }
        streams[mainVideoIndex].video!.timePassed(now, &context, handler)
    }

    /// Delivers what is there, because the stream ends or is interrupted. More may be pushed. The tables stay, but how
    /// units end is learnt anew, because another sender may come.
    public mutating func finish(handler: Handler) {
        for stream in streams { stream.finish(&context, handler) }
        sharedCounter = SharedCounter()
        aligner.reset()
        reportSkippedBytes(handler)
        largestMessage = 0
    }

    /// Delivers what is there and forgets everything about the stream, because another sender may come. The next tables
    /// and the next parameters are reported even if they are the same, and units are counted from 0 again.
    /// ``diagnosis`` describes only what comes from now on.
    public mutating func restart(handler: Handler) {
        finish(handler: handler)
        packetsBeforeRestart = packets
        tables = ProgramFollower()
        streams = []
        mainVideoIndex = -1
        mainVideo = (-1, false, 0)
        lastPayloadPID = -1
        brokenSections = 0
        hasBelievedSections = false
        reportedProgram = nil
        reportedMultiplex = nil
        others = PacketIdentifiers()
        passesOthers = false
        for pid in routes.indices { routes[pid] = Route.unknown }
        routes[0] = Route.association
    }

    private mutating func process(_ p: UnsafePointer<UInt8>, _ handler: Handler) {
        packets += 1
        guard let packet = unsafe TransportPacket(p), !packet.hasError else {
            return handler(.fault(.brokenPacket, isMainVideo: false))
        }
        context.hasSharedCounter = sharedCounter.follow(packet)
        var route = routes[packet.pid]
        if route >= 0, !mainVideo.hasCome, packet.hasPayload, leavesSilentVideo(packet, Int(route), handler) {
            route = routes[packet.pid]
        }
        if route >= 0 {
            if packet.hasPayload { lastPayloadPID = packet.pid }
            unsafe streams[Int(route)].push(packet, p, &context, handler)
        } else if route != Route.unknown {
            if packet.hasPayload, !packet.isScrambled { unsafe readTable(packet, p, handler) }
        } else if !tables.hasAssociation, packet.hasPayload, !packet.isScrambled, packet.pid != TransportPacket.nullPID {
            unusedPackets += 1
            unsafe readStray(packet, p, handler)
        } else if packet.pid != TransportPacket.nullPID, !(passesOthers && others.contains(packet.pid)) {
            unusedPackets += 1
        }
        // Behind what a table has changed.
        if passesOthers, others.contains(packet.pid) { unsafe passOther(p, handler) }
    }

    /// Some maps name a video of which nothing comes, before the one that is there. Call for each packet of the program until the first
    /// one of its main video.
    /// - Returns: whether another video has become the main one.
    private mutating func leavesSilentVideo(_ packet: TransportPacket, _ stream: Int, _ handler: Handler) -> Bool {
        if stream == mainVideoIndex {
            mainVideo.hasCome = true
            return false
        }
        guard packet.startsUnit, mainVideoIndex >= 0, streams[stream].description.codec.video != nil else { return false }
        mainVideo.others += 1
        guard mainVideo.others >= Self.mostOthers, tables.leave(silentVideo: mainVideo.id) else { return false }
        adoptTables(handler)
        return true
    }

    private mutating func readTable(_ packet: TransportPacket, _ p: UnsafePointer<UInt8>, _ handler: Handler) {
        let payload = unsafe UnsafeRawBufferPointer(
            start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
        let outcome = unsafe tables.push(payload, packet)
        for _ in 0..<outcome.brokenSections { handler(.fault(.brokenSection, isMainVideo: false)) }
        brokenSections += outcome.brokenSections
        if outcome.isBelieved, !hasBelievedSections {
            hasBelievedSections = true
            handler(.fault(.believedSection, isMainVideo: false))
        }
        if outcome.isChanged { adoptTables(handler) }
    }

    private mutating func readStray(_ packet: TransportPacket, _ p: UnsafePointer<UInt8>, _ handler: Handler) {
        let payload = unsafe UnsafeRawBufferPointer(
            start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
        if unsafe tables.pushStray(payload, packet).isChanged { adoptTables(handler) }
    }

    /// A packet of another program, or of a table of the whole stream.
    private mutating func passOther(_ p: UnsafePointer<UInt8>, _ handler: Handler) {
        let message = context.message
        let place = unsafe passing.nextPacket {
            unsafe handler(.packets(TransportPackets(bytes: $0, arrival: message.arrival, sourceTime: message.source)))
        }
        unsafe UnsafeMutableRawPointer(place).copyMemory(from: p, byteCount: TransportPacket.size)
    }

    private mutating func flushOthers(_ handler: Handler) {
        guard passesOthers else { return }
        let message = context.message
        unsafe passing.flush {
            unsafe handler(.packets(TransportPackets(bytes: $0, arrival: message.arrival, sourceTime: message.source)))
        }
    }

    private mutating func reportSkippedBytes(_ handler: Handler) {
        guard aligner.skippedBytes > 0 else { return }
        handler(.fault(.unalignedBytes(aligner.skippedBytes), isMainVideo: false))
        aligner.skippedBytes = 0
    }

    /// Follows what the tables say now.
    private mutating func adoptTables(_ handler: Handler) {
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
        if let program = tables.current, program != reportedProgram {
            reportedProgram = program
            handler(.program(program))
        }
        if tables.current != nil { adoptMultiplex(handler) }
        streams = wanted.compactMap { description in
            if description.role == .ignored { return nil }
            return kept.first { $0.id == description.id } ?? PacketizedStream(description)
        }
        if passesOthers { routes[1] = Route.access }
        for (index, stream) in streams.enumerated() { routes[stream.id] = Int16(index) }
        mainVideoIndex = streams.firstIndex { $0.video != nil } ?? -1
        let id = mainVideoIndex >= 0 ? streams[mainVideoIndex].id : -1
        if id != mainVideo.id { mainVideo = (id, false, 0) }
    }

    /// Follows what the tables say of other programs.
    private mutating func adoptMultiplex(_ handler: Handler) {
        let multiplex = tables.multiplex
        guard reportedMultiplex != .some(multiplex) else { return }
        // What came before belongs to the programs before.
        flushOthers(handler)
        reportedMultiplex = .some(multiplex)
        others = multiplex?.passing ?? PacketIdentifiers()
        passesOthers = multiplex != nil
        handler(.multiplex(multiplex))
    }

    /// The main video's parameters, once a picture with them was delivered.
    var format: VideoParameters? { mainVideoIndex >= 0 ? streams[mainVideoIndex].video!.format : nil }

    /// The main video's newest parameter sets as they came, with start codes: what a decoder needs before an entry point that
    /// has none. Empty before any. Allocates.
    public var parameterSets: [UInt8] { mainVideoIndex >= 0 ? streams[mainVideoIndex].video!.keptSets.bytes : [] }

    /// A single one may have been damaged on its way.
    private var hasBrokenTables: Bool { brokenSections >= 3 }

    /// What is known of the stream since the last restart, or what it lacks.
    public var diagnosis: StreamDiagnosis {
        if packets == packetsBeforeRestart { return .noPackets }
        if !tables.hasAssociation { return hasBrokenTables ? .brokenTables : .noAssociation }
        guard let program = tables.current else {
            if !tables.hasMap, hasBrokenTables { return .brokenTables }
            return tables.hasMap ? .noVideo(streams: tables.codecs) : .noMap
        }
        guard mainVideoIndex >= 0 else {
            let videos = program.streams.map(\.codec).filter(\.isVideo)
            return videos.first.map { .unsupportedVideo($0) } ?? .noVideo(streams: program.streams.map(\.codec))
        }
        if let format = streams[mainVideoIndex].video!.newestParameters { return .video(format) }
        if streams[mainVideoIndex].isScrambled { return .scrambled }
        return streams[mainVideoIndex].video!.lastFault.map { .unusableVideo($0) } ?? .noParameters
    }
}
