import Bitstream
import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry

/// Sends each coded picture the way that ``PathSwitch`` decides: to the decoder's queue, or by ``BypassLine`` to the output.
///
/// Confined to the ingest thread.
final class PictureRouter {
    /// A picture with its place in the output.
    struct Picture {
        var presentation: MediaTime
        /// When the source wants it decoded, on the output's time line.
        var decode: MediaTime
        /// It came with time stamps of its own.
        var isTimed: Bool
        /// When it was made, or else when it arrived.
        var source: MonotonicTime
        var flags: UnitFlags
    }

    private let queue: UnitQueue
    private let output: any PassedOutput
    private let line: BypassLine
    private let path: PicturePath
    private let keyframes: Keyframes
    private let captions: Captions
    private let books: StreamBooks
    private let control: StreamControl
    private let turns: StageTurns
    private let settings: LiveSettings
    private let keepsSize: Bool
    private let mayWait: Bool
    /// Receivers of calls get the pictures, too. They take H.264 alone, in the order in which it is shown.
    private let feedsCalls: Bool
    /// The source is a call, whose sender can be asked for a keyframe.
    private let asksSource: Bool
    private var paths = PathSwitch()
    private var entries = EntryPoints()
    private var wish = KeyframeWish()
    /// The pictures' size, as their headers have it; nil where they cannot be read.
    private var size: PictureSize?
    /// The pictures come in another order than that in which they are shown, as far as their headers say.
    private var areReordered = false
    /// What was said of the present format.
    private var remarks: CallRemarks = []

    /// What receivers of calls mean for pictures that they cannot show, and a mask for all.
    private struct CallRemarks: OptionSet {
        let rawValue: UInt8
        static let modeDoesNotHold = CallRemarks(rawValue: 1)
        static let noPicture = CallRemarks(rawValue: 2)
        static let isMasked = CallRemarks(rawValue: 4)
    }

    /// Since when leading pictures have been awaited, and why pictures are bypassed after them.
    private var leaving: (since: MonotonicTime, wishes: PathSwitch.Wishes)?
    private var video: TransportStreamLayout.Video
    private let encodes: OutputCodec
    /// No entry point is to be expected.
    private var hasNoEntries = false
    /// The main video's; nil before the first.
    private var format: (streamType: UInt8, codec: StreamCodec)?
    /// Whether the output refused the program's layout, so that the next refusal is no news.
    private var isRefused = false
    /// Receivers have nothing of this bypass yet.
    private var needsParameterSets = false
    /// Since when a change of the pictures' way has waited for a keyframe. The inner value is nil once that was said.
    private var changeAwaitedSince: MonotonicTime??
    private var mode: StreamSettings.Mode

    /// How long the end of the stream waits for the next frame that comes before what is held.
    private static let finishTimeout = Nanoseconds.seconds(3)
    /// How long a live source may leave out leading pictures. Until they come, the entry point is held.
    private static let leavingTimeout = Nanoseconds.seconds(3)
    /// How often ingest checks whether held units may go.
    private static let holdPollInterval = Nanoseconds.milliseconds(1)

    /// - Parameter mode: of the settings whose changes ``change(_:)`` gets.
    init(queue: UnitQueue, output: any PassedOutput, mode: StreamSettings.Mode, mayWait: Bool, channels: StreamChannels) {
        self.queue = queue
        self.output = output
        self.mayWait = mayWait
        line = BypassLine(output: output, channels)
        path = channels.path
        keyframes = channels.keyframes
        captions = channels.captions
        books = channels.books
        control = channels.control
        turns = channels.turns
        settings = channels.settings
        feedsCalls = output.feedsCalls
        asksSource =
            switch channels.configuration.input {
            case .call, .sdp: true
            case .srt, .rtp, .udp, .file, .standardStream: false
            }
        keepsSize = channels.configuration.options.keepSize
        encodes = channels.configuration.options.codec
        video = TransportStreamLayout.Video(encodes)
        self.mode = mode
    }

    /// When ingest has to call ``turn()`` again; nil while nothing is held.
    func nextTurn(after now: MonotonicTime) -> MonotonicTime? { line.isHolding ? now + Self.holdPollInterval : nil }

    /// Whether pictures go out as they came, so that the decoder's run has ended.
    var isBypassed: Bool { paths.isBypassed }

