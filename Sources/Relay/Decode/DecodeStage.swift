import Bitstream
import Codec
import Media
import Schedule
import Settings
import Telemetry

/// A decoded picture on its way to enhancement.
struct DecodedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: DecodedPicture

    consuming func intoTicket() -> FrameTicket { ticket }
}

/// The decode thread: coded units in, pictures out in presentation order. A unit that yields no picture is dropped here, for
/// the reason that the decoder gives.
final class DecodeStage: Sendable {
    private let units: UnitQueue
    private let pictures: BoundedQueue<DecodedFrame>
    private let channels: StreamChannels
    private let configuration: RelayConfiguration
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let activity: DecoderActivity
    private let settings: LiveSettings
    private let turns: StageTurns
    private let path: PicturePath
    private let keyframes: Keyframes
    private let control: StreamControl

    init(units: UnitQueue, pictures: BoundedQueue<DecodedFrame>, channels: StreamChannels) {
        self.units = units
        self.pictures = pictures
        self.channels = channels
        configuration = channels.configuration
        books = channels.books
        schedule = channels.schedule
        activity = channels.decoder
        settings = channels.settings
        turns = channels.turns
        path = channels.path
        keyframes = channels.keyframes
        control = channels.control
    }

    /// What the thread works with. A run ends where pictures begin to be bypassed.
    private struct Run: ~Copyable {
        var decoder: (any PictureDecoder)?
        /// The decoder's format.
        var codec = VideoCodec.h264
        var shelf = TicketShelf()
        var times = ShownTimes()
        let shown: ShownPictures
        /// The number that the next unit without a ticket carries inside the decoder. No ticket has such a number.
        var primer = Int64(1) << 62
        /// The decoder has failed, so nothing more of this run is decoded.
        var isBroken = false
        /// A picture has come since the run began.
        var hasShown = false
        /// Units in a row that cannot be decoded, and how many of them are whole ones at which a decoder can begin.
        var undecodable = (units: 0, entries: 0)
        /// An event has said that pictures are dropped because they must not pass.
        var hasToldLoss = false
        /// When the first unit of the run was to be shown that the decoder could not begin with, while none has come that it could.
        var awaitsEntrySince: MediaTime?
        /// It could begin with a gradual refresh, which is not complete.
        var refreshes = false
        /// The decoder gives what it held back, because no more units come.
        var drained: DrainedDeadlines?

        init(showing shown: ShownPictures) { self.shown = shown }
    }

    /// So many units in a row that cannot be decoded are no damage: the decoder cannot do this stream.
    private static let mostUndecodable = 30
    /// Behind a picture so many of them are to be such that a decoder can begin there. Without one, the units up to the next
    /// cannot be decoded because it was lost.
    private static let leastEntries = 2

    /// A stream that gives the decoder nothing to begin with for so long (5 s) may never do so.
    private static let longestStart = 5 * MediaTime.ticksPerSecond
    /// A gradual refresh that takes longer (10 s) is none.
    private static let longestRefresh = 10 * MediaTime.ticksPerSecond

    /// Runs until the queue of units is closed and empty. Then it drains the decoder and closes its own queue.
    func run() {
        defer {
            pictures.close()
            turns.end(.decode)
        }
        var run = Run(showing: ShownPictures(pictures, channels))
        var settings = LiveSettings.Copy(of: settings)
        while let unit = units.pop() {
            if unit.buffer == nil {
                end(&run, &settings)
                activity.framesKept = 0
                continue
            }
            let id = unit.record?.id
            activity.frameInside = id
            do throws(CodecError) {
                try process(unit, &run, &settings)
            } catch {
                fail(error, at: id, &run)
            }
            activity.framesKept = run.shelf.count
            activity.frameInside = nil
        }
        end(&run, &settings)
    }

    /// The decoder shows what it holds back. What it lost is dropped.
    private func end(_ run: inout Run, _ settings: inout LiveSettings.Copy) {
        do throws(CodecError) {
            if let decoder = run.decoder {
                _ = settings.refresh()
                decoder.exportsQuantisers = settings.value.readsQuantisers
                run.drained = DrainedDeadlines(drained: .now(), budget: settings.value.budget)
                decoder.drain()
                _ = try collectPictures(of: decoder, &run)
            }
        } catch {
            fail(error, at: nil, &run)
        }
        run.drained = nil
        run.shown.forget()
        while let ticket = run.shelf.removeAny() { books.drop(ticket, .decodeError) }
        run.isBroken = false
        run.hasShown = false
        run.undecodable = (0, 0)
        run.hasToldLoss = false
        run.awaitsEntrySince = nil
        run.refreshes = false
    }

