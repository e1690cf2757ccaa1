import Bitstream
import Codec
import Container
import Endpoint
import Media
import Packets
import Schedule
import Settings
import Telemetry
import Transport

/// The ingest thread: receives messages, finds access units and opens a ticket for each. It queues video for the decoder, and
/// the units of passing streams for the send stage.
///
/// Confined to the thread that calls ``run()``.
final class IngestStage {
    private let source: Source
    private let queue: UnitQueue
    private let router: PictureRouter
    /// Whether the pictures are, as their headers say.
    private var isHDR = false
    private let output: any PassedOutput
    private let passing: PassingStreams
    private let configuration: RelayConfiguration
    private let books: StreamBooks
    private let arrivals: Arrivals
    private let captures: CaptureClock
    private let format: InputFormat
    private let filledSlot: FilledSlot
    private let decoder: DecoderActivity
    private let control: StreamControl
    private let outputRate: OutputRate
    private var inputRate = InputRate()
    private var choice: FirstChoice
    private let turns: StageTurns
    private let path: PicturePath
    private let pace: FilePace?
    private let mayWait: Bool
    private let isCall: Bool
    private var timeline: Timeline
    private var deadline: Deadline
    private var line = PresentationLine()
    private let live: LiveSettings
    private var settings: LiveSettings.Copy
    /// The number of the present sender and its clock.
    private var sourceClock: UInt32 = 0
    /// The index among the output's passing streams of each PID that is passed.
    private var passed: [Int: Int] = [:]
    /// Units may be missing before the next one.
    private var followsGap = false
    private var stamps = PictureStamps()
    /// Of a call, whose packets do not say when pictures are to be decoded.
    private var order = DecodingOrder()
    /// Those of them that may show pictures.
    private var pictorial: Set<Int> = []
    /// Among the streams of sound that are described: the place and the codec of each PID.
    private var sounds: [Int: (slot: Int, codec: StreamCodec)] = [:]
    /// The newest keyframe's time.
    private var lastKeyframe: MediaTime?
    private var reordering = StampedReordering()
    /// What a picture's packets said of when it was taken, until its unit is complete.
    private var capture: (time: UInt64, presentation: MediaTime)?
    private let keeper: InputKeeper?
    /// The main video of the program; nil where it has none.
    private var video: ElementaryStreamDescription?
    /// The program map has come.
    private var hasProgram = false
    /// What the source's transport stream holds beside the program.
    private var multiplex: Multiplex?
    /// How many of the demuxer's unused packets have been counted.
    private var unusedPackets = 0
    private var reports: InputReports

    /// How often the thread checks whether the stream is to stop, while nothing arrives.
    private static let stopCheckInterval = Nanoseconds.milliseconds(100)
    /// How often an input that comes frame by frame (for tests) checks whether the frame before is out.
    private static let oneByOnePollInterval = Nanoseconds.milliseconds(0.2)

    init(source: Source, queue: UnitQueue, output: any PassedOutput, passing: PassingStreams, channels: StreamChannels) {
        self.source = source
        self.queue = queue
        self.output = output
        self.passing = passing
        configuration = channels.configuration
        books = channels.books
        arrivals = channels.arrivals
        captures = channels.captures
        format = channels.format
        filledSlot = channels.filledSlot
        decoder = channels.decoder
        control = channels.control
        outputRate = channels.outputRate
        turns = channels.turns
        path = channels.path
        keeper = channels.past.map { InputKeeper($0.input) }
        let isLive = source.url.isLive
        mayWait = !isLive
        isCall = source.tracks != nil
        choice = FirstChoice(channels, isCall: source.tracks != nil)
        reports = InputReports(of: source.url, isCall: source.tracks != nil, channels.control)
        pace = isLive || !configuration.pacesFiles ? nil : FilePace()
        live = channels.settings
        settings = LiveSettings.Copy(of: live)
        router = PictureRouter(
            queue: queue, output: output, mode: settings.value.mode, mayWait: !isLive, channels: channels)
        deadline = Deadline(budget: settings.value.budget)
        timeline = Timeline(grid: configuration.grid, resuming: channels.books.map?.resumePoint.timelineEnd(at: .now()))
    }