    /// Whether pictures of the present stream may go out as they came, where they cannot be enhanced. A transport stream cannot
    /// hold VP8.
    private var mayBypass: Bool { !keepsSize && format?.codec != .vp8 }

    /// Whether all receivers can show the pictures as they came.
    private var areShown: Bool { !feedsCalls || format?.codec == .h264 && !areReordered }

    /// Whether they may go out as they came although they could be enhanced.
    var mayChooseBypass: Bool { mayBypass && areShown && !settings.holdsBypass }

    /// How many pictures are held.
    var held: Int { line.count }

    /// Sends what is held, once everything before it is out.
    func turn() { turn(besides: 0) }

    private func turn(besides own: Int) {
        guard line.isHolding else { return }
        if let leaving, paths.isLeaving {
            guard !mayWait, .now() - leaving.since >= Self.leavingTimeout else { return }
            if paths.leave() { queue.endRun() }
            beginBypass(leaving.wishes)
        }
        line.open(besides: own)
    }

    /// Whether the sender of a call is to be asked for a keyframe for those behind ingest: receivers of pictures that go out as
    /// they came, else the decoder, or where pictures are to take the other way from the next keyframe on. Browsers send none
    /// unless they are asked.
    /// - Parameter isAsked: the sender is asked anyway, because packets are missing.
    /// - Returns: how often the request is to be repeated; nil where there is none.
    func keyframeWish(isAsked: Bool, at now: MonotonicTime) -> Nanoseconds? {
        let isUrgent =
            path.isBypassed
            ? keyframes.sourceOwesOne || line.awaitsEntry
            : wish.isDue(for: keyframes.undecodable, isAsked: isAsked, at: now) || queue.awaitsKeyframe
                || keyframes.viewersAwaitSource
        let awaitsChange = followChange(at: now)
        if isUrgent { return Self.wishInterval }
        return awaitsChange ? Self.changeInterval : nil
    }

    /// Says once that a change of the pictures' way waits for a keyframe.
    /// - Returns: whether it does.
    private func followChange(at now: MonotonicTime) -> Bool {
        guard awaitsChange else {
            changeAwaitedSince = nil
            return false
        }
        guard let since = changeAwaitedSince else {
            changeAwaitedSince = now
            return true
        }
        guard let since, now - since >= Self.changeInterval else { return true }
        changeAwaitedSince = .some(nil)
        let what = paths.isBypassed ? "be enhanced" : "go out as they come"
        let request = asksSource ? "; its sender is asked for it" : ""
        control.report(.message("pictures will \(what) from the source's next keyframe on\(request)"))
        return true
    }

    /// How often a request is repeated: of those who show nothing before it is answered, and of those who show pictures meanwhile.
    private static let wishInterval = Nanoseconds.milliseconds(250)
    private static let changeInterval = Nanoseconds.seconds(1)

    /// Whether the next keyframe changes the pictures' way.
    private var awaitsChange: Bool {
        guard let format, paths.hasBegun, !paths.isChanging, !line.isHolding else { return false }
        return wishes(isCoded: format.codec.video != nil).wantBypass != paths.isBypassed
    }

    private func wishes(isCoded: Bool) -> PathSwitch.Wishes {
        var wishes = PathSwitch.Wishes()
        wishes.hasNoEntries = hasNoEntries
        if !isCoded {
            wishes.isForced = true
        } else if mayBypass {
            let mayChoose = mayChooseBypass
            wishes.mode = mayChoose && mode == .bypass
            wishes.ladder = mayChoose && path.ladderWantsBypass
            wishes.viewers = mayChoose && path.viewersWantBypass
            wishes.isForced = !path.obstacles.isEmpty
        }
        return wishes
    }

    // MARK: The stream

    /// The pictures from here on are of another stream. Where it is of another format, receivers do not know it yet.
    func beginStream(_ stream: ElementaryStreamDescription) {
        if stream.streamType != format?.streamType || stream.codec != format?.codec {
            paths.beginStream()
            areReordered = false
            remarks = []
        }
        format = (stream.streamType, stream.codec)
        // Receivers keep what they know of the encoder's codec when pictures are enhanced and bypassed in turns.
        video =
            stream.codec == StreamCodec(encodes)
            ? TransportStreamLayout.Video(encodes)
            : TransportStreamLayout.Video(streamType: stream.streamType, descriptors: stream.descriptors)
        entries.restart()
        size = nil
        path.removeObstacles(from: books.ledger.nextFrame)
    }