    /// Pictures that the decoder cannot do go out as they came, where they may. With `keep-size` the stream ends.
    private func fail(_ error: CodecError, at frame: UInt64?, _ run: inout Run) {
        run.decoder = nil
        run.isBroken = true
        while let ticket = run.shelf.removeAny() { books.drop(ticket, .decodeError) }
        if configuration.options.keepSize { return control.fail(.codec(error)) }
        pass("nothing can be decoded (\(error))", .decoder, from: frame, &run)
    }

    private func process(
        _ unit: consuming CodedPicture, _ run: inout Run, _ settings: inout LiveSettings.Copy
    ) throws(CodecError) {
        if unit.codec != run.codec {
            // The source has changed its format.
            end(&run, &settings)
            run.decoder = nil
            run.codec = unit.codec
        }
        // Ingest has removed the obstacle since: the pictures from here on are worth another decoder.
        if unit.isKeyframe, !path.obstacles.contains(.decoder) { run.isBroken = false }
        if run.isBroken {
            if let id = unit.record?.id { keyframes.cannotDecode(id) }
            return drop(unit, control.isStopping ? .shutdown : .decodeError)
        }
        if run.decoder == nil {
            do throws(CodecError) {
                run.decoder = try makeDecoder(run.codec, settings.value)
            } catch {
                drop(unit, .decodeError)
                throw error
            }
        }
        let decoder = run.decoder!
        if settings.refresh() {
            decoder.exportsQuantisers = settings.value.readsQuantisers
            decoder.hdrPeak = settings.value.hdrPeak
        }
        let isKeyframe = unit.isKeyframe
        if unit.record == nil, isKeyframe { admitPrimer() }
        let admission = unit.record.map { admit($0, isKeyframe: isKeyframe) } ?? .decode
        if case .drop(let reason) = admission {
            books.counters.add(.shedBeforeDecoder)
            if reason == .noKeyframe, let id = unit.record?.id { keyframes.cannotDecode(id) }
            return drop(unit, reason)
        }
        decoder.skipsNonReference = admission == .decodeIfReferred
        try decode(consume unit, with: decoder, &run)
    }

    private func makeDecoder(
        _ codec: VideoCodec, _ settings: StreamSettings
    ) throws(CodecError) -> any PictureDecoder {
        var decoding = VideoDecoder.Configuration()
        decoding.codec = codec
        decoding.threads = configuration.options.decodeThreads
        decoding.exportsQuantisers = settings.readsQuantisers
        decoding.hdrPeak = settings.hdrPeak
        decoding.isLive = true
        return try configuration.makeDecoder(decoding)
    }

    /// Asks the scheduler whether to decode a unit. A source that can wait is never too fast.
    private func admit(_ record: FrameRecord, isKeyframe: Bool) -> UnitAdmission {
        guard configuration.input.isLive else { return .decode }
        let now = MonotonicTime.now()
        var state = PipelineState()
        state.codedWaiting = units.count
        state.keyframeWaiting = units.keyframeWaits
        return schedule.withScheduler {
            $0.admit(at: now, emitBy: record.deadline ?? now, isKeyframe: isKeyframe, state)
        } ?? .decode
    }

    /// A keyframe that shows nothing is always decoded, and units that were of no use until a keyframe are of use after it.
    private func admitPrimer() {
        guard configuration.input.isLive else { return }
        let now = MonotonicTime.now()
        _ = schedule.withScheduler { $0.admit(at: now, emitBy: now, isKeyframe: true, PipelineState()) }
    }

    private func drop(_ unit: consuming CodedPicture, _ reason: DropReason) {
        if let buffer = unit.buffer { units.recycle(buffer) }
        if let ticket = unit.intoTicket() { books.drop(ticket, reason) }
    }

    private func decode(
        _ unit: consuming CodedPicture, with decoder: any PictureDecoder, _ run: inout Run
    ) throws(CodecError) {
        let buffer = unit.buffer!
        let flags = unit.flags
        defer { units.recycle(buffer) }
        guard var ticket = unit.intoTicket() else {
            run.primer += 1
            try unsafe decoder.decode(buffer.bytes, id: run.primer, flags: flags)
            _ = try collectPictures(of: decoder, &run)
            return
        }
        ticket.stamp(.decodeIn)
        let key = Int64(ticket.record.id)
        let started = MonotonicTime.now()
        let isInside: Bool
        do throws(CodecError) {
            isInside = try unsafe decoder.decode(buffer.bytes, id: key, flags: flags)
        } catch {
            books.drop(ticket, .decodeError)
            throw error
        }
        // The work for this unit. A picture that is shown later stays inside for longer, which costs nothing.
        let decoding = MonotonicTime.now() - started
        if isInside {
            ticket.record.decodeTime = decoding
        } else {
            ticket.record.isReference = false
        }
        if let evicted = run.shelf.put(ticket, key: key) { books.drop(evicted, .decodeError) }
        let deinterlacing = try collectPictures(of: decoder, &run)
        guard isInside else { return }
        // The scheduler counts pictures, of which an interlaced unit may give two.
        let cost = Nanoseconds((decoding + deinterlacing).count / Int64(activity.picturesPerUnit))
        _ = schedule.withScheduler { $0.observe(.decode, cost) }
    }