    /// Runs until the source ends or the stream is to stop, then closes the decoder's queue.
    func run() {
        defer {
            source.sayGoodbye()
            router.finish()
            queue.close()
            turns.end(.ingest)
        }
        // A UDP datagram may be larger than any that we send.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { unsafe buffer.deallocate() }
        if let tracks = source.tracks {
            unsafe run(CallDemuxer(tracks), buffer)
        } else {
            unsafe run(TransportStreamDemuxer(), buffer)
        }
    }

    private func run<Demuxer: SourceDemuxer & ~Copyable>(
        _ demuxer: consuming Demuxer, _ buffer: UnsafeMutableRawBufferPointer
    ) {
        while !control.isStopping {
            let now = MonotonicTime.now()
            turns.record(.ingest, at: now)
            router.turn()
            reports.followLosses(now)
            source.wantsKeyframe(every: router.keyframeWish(isAsked: demuxer.needsKeyframe, at: now))
            let limit = router.nextTurn(after: now) ?? now + Self.stopCheckInterval
            switch unsafe source.receive(into: buffer, until: min(demuxer.nextTimer ?? limit, limit)) {
            case .message(let message):
                arrivals.heard = message.arrival
                if message.packet?.restartsClock == true { sourceClock &+= 1 }
                if let told = demuxer.capture(of: message) { capture = told }
                if let keeper, let base = demuxer.stampBase(of: message) { keeper.stampBase = base }
                unsafe demuxer.push(
                    UnsafeRawBufferPointer(rebasing: buffer[..<message.byteCount]), message, handler: handle)
                if let isNeeded = demuxer.keyframeNeed(after: message) { source.needsKeyframe(isNeeded) }
                books.counters.add(.inputPacketsUnused, UInt64(demuxer.unusedPackets - unusedPackets))
                unusedPackets = demuxer.unusedPackets
                reports.diagnose(demuxer, lacksPictures: lacksPictures, now: message.arrival)
            case .idle:
                // Where no picture comes, nothing else shows that the mode has changed.
                followSettings()
                if let heard = source.lastHeard { arrivals.heard = heard }
                let now = MonotonicTime.now()
                if let timer = demuxer.nextTimer, timer <= now { demuxer.timeout(now, handler: handle) }
            case .event(let event):
                follow(event, &demuxer)
            case .end:
                demuxer.finish(handler: handle)
                if lacksPictures { reports.fail(demuxer) }
                return
            case .failed(let error):
                demuxer.finish(handler: handle)
                return control.fail(.transport(error))
            }
        }
        demuxer.finish(handler: handle)
    }

    // MARK: The leg

    private func follow<Demuxer: SourceDemuxer & ~Copyable>(_ event: LegEvent, _ demuxer: inout Demuxer) {
        // A bad network has many gaps a second.
        if case .gap = event {} else { control.report(.input(event)) }
        switch event {
        case .connected(let connection):
            books.counters.add(.inputConnections)
            deadline.recoveryWindow = connection.window
            demuxer.begin(source)
        case .disconnected:
            reports.disconnected()
            arrivals.heard = MonotonicTime(nanoseconds: 0)
            demuxer.restart(handler: handle)
            // No later picture comes that those in the decoder could wait for.
            queue.endRun()
            router.restart()
            timeline.sourceRestarted()
            line.restart()
            order.restart()
            followsGap = true
            stamps = PictureStamps()
            reordering = StampedReordering()
            capture = nil
            captures.forget()
            keeper?.stampBase = nil
            format.forget()
            choice.loseInput(at: .now())
            (sounds, lastKeyframe) = ([:], nil)
            sourceClock &+= 1
        case .gap(let messages):
            books.counters.add(.inputGaps)
            books.counters.add(.inputMessagesLost, UInt64(max(0, messages)))
            reports.lost(messages: messages)
            demuxer.recordLoss()
            followsGap = true
        case .clockReset: sourceClock &+= 1
        case .listening, .refused, .nextIngest, .earlyIngestFailed, .alignedByArrival, .reportsContradict, .leftOut,
            .keyframeWithheld, .fellBehind, .followsAgain, .viewerLayer, .receivesLayer:
            break
        }
    }

    /// No picture has come, and the program does not live of other streams.
    private var lacksPictures: Bool {
        stamps.newest == nil && !(hasProgram && video == nil && books.counters[.passingIn] > 0)
    }

    // MARK: Units

