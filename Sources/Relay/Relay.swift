import Codec
import Endpoint
import Foundation
import Machine
import Media
import Packets
import SRT
import Schedule
import Settings
import Telemetry
import Transport

/// One stream, from its source to its sink: six threads and the queues between them. See docs/design/architecture.md.
///
/// `run` belongs to one thread; `stop` and `change` may be called from any.
public final class Relay: Sendable {
    let channels: StreamChannels
    private let source: Source
    /// In the order of the configuration's outputs.
    private let sinks: [Sink]
    private let passing = PassingStreams()
    private let units: UnitQueue
    private let pictures = BoundedQueue<DecodedFrame>(capacity: 2)
    private let finished = BoundedQueue<FinishedFrame>(capacity: 2)
    private let output: SendStage
    private let desk: PictureDesk
    private let pastDesk: PastDesk
    private let clipDesk: ClipDesk
    private let recorder: Recorder

    /// Opens both ends.
    /// - Throws: what keeps an end from being opened: an address in use, a file that is not there, an output that
    ///   refuses.
    public init(_ configuration: RelayConfiguration) throws(TransportError) {
        channels = StreamChannels(configuration)
        units = UnitQueue(books: channels.books, turns: channels.turns)
        if configuration.choosesOutput, let fault = StartCosts.measured.fault { channels.control.report(.message(fault)) }
        let end = configuration.telemetry?.resumePoint
        // Before the ends are opened: the packets must come from their ports.
        if let end { SRTFarewell.send(end.farewells) }
        source =
            if let call = configuration.inputCall {
                call
            } else if case .file(let path) = configuration.input, let descriptor = configuration.inputDescriptor {
                try Source(path: path, adopting: descriptor)
            } else {
                try Source(configuration.input)
            }
        var sinks: [Sink] = []
        // A disk that is slow holds up its own output, and no other.
        let waits = configuration.outputs.count == 1
        for (index, url) in configuration.outputs.enumerated() {
            if let call = configuration.outputCalls[index] {
                sinks.append(call)
            } else if case .file(let path) = url, let descriptor = configuration.outputDescriptors[index] {
                sinks.append(try Sink(path: path, adopting: descriptor, waits: waits))
            } else if case .sdp(let endpoint) = url, let descriptor = configuration.outputDescriptors[index] {
                sinks.append(try Sink(endpoint, writingTo: descriptor))
            } else {
                // The map has one position: the first output's.
                sinks.append(try Sink(url, readers: url.readers, waits: waits, resuming: index == 0 ? end?.rtpSender : nil))
            }
        }
        self.sinks = sinks
        output = SendStage(sinks: sinks, passing: passing, channels: channels)
        desk = PictureDesk(channels.pictures, channels.settings, timeout: configuration.pictureTimeout)
        pastDesk = PastDesk(channels.past, channels.settings)
        clipDesk = ClipDesk(channels.past)
        recorder = Recorder(channels, open: configuration.openRecording)
        recorder.follow(configuration.settings.record)
    }

    deinit {
        desk.close()
        pastDesk.close()
        clipDesk.close()
        recorder.close()
    }

    private var control: StreamControl { channels.control }

    public var configuration: RelayConfiguration { channels.configuration }
    /// The ports that the ends are bound to; 0 where they have none of their own.
    public var inputPort: UInt16 { source.localPort }
    public var outputPort: UInt16 { sinks[0].localPort }
    public var outputPorts: [UInt16] { sinks.map(\.localPort) }