    /// - Returns: how long it took to deinterlace and mask what came out.
    private func collectPictures(of decoder: any PictureDecoder, _ run: inout Run) throws(CodecError) -> Nanoseconds {
        var deinterlacing = Nanoseconds.zero
        while let output = try decoder.next() {
            switch consume output {
            case .picture(let picture):
                run.hasShown = true
                run.undecodable = (0, 0)
                guard var ticket = run.shelf.remove(key: picture.id) else { continue }
                run.times.settle(&ticket.record)
                run.drained?.settle(&ticket.record)
                ticket.record.isKeyframe = picture.isKeyframe
                ticket.record.isReference = picture.isReference
                if !picture.damage.isEmpty {
                    ticket.record.isDamaged = true
                    books.counters.add(.picturesDamaged)
                    keyframes.cannotDecode(ticket.record.id)
                }
                deinterlacing += try run.shown.show(picture, ticket)
            case .noPicture(let id, let fault):
                guard var ticket = run.shelf.remove(key: id) else { continue }
                if fault == .undecodable {
                    keyframes.cannotDecode(ticket.record.id)
                    countUndecodable(ticket.record, &run)
                }
                if fault == .awaitingKeyframe { awaitEntry(ticket.record, &run) }
                if fault == .skipped { books.counters.add(.skippedByDecoder) }
                // The first field's picture goes out as the keyframe that a second field may be marked as.
                if fault == .secondField { ticket.record.isKeyframe = false }
                books.drop(ticket, fault.dropReason)
            }
        }
        return deinterlacing
    }

    /// What comes without any entry point goes out as it comes, until there is one.
    private func awaitEntry(_ record: FrameRecord, _ run: inout Run) {
        guard !run.hasShown else { return }
        let beginsRefresh = record.isKeyframe && !run.refreshes
        let since = beginsRefresh ? record.presentation : run.awaitsEntrySince ?? record.presentation
        run.awaitsEntrySince = since
        if beginsRefresh { run.refreshes = true }
        let longest = run.refreshes ? Self.longestRefresh : Self.longestStart
        guard record.presentation - since >= longest, path.obstacles.isEmpty else { return }
        let refreshes = run.refreshes
        pass(
            refreshes
                ? "the stream's gradual refresh was not complete after 10 s"
                : "the stream has had nothing that a decoder can begin with for 5 s",
            .start, from: record.id, &run)
    }

    private func countUndecodable(_ record: FrameRecord, _ run: inout Run) {
        run.undecodable.units += 1
        if record.isKeyframe, !record.isDamaged { run.undecodable.entries += 1 }
        guard run.undecodable.units >= Self.mostUndecodable,
            !run.hasShown || run.undecodable.entries >= Self.leastEntries
        else { return }
        // Again for pictures of a former format, which are no obstacle to this one.
        let (count, hasShown) = (run.undecodable.units, run.hasShown)
        run.undecodable = (0, 0)
        guard path.obstacles.isDisjoint(with: [.decoder, .size]) else { return }
        pass(
            hasShown ? "none of the last \(count) pictures could be decoded" : "no picture could be decoded so far",
            .decoder, from: record.id, &run)
    }

    /// Pictures go out as they came, where they may. Else they are dropped, and one line a run says so.
    /// - Parameter reason: the beginning of the event's text.
    private func pass(
        _ reason: @autoclosure () -> String, _ obstacle: PicturePath.Obstacles, from frame: UInt64?, _ run: inout Run
    ) {
        // A transport stream cannot hold VP8.
        guard configuration.options.keepSize || run.codec == .vp8 else {
            let consequence =
                settings.holdsBypass
                ? "and mask forbids that they go out as they come: the pictures are dropped"
                : "so the pictures go out as they come"
            control.report(.message("\(reason()), \(consequence)"))
            return path.insert(obstacle, from: frame)
        }
        guard !run.hasToldLoss else { return }
        run.hasToldLoss = true
        let advice =
            run.codec == .vp8
            ? "and VP8 cannot go out as it comes: the pictures are dropped. Send H.264"
            : "and keep-size forbids that they go out as they come: the pictures are dropped. "
                + "Leave out keep-size, or send \(VideoCodec.names)"
        control.report(.message("\(reason()), \(advice)"))
    }
}

extension CodecFault {
    var dropReason: DropReason {
        switch self {
        case .awaitingKeyframe: .noKeyframe
        case .undecodable: .decodeError
        case .skipped: .overload
        // Two units made one picture, so one of them adds none to the output.
        case .secondField, .hidden: .cadence
        }
    }
}