    private func handle(_ event: ContainerEvent) {
        switch event {
        case .unit(let unit): if unit.isMainVideo { acceptVideo(unit) } else { acceptPassing(unit) }
        case .program(let program): describe(program)
        case .multiplex(let multiplex): describe(multiplex)
        case .packets(let packets): pass(packets)
        case .format(let format): describe(format)
        case .fault(let fault, let isMainVideo): count(fault, isMainVideo: isMainVideo)
        }
    }

    private func count(_ fault: ContainerFault, isMainVideo: Bool) {
        switch fault {
        case .gap(let packets):
            books.counters.add(.inputGaps)
            books.counters.add(.inputPacketsLost, UInt64(packets))
            // The gap may have held whole units.
            if isMainVideo { followsGap = true }
            reports.lost(packets: packets)
        case .brokenPacket: books.counters.add(.inputPacketsBroken)
        case .scrambledPacket: books.counters.add(.inputPacketsScrambled)
        case .oversizedUnit(let presentation, let isKeyframe):
            books.counters.add(.inputUnitsOversized)
            if isMainVideo {
                dropOversized(presentation, isKeyframe: isKeyframe)
            } else {
                books.counters.add(.passingIn)
                books.counters.add(.passingDropped)
            }
        case .tornUnit: books.counters.add(.inputUnitsTorn)
        case .wrongCounters(let stream): reports.report(.wrongCounters(stream))
        case .believedSection: reports.report(.wrongChecksums)
        // These have no counter.
        case .unalignedBytes, .duplicatePacket, .brokenSection, .brokenHeader, .orphanBytes: break
        }
    }

    /// Accounts for a picture that was delivered but is too large to assemble. Pictures after it lack a reference.
    private func dropOversized(_ presentation: MediaTime?, isKeyframe: Bool) {
        let stamp = stamps.stamp(presentation, decode: nil, isAfterGap: followsGap, rate: arrivals.declaredRate)
        let mapped = timeline.map(stamp.presentation, arrival: .now())
        follow(mapped)
        var ticket = books.ledger.open(.original, presentation: mapped.output)
        ticket.stamp(.lastPacket)
        ticket.record.epoch = mapped.epoch
        ticket.record.isKeyframe = isKeyframe
        ticket.record.isDamaged = true
        books.drop(ticket, .decodeError)
        followsGap = true
    }