    /// The source was gone, and begins anew.
    func restart() { entries.restart() }

    /// The pictures from here on have another format.
    func beginFormat(_ parameters: VideoParameters) {
        size = parameters.size
        areReordered = parameters.reordering ?? 0 > 0
        path.removeObstacles(from: books.ledger.nextFrame)
    }

    /// Another mode is set. That is also a wish to try again what has failed.
    func change(_ mode: StreamSettings.Mode) {
        guard mode != self.mode else { return }
        self.mode = mode
        remarks = []
        path.removeObstacles(from: books.ledger.nextFrame, besides: .size)
    }

    // MARK: Pictures

    /// Decides a picture's way. Call ``send(_:_:_:_:)`` next.
    /// - Parameter isTimed: its time stamp is its own, or follows from those before.
    func decide(_ unit: StreamUnit, at presentation: MediaTime, isTimed: Bool) -> PathSwitch.Decision {
        turn(besides: 1)
        let isStart = unit.isStart
        hasNoEntries = entries.areMissing(upTo: presentation, isEntry: isStart)
        if isStart, path.obstacles == .start { path.removeObstacles(from: books.ledger.nextFrame) }
        if feedsCalls { path.mayBeSentToViewers = unit.codec == .h264 && mayChooseBypass }
        let wishes = wishes(isCoded: unit.codec != nil)
        if unit.codec != nil, mayBypass, mode == .bypass {
            if !areShown { say(.modeDoesNotHold) } else if settings.holdsBypass { sayMasked() }
        }
        entries.observe(isTimed: isTimed)
        var picture = PathSwitch.Picture(presentation)
        // In the steady state nobody asks what a unit is.
        if paths.isChanging || unit.isKeyframe && wishes.wantBypass != paths.isBypassed { entries.read(unit, into: &picture) }
        let decision = paths.decide(picture, wishes, isSettled: !line.isHolding)
        // Wishes may have changed while leading pictures came.
        if paths.isBypassed { beginBypass(leaving?.wishes ?? wishes) }
        leaving = paths.isLeaving ? leaving ?? (.now(), wishes) : nil
        if paths.isBypassed, feedsCalls, video != .h264 { say(.noPicture) }
        return decision
    }

    /// Says it once for each format.
    private func say(_ remark: CallRemarks) {
        guard remarks.insert(remark).inserted else { return }
        let reason = video == .h264 ? "come in another order than they are shown in" : "are no H.264"
        let consequence = remark == .noPicture ? "viewers of calls get no picture" : "mode bypass does not hold"
        control.report(.message("\(consequence): calls cannot take the source's own pictures, which \(reason)"))
    }

    /// Says once for each format that nothing goes out as it came.
    private func sayMasked() {
        guard remarks.insert(.isMasked).inserted else { return }
        control.report(.message("pictures do not go out as they came: mask forbids mode bypass and hdr pass"))
    }

    /// Pictures go out as they came, from now on.
    private func beginBypass(_ wishes: PathSwitch.Wishes) {
        guard !path.isBypassed else { return }
        path.beginBypass()
        needsParameterSets = true
        if let size { control.report(.picture(input: size, output: size)) }
        control.report(.message(Self.beginning(wishes, settings.current.steps)))
    }

    /// Sends a picture the way that was decided.
    func send(_ unit: StreamUnit, _ decision: PathSwitch.Decision, _ picture: Picture, _ ticket: consuming FrameTicket) {
        if decision.endsRun { queue.endRun() }
        if unit.isKeyframe, !unit.isDamaged {
            wish.keyframeCame(ticket.record.id, at: .now())
            if path.isBypassed { keyframes.hasGoneOut() }
            keyframes.sourceHasCome()
        }
        // Pictures of the former way come before it.
        if paths.isLeaving || decision.endsRun { line.hold() }
        if decision.beginsRun {
            path.beginRun()
            control.report(.message("pictures are enhanced again"))
        }
        // Receivers have the encoder's parameter sets, and the decoder those of pictures before the bypass.
        let isFirst =
            decision.endsRun || decision.beginsRun || decision.step == .prime || needsParameterSets && unit.isKeyframe
        if unit.isKeyframe { needsParameterSets = false }
        guard isFirst, let whole = EntryPoints.completed(unit) else {
            return unsafe send(unit.bytes, of: unit, decision.step, picture, ticket)
        }
        var pending: FrameTicket? = consume ticket
        unsafe whole.withUnsafeBytes { unsafe send($0, of: unit, decision.step, picture, pending.take()!) }
    }