    /// Relays until the source ends, ``stop()`` is called, or the stream cannot go on.
    /// - Parameter observe: called on this thread with each event, and once a second.
    public func run(observe: (Observation) -> Void) throws(RelayFailure) -> RelayReport {
        // An output that refuses its first caller is a mistake to report at once. Later a refusal may pass, and is retried.
        if let timeout = configuration.firstConnection {
            do throws(TransportError) {
                try Sink.awaitConnection(of: sinks, until: .now() + timeout) { [control] in control.isStopping }
            } catch {
                throw RelayFailure(.transport(error))
            }
        }
        let trace = try openTrace()
        // Whoever is there already gets the first picture.
        output.followConnection()
        let start = MonotonicTime.now()
        let threads = startStages()
        var meter = MachineMeter(
            limit: .current, threads: max(configuration.options.threads, configuration.options.encodeThreads))
        var nextStatus = start + .seconds(1)
        var (nextSample, nextLoadSample) = (start, start)
        var former = (time: start, sent: UInt64(0))
        var figures = MapFigures(configuration.telemetry)
        var peers = MapPeers(configuration.telemetry)
        var links = LinkWatch(channels)
        var calls = CallWatch(channels)
        var troubles = RelayTroubles()
        var recent = RecentLatency()
        var costs = CostWatch(configuration.options.codec)
        while !control.events.isClosed || control.events.count > 0 {
            if let event = control.events.pop(until: min(nextStatus, nextLoadSample)) {
                figures?.record(event)
                troubles.record(event, pictures: channels.books.ledger.books.originals)
                observe(.event(event))
                continue
            }
            let now = MonotonicTime.now()
            links.follow({ outputPeers }, at: now)
            calls.follow({ sinks.flatMap { $0.viewers?.reports ?? [] } }, at: now)
            if now >= nextLoadSample {
                if configuration.watchesMachine { meter.sampleLoad() }
                nextLoadSample = now + MachineMeter.loadSampleInterval
            }
            if now >= nextSample {
                if configuration.watchesMachine, let cores = meter.measureCores() {
                    channels.available.record(measured: cores.less(channels.extra.load))
                }
                if let time = meter.processorTime { channels.schedule.observe(processorTime: time) }
                costs.follow(channels.chosen, at: now)
                chooseOutput(at: now)
                write(&figures)
                peers?.write(source.peers, of: .input)
                peers?.write(outputPeers, of: .output)
                nextSample = now + CoreShare.samplePeriod
            }
            if now >= nextStatus {
                var status = status(since: start)
                status.latency = recent.median { copy in
                    channels.books.ledger.withLatency { copy.copy($0.original) }
                }
                status.format = channels.format.present
                status.isBypassed = channels.path.isBypassed
                status.troubles = troubles.present(
                    pictures: status.books.originals, input: source.trouble, outputs: sinks)
                let sent = status.books.emitted + status.books.bypassed
                status.rate = Double(sent - former.sent) / (now - former.time).seconds
                former = (now, sent)
                figures?.record(rate: status.rate)
                observe(.second(status))
                write(trace)
                nextStatus = nextStatus + .seconds(1)
            }
        }
        for thread in threads { thread.join() }
        desk.close()
        pastDesk.close()
        clipDesk.close()
        recorder.close()
        for event in control.takeLate() { observe(.event(event)) }
        // A receiver shows nothing before its time, and what is not shown yet is lost when the connection ends.
        min(output.newestSourceTime ?? .now(), .now() + .seconds(2)).sleep()
        // The last frames are still on their way. On a lossy leg some have to be sent again.
        let roundTrip = sinks.map { $0.statistics().roundTripTime }.max() ?? .zero
        // A peer states its round trip itself, and must not keep the relay from its end.
        let limit = MonotonicTime.now() + min(max(.seconds(1), roundTrip * 4), .seconds(5))
        for sink in sinks { sink.flush(until: limit) }
        // Before whatever carries a call's packets is closed.
        for sink in sinks { sink.viewers?.sayGoodbye() }
        write(trace)
        write(&figures)
        for leg in TelemetryMap.Leg.allCases { peers?.write([], of: leg) }
        let report = report(since: start)
        if let failure = control.firstFailure { throw RelayFailure(failure, report) }
        if !configuration.input.isLive, !control.isStopping, channels.books.ledger.books.isUndecodable {
            let text = "\(configuration.input): none of its \(report.frames.originals) pictures could be decoded"
            throw RelayFailure(.input(text), report)
        }
        return report
    }

    /// Ends the relay. What has arrived is still sent. Safe to call at any time, more than once.
    public func stop() {
        control.stop()
        source.interrupt()
    }

    /// Begins to close both ends, without waiting for what is still on its way, and ends the relay. ``close()`` waits for it.
    public func beginClosing() {
        stop()
        source.beginClosing()
        for sink in sinks { sink.beginClosing() }
    }

    /// Closes both ends at once and ends the relay: SRT peers have been told when this returns, within about 40 ms.
    public func close() {
        beginClosing()
        source.close()
        for sink in sinks { sink.close() }
    }

    /// Sets what the stream may count on where a supervisor divides the machine. It holds for three seconds, unless it is set
    /// again; nil ends it, and the stream counts on what it measures. Safe to call at any time.
    public func use(_ cores: Cores?) { channels.available.deal(cores, at: .now()) }

    /// The stages whose loops have not turned for longer than a limit: something holds them up that should not. A stage that
    /// waits for a silent source, or for room in the next stage, turns several times a second. Safe to call at any time.
    /// - Parameter limit: longer than the longest work on one frame, and more than ``StageTurns/idleInterval``.
    public func stalledStages(now: MonotonicTime = .now(), limit: Nanoseconds) -> [StageName] {
        channels.turns.stalled(now: now, limit: limit)
    }