    private func describe(_ program: ProgramDescription) {
        var layout = TransportStreamLayout()
        let streams = program.streams.filter { $0.role == .passing }
        layout.video = program.mainVideo == nil ? nil : TransportStreamLayout.Video(configuration.options.codec)
        layout.passedStreams = streams.map { TransportStreamLayout.PassedStream(describing: $0) }
        layout.programDescriptors = program.descriptors
        // Receivers find a stream where it was, also when the source returns with other packet identifiers.
        layout.keepIdentifiers(of: passing.layout)
        passed = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1.id, $0) })
        pictorial = Set(streams.filter(\.codec.mayShowPictures).map(\.id))
        format.describe(passing: streams.map(\.codec))
        let heard = streams.filter(\.codec.isSound).prefix(InputFormat.mostSounds)
        sounds = Dictionary(uniqueKeysWithValues: heard.enumerated().map { ($1.id, (slot: $0, codec: $1.codec)) })
        if program.mainVideo?.id != video?.id || program.mainVideo?.streamType != video?.streamType
            || program.mainVideo?.codec != video?.codec,
            let main = program.mainVideo
        {
            router.beginStream(main)
            if main.codec.video == nil {
                reports.cannotDecode(main.codec, isMasked: live.holdsBypass)
            }
        } else if program.mainVideo == nil, video != nil || !hasProgram {
            reports.lacksVideo()
            // No later picture comes that those in the decoder could wait for.
            queue.endRun()
        }
        video = program.mainVideo
        hasProgram = true
        passing.layout = layout
        for each in program.streams where each.role == .ignored && reports.leaveOut(each) {
            books.counters.add(.streamsIgnored)
        }
    }

    private func describe(_ new: Multiplex?) {
        guard new != multiplex else { return }
        multiplex = new
        output.adopt(new)
        if let new { reports.describe(new, passesOthers: output.takesOtherPrograms) }
    }

    /// Sends packets of other programs on. Where only calls take the output, nobody has a use for them.
    private func pass(_ packets: TransportPackets) {
        let count = UInt64(packets.count)
        if live.holdsBypass { reports.report(.masked) }
        guard output.takesOtherPrograms else { return books.counters.add(.inputPacketsUnused, count) }
        books.counters.add(.otherProgramPacketsIn, count)
        let isSent = unsafe output.pass(
            packets.bytes.bytes, arrival: packets.arrival, source: packets.sourceTime ?? packets.arrival)
        books.counters.add(isSent ? .otherProgramPacketsOut : .otherProgramPacketsDropped, count)
    }

    private func describe(_ format: VideoParameters) {
        router.beginFormat(format)
        isHDR = format.color.isHDR
        router.change(mode)
        self.format.describe(format)
        arrivals.declaredRate = format.frameRate
        order.restart(reordering: format.reordering)
        let most = VideoDecoder.Configuration().maximumSamples
        if format.size.width * format.size.height > most {
            reports.isTooLarge(format.size, most: most)
            path.insert(.size, from: nil)
        }
        choice.begin(for: format, settings.value, mayBypass: router.mayChooseBypass)
    }

    private func acceptVideo(_ unit: StreamUnit) {
        books.counters.add(unit.evidence.counter)
        reports.observe(unit)
        let timing = stamps.stamp(
            unit.presentation, decode: unit.decode, isAfterGap: followsGap, rate: arrivals.declaredRate)
        let stamp = timing.presentation
        if unit.isKeyframe {
            if let lastKeyframe { format.recordKeyframe(after: stamp - lastKeyframe) }
            lastKeyframe = stamp
        }
        let decode = unit.decode ?? (!isCall ? nil : order.decode(stamp, rate: arrivals.declaredRate))
        self.reordering.observe(unit.presentation, decode: unit.decode, isKeyframe: unit.isKeyframe, interval: stamps.interval)
        let count = unsafe unit.bytes.count
        if inputRate.observe(bytes: count, at: decode ?? stamp) { outputRate.input = inputRate.rate ?? 0 }
        if let due = pace?.due(decode ?? stamp) { turns.sleep(until: due, as: .ingest) }
        if configuration.readsFramesOneByOne { waitForFramesBefore() }

        let paced = pace.map { _ in MonotonicTime.now() }
        let arrival = paced ?? unit.lastArrival
        let reordering = DecodingOrder.wait(presentation: stamp, decode: decode)
        let sourceTime = unit.lastSourceTime.map { $0 + reordering }
        let origin = sourceTime.map { Origin(.source, $0) } ?? Origin(.arrival, arrival + reordering)
        let earliness = line.observe(own: origin.time, presentation: stamp, isIdle: queue.count == 0)
        var emitBy = emitBy(origin) + earliness
        // Nobody could know before the end that the unit was complete.
        if unit.evidence == .endOfStream { emitBy = max(emitBy, .now() + deadline.budget) }
        let mapped = timeline.map(frame: stamp, arrival: arrival, emitBy: emitBy, filled: filledSlot.newest)
        follow(mapped)

        var ticket = books.ledger.open(.original, presentation: mapped.output)
        ticket.stamp(.firstPacket, at: paced ?? unit.firstArrival)
        ticket.stamp(.lastPacket, at: arrival)
        ticket.record.epoch = mapped.epoch
        ticket.record.sourceClock = sourceClock
        ticket.record.sourceTime = sourceTime
        ticket.record.deadline = emitBy
        ticket.record.earliness = earliness
        ticket.record.untimedStep = timing.step
        ticket.record.isLateUnit = unit.evidence == .nextStart || unit.evidence == .endOfStream
        ticket.record.isKeyframe = unit.isStart
        ticket.record.isDamaged = unit.isDamaged
        ticket.stamp(.complete)
        let offset = mapped.output - stamp
        if let told = capture.take() { captures.record(told.time, at: told.presentation + offset) }
        let decision = router.decide(unit, at: mapped.output, isTimed: timing.step == nil)
        if decision.step == .enhance {
            arrivals.record(
                mapped.output, emitBy: emitBy, budget: deadline.budget - line.caughtUp, isEarly: earliness > .zero,
                arrival: arrival, sourceOffset: offset)
        } else {
            arrivals.record(sourceOffset: offset)
        }

        var flags = UnitFlags.reordering(self.reordering.depth)
        if unit.isDamaged { flags.insert(.isDamaged) }
        if followsGap { flags.insert(.followsGap) }
        followsGap = false
        keeper?.keep(
            unit, ticket.record, decode: DecodingOrder.decode(decode, presentation: stamp, mapped: mapped.output),
            arrival: arrival,
            flags)
        let picture = PictureRouter.Picture(
            presentation: mapped.output, decode: DecodingOrder.decode(decode, presentation: stamp, mapped: mapped.output),
            isTimed: timing.step == nil, source: unit.lastSourceTime ?? arrival, flags: flags)
        router.send(unit, decision, picture, ticket)
    }

    /// When a unit of this origin must leave, by the present budget.
    private func emitBy(_ origin: Origin) -> MonotonicTime {
        followSettings()
        return deadline.emitBy(origin)
    }

    private func followSettings() {
        choice.endHold(settings.value, mayBypass: router.mayChooseBypass, at: .now())
        guard settings.refresh() else { return }
        deadline.budget = settings.value.budget
        router.change(mode)
        choice.follow(settings.value, mayBypass: router.mayChooseBypass)
    }

    /// What becomes of pictures by the present settings.
    private var mode: StreamSettings.Mode { isHDR && settings.value.hdr == .pass ? .bypass : settings.value.mode }

    /// Counts a jump of the timeline, and moves the passing units that wait with it.
    private func follow(_ mapped: Timeline.Mapped) {
        if mapped.isJump { books.counters.add(.timelineJumps) }
        if mapped.moved > 0 { passing.move(mapped.epoch, by: mapped.moved) }
    }

    private func waitForFramesBefore() {
        // A decoder whose run has ended keeps no frame, whatever its thread has said last.
        while books.ledger.inFlight > (router.isBypassed ? 0 : decoder.framesKept) + router.held, !control.isStopping {
            router.turn()
            turns.sleep(until: .now() + Self.oneByOnePollInterval, as: .ingest)
        }
    }

    private func acceptPassing(_ unit: StreamUnit) {
        books.counters.add(.passingIn)
        if unit.damage.contains(.packetsLost) { books.counters.add(.passingDamaged) }
        if let sound = sounds[unit.stream] { unsafe format.recordSound(unit.bytes, sound.codec, in: sound.slot) }
        let mayShowPictures = pictorial.contains(unit.stream)
        if mayShowPictures, live.holdsBypass {
            reports.report(.masked)
            return books.counters.add(.passingDropped)
        }
        guard let index = passed[unit.stream], offer(unit, as: index, mayShowPictures: mayShowPictures) else {
            return books.counters.add(.passingDropped)
        }
    }

    /// Queues a passing unit for the send stage.
    /// - Returns: false when the unit is lost.
    private func offer(_ unit: StreamUnit, as index: Int, mayShowPictures: Bool) -> Bool {
        var presentation: MediaTime?
        if let stamp = unit.presentation {
            if hasProgram, video == nil, index == 0 {
                // The first stream stands for the pictures: it may jump, and the others follow.
                let mapped = timeline.map(stamp, arrival: unit.lastArrival)
                follow(mapped)
                presentation = mapped.output
            } else {
                presentation = timeline.map(passing: stamp, stream: index, arrival: unit.lastArrival)
            }
            // Its place on the timeline is not known.
            guard presentation != nil else { return false }
        }
        let origin = unit.lastSourceTime.map { Origin(.source, $0) } ?? Origin(.arrival, unit.lastArrival)
        return unsafe passing.offer(
            header: unit.header, unit.bytes, stream: index, presentation: presentation,
            reordering: DecodingOrder.reordering(presentation: unit.presentation, decode: unit.decode),
            provisionalEpoch: timeline.provisionalEpoch,
            arrival: unit.lastArrival, sourceTime: unit.lastSourceTime, emitBy: emitBy(origin) + line.earliness,
            mayShowPictures: mayShowPictures)
    }
}

extension EndEvidence {
    /// What counts units that ended so.
    fileprivate var counter: StreamCounters.Counter {
        switch self {
        case .length: .endByLength
        case .stuffing: .endByStuffing
        case .flush: .endByFlush
        case .timer: .endByTimer
        case .delimiter, .marker: .endByDelimiter
        case .nextStart, .endOfStream: .endByNextStart
        }
    }
}