    private func send(
        _ bytes: UnsafeRawBufferPointer, of unit: StreamUnit, _ step: PathSwitch.Step, _ picture: Picture,
        _ ticket: consuming FrameTicket
    ) {
        let codec = unit.codec ?? .h264
        switch step {
        case .enhance:
            if let data = unsafe UserDataReader.read(bytes, of: codec) {
                let dropped = captions.record(data, at: picture.presentation)
                if dropped > 0 { books.counters.add(.captionsDropped, UInt64(dropped)) }
            }
            unsafe sendToViewers(bytes, of: unit, picture)
            unsafe queue.add(
                ticket, bytes, codec: codec, flags: picture.flags, isKeyframe: unit.isStart, mayWait: mayWait)
        case .prime:
            unsafe queue.prime(
                bytes, codec: codec, flags: picture.flags, isKeyframe: unit.isStart, mayWait: mayWait)
            unsafe bypass(bytes, of: unit, picture, ticket)
        case .bypass: unsafe bypass(bytes, of: unit, picture, ticket)
        }
    }

    /// A viewer whose link does not carry what the relay makes of a picture gets the picture as it came.
    private func sendToViewers(_ bytes: UnsafeRawBufferPointer, of unit: StreamUnit, _ picture: Picture) {
        guard feedsCalls, output.sendsToViewers, mayChooseBypass else { return }
        let facts = CodedUnit(
            presentation: picture.presentation, decode: picture.decode, isKeyframe: unit.isKeyframe, isTimed: picture.isTimed)
        guard unit.isKeyframe, let whole = EntryPoints.completed(unit) else {
            return unsafe output.sendToViewers(bytes.bytes, facts, source: picture.source)
        }
        unsafe whole.withUnsafeBytes { unsafe output.sendToViewers($0.bytes, facts, source: picture.source) }
    }

    private func bypass(
        _ bytes: UnsafeRawBufferPointer, of unit: StreamUnit, _ picture: Picture, _ ticket: consuming FrameTicket
    ) {
        if mayWait {
            while !line.hasRoom, !control.isStopping {
                turns.sleep(until: .now() + Self.holdPollInterval, as: .ingest)
                turn(besides: 1)
            }
        }
        do throws(ContainerError) {
            try output.prepare()
        } catch {
            if !isRefused { control.report(.message("\(error)")) }
            isRefused = true
            return books.drop(ticket, .encodeError)
        }
        let facts = CodedUnit(
            presentation: picture.presentation, decode: picture.decode, isKeyframe: unit.isKeyframe,
            beginsAnywhere: hasNoEntries, video: video,
            isTimed: picture.isTimed, fate: .bypassed)
        unsafe line.deliver(bytes, facts, ticket, source: picture.source)
        turn()
    }

    /// The source has ended, or the stream is to stop: what is held goes out after everything before it.
    func finish() {
        var limit = MonotonicTime.now() + Self.finishTimeout
        var inFlight = books.ledger.inFlight
        if line.isHolding { queue.endRun() }
        while line.isHolding, .now() < limit {
            line.open()
            if books.ledger.inFlight != inFlight, !control.isStopping {
                inFlight = books.ledger.inFlight
                limit = .now() + Self.finishTimeout
            }
            if line.isHolding { turns.sleep(until: .now() + Self.holdPollInterval, as: .ingest) }
        }
        line.abandon()
    }

    private static func beginning(_ wishes: PathSwitch.Wishes, _ steps: StepSettings) -> String {
        if steps.holdsBypass {
            return "pictures are not sent: they cannot be enhanced, and mask forbids that they go out as they come"
        }
        let reason =
            if wishes.isForced { "they cannot be enhanced" } else if wishes.mode { "mode is bypass" } else if wishes.viewers {
                "no viewer's link carries more"
            } else {
                "the machine has no time for more"
            }
        // What somebody asked for, and does not see now.
        let absent = StepSet.single.filter { $0.facts.place != .decoded && !steps.isNeutral($0) }.map(\.name)
        let without = absent.isEmpty ? "" : ", without \(absent.joined(separator: ", "))"
        return "pictures go out as they come\(without): \(reason)"
    }
}