    /// Asks for a picture of the next frame, as JPEG. It costs the stream next to nothing: a thread of low priority shares the
    /// frame's memory, scales it and encodes it. Requests for both sides that come together get pictures of the same frame. Safe
    /// to call at any time.
    /// - Parameters:
    ///   - width: the most columns; a smaller picture stays as it is.
    ///   - answer: called once, on another thread, or at once with a fault: when a picture of the same side is on its way, or the
    ///     stream has ended. A request that gets no picture within two seconds fails, too.
    public func requestPicture(
        _ side: StreamPicture.Side, width: Int,
        _ answer: @escaping @Sendable (Result<StreamPicture, PictureFault>) -> Void
    ) { desk.request(side, width: width, answer) }

    /// Asks for a still of what is kept of the past. It costs the stream next to nothing, as ``requestPicture(_:width:_:)`` does. Safe to
    /// call at any time.
    /// - Parameters:
    ///   - width: the most columns; a smaller picture stays as it is.
    ///   - keep: gets what makes the picture anew later (``UnitFile``), on another thread before the answer, and returns why that cannot be
    ///     kept; nil where nobody wants it.
    ///   - answer: called once, on another thread, or at once with a fault.
    public func requestPast(
        _ side: StreamPicture.Side, _ place: PastPlace, as format: PastPicture.Format = .jpeg, width: Int,
        keep: (@Sendable ([UInt8]) -> String?)? = nil,
        _ answer: @escaping @Sendable (Result<PastPicture, PastFault>) -> Void
    ) {
        var bases: [UInt32] = []
        if side == .after, case .rtp = place { bases = sinks.flatMap { $0.viewers?.videoStampBases ?? [] } }
        pastDesk.request(
            PastDesk.Request(
                side: side, place: place, format: format, width: width, stampBases: bases, keep: keep, answer: answer))
    }

    /// Cuts a clip of what has gone out, as it was sent, from the last entry point before a time on. It may reach a minute into the future.
    /// Safe to call at any time.
    /// - Parameters:
    ///   - isOfInput: what came in, with sound as it went out, to make a better clip of it later.
    ///   - write: writes bytes at a place of the file, on another thread, and returns why that cannot be done.
    ///   - answer: called once when all is written, on another thread, or at once with a fault.
    /// - Returns: how much later than asked the clip begins, since the past goes back no further.
    @discardableResult public func cutClip(
        from: MonotonicTime, to: MonotonicTime, as container: ClipContainer, ofInput isOfInput: Bool = false,
        write: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> String?,
        _ answer: @escaping @Sendable (Result<PastClip, PastFault>) -> Void
    ) -> Nanoseconds {
        unsafe clipDesk.request(
            ClipDesk.Request(
                from: from, to: to, container: container, isOfInput: isOfInput, write: write, answer: answer))
    }

    /// Changes settings. Each stage takes them over between two frames, so that no frame is lost or repeated and none waits. What
    /// needs new processors (a first network, synthesis) is made beside the stream, and holds as soon as it is there.
    /// - Parameter settings: values within their limits. All of them are set.
    public func change(_ settings: StreamSettings) {
        channels.settings.change(to: settings)
        channels.past?.follow(channels.settings)
        recorder.follow(settings.record)
    }

    /// The settings of the last change.
    public var settings: StreamSettings { channels.settings.current }

    /// The input's figures now.
    public var inputStatistics: LegFigures { source.statistics() }

    /// The connections that the ends have now.
    public var inputPeers: [ConnectedPeer] { source.peers }
    public var outputPeers: [ConnectedPeer] { sinks.flatMap(\.peers) }

    /// Ends a connection and keeps its peer out for so long. The leg goes on.
    /// - Returns: false when there is no such connection.
    public func kick(_ id: UInt64, for time: Nanoseconds) -> Bool {
        source.kick(id, for: time) || sinks.contains { $0.kick(id, for: time) }
    }

    /// What the stream has done so far.
    public func report(since start: MonotonicTime) -> RelayReport {
        RelayReport(
            seconds: (MonotonicTime.now() - start).seconds, ledger: channels.books.ledger, counters: channels.books.counters,
            targetRate: configuration.options.fps,
            schedule: .init(channels.schedule.rungs, channels.schedule.demand, cores: channels.cores, channels.chosen),
            input: .init(url: configuration.input, source.statistics()),
            outputs: zip(sinks, output.outputBooks).map { .init(url: $0.url, $0.statistics(), units: $1) })
    }

    /// Chooses what the output is made like, by what frames cost and what is left of the machine.
    private func chooseOutput(at now: MonotonicTime) {
        let isBypassed = channels.path.isBypassed
        if isBypassed { channels.schedule.rest(at: now) }
        var pictures = channels.schedule.pictures
        pictures.areBypassed = isBypassed
        pictures.inputRate = channels.outputRate.input
        pictures.gain = gain(of: pictures)
        let text = channels.chosen.update(at: now, pictures, cores: channels.available.cores(at: now))
        // Each time: ingest writes it, too, when a stream begins meanwhile.
        channels.path.ladderWantsBypass = channels.chosen.current?.isBypass == true
        if let text { control.report(.message(text)) }
    }

    /// What viewers gain by the pictures that leave; nil where it is not known.
    private func gain(of pictures: OutputLadder.Pictures) -> Float? {
        guard let made = pictures.made, let tier = channels.schedule.rungs.rung?.tier,
            let input = channels.coarseness.input, let output = channels.coarseness.output
        else { return nil }
        return ViewerGain.expected(input: input, output: output, preset: made.preset, tier: tier, size: made.size)
    }

    /// What the stream needs of the machine; nil while no picture is enhanced.
    private var demand: Capacity.Demand? { channels.path.isBypassed ? nil : channels.schedule.demand }

    private func openTrace() throws(RelayFailure) -> TraceFile? {
        guard let path = configuration.tracePath else { return nil }
        do {
            return try TraceFile(path: path, ledger: channels.books.ledger)
        } catch {
            let text = "the trace cannot be written: \(error.localizedDescription)"
            throw RelayFailure(.transport(TransportError(.inaccessible, place: path, text)))
        }
    }

    /// Counts the records that cannot be traced, and reports the first failure.
    private func write(_ trace: TraceFile?) {
        guard let trace else { return }
        let hadFailed = trace.failure != nil
        channels.books.counters.add(.traceRecordsMissed, trace.write())
        if let failure = trace.failure, !hadFailed {
            control.report(.message("the trace ends here: \(failure.localizedDescription)"))
        }
    }

    private func write(_ figures: inout MapFigures?) {
        figures?.record(channels.chosen.place, channels.chosen.content)
        figures?.record(channels.past)
        figures?.write(
            rung: channels.schedule.rungs.rung, demand: demand, input: source.statistics(),
            outputs: sinks)
    }

    private func startStages() -> [StageThread] {
        var threads = [
            StageThread(name: "ingest") { [source, units, output, passing, channels] in
                IngestStage(source: source, queue: units, output: output, passing: passing, channels: channels).run()
            },
            StageThread(name: "decode") { [units, pictures, channels] in
                DecodeStage(units: units, pictures: pictures, channels: channels).run()
            },
            StageThread(name: "enhance") { [pictures, finished, units, channels] in
                EnhanceStage(pictures: pictures, finished: finished, units: units, channels: channels).run()
            },
            StageThread(name: "encode") { [finished, output, channels] in
                EncodeStage(finished: finished, output: output, channels: channels).run()
            },
            StageThread(name: "send") { [output, channels] in
                output.run()
                channels.control.events.close()
            },
        ]
        guard channels.extra.canBeNeeded else { return threads }
        // Whatever it does gives way to the stages of the frame path.
        threads.append(
            StageThread(name: "extra", niceness: 5) { [output, channels] in
                ExtraEncodeStage(output: output, channels: channels).run()
            })
        return threads
    }

    private func status(since start: MonotonicTime) -> RelayStatus {
        RelayStatus(
            seconds: (MonotonicTime.now() - start).seconds, books: channels.books.ledger.books,
            chosen: channels.chosen.place.flatMap { $0.step > 0 || $0.isOnlyOne ? $0.text : nil },
            rung: channels.schedule.rungs.rung,
            demand: demand, cores: channels.cores,
            input: source.statistics(), output: sinks[0].statistics(), outputs: sinks.count,
            outputsConnected: sinks.count(where: \.isConnected),
            packetsLost: channels.books.counters[.inputPacketsLost])
    }
}

/// What a running relay reports to its caller.
public enum Observation: Sendable {
    case event(RelayEvent)
    case second(RelayStatus)
}

/// A running relay's figures, as its status line shows them.
public struct RelayStatus: Sendable {
    public var seconds: Double
    public var books: Books
    /// Frames a second that went out since the last status.
    public var rate = 0.0
    /// The median latency of the originals of the last ``RecentLatency/seconds`` seconds; nil where there were none.
    public var latency: Nanoseconds?
    /// What keeps the ends from their peers now.
    public var troubles: [RelayTrouble] = []
    /// What the input is like.
    public var format = InputDescription()
    /// Pictures go out as they came.
    public var isBypassed = false
    /// What the output is made like, in words, where it is less than was asked for.
    public var chosen: String?
    /// Where the stream stands on the ladder, and what it needs of the machine; nil before the first picture.
    public var rung: Rung?
    public var demand: Capacity.Demand?
    /// The machine's cores.
    public var cores: Int
    public var input: LegFigures
    /// The first output.
    public var output: LegFigures
    /// How many outputs there are, and how many somebody receives.
    public var outputs, outputsConnected: Int
    /// Transport packets that are missing in what the input leg delivered.
    public var packetsLost: UInt64
}

extension Books {
    /// Whether there were pictures and the decoder could decode none of them.
    fileprivate var isUndecodable: Bool { originals > 0 && self[.decodeError] + self[.noKeyframe] == originals }
}
