import Endpoint
import Media
import Packets
import Telemetry
import Transport

/// The outputs of a stream with their receivers: sends each message to all of them, and keeps the books of each.
///
/// No receiver waits for another: sends do not block, and what a receiver does not accept is lost to it alone. It then gets no
/// video until the next keyframe.
///
/// Used under the lock of ``SendStage``. Nothing here allocates in the steady state.
struct FanOut: ~Copyable {
    let sinks: [Sink]
    /// In the order of the outputs and of their places.
    var receivers: [Receiver] = []
    var ledger: OutputLedger
    private var demand = KeyframeDemand()
    /// For keyframes of the publisher.
    var sourceDemand = KeyframeDemand()
    /// For those of the one more encode.
    var extraDemand = KeyframeDemand()
    /// What it can give, and when its newest picture came.
    var extraOffer = ExtraOffer()
    var lastExtra: MonotonicTime?
    private var slow = SlowReceivers()
    /// What the encoder's pictures have, and when the newest came.
    private(set) var encodedRate = InputRate()
    var lastEncoded: MonotonicTime?
    private var copies = MessageCopies()
    private var payloads = MediaPayloads()
    /// Receivers of pictures have come since the last ``follow(report:)``.
    private var needsKeyframe = false
    /// Messages that were not accepted, and are not counted yet.
    private var refusals: UInt64 = 0

    init(_ sinks: [Sink], map: TelemetryMap.Writer?) {
        self.sinks = sinks
        ledger = OutputLedger(outputs: sinks.map(\.url.identity), map: map)
        // Outputs that no receiver connects to. They get the encoder's first picture, which is a keyframe.
        for output in sinks.indices where !sinks[output].hasConnections { adoptConnections(of: output) }
        for index in receivers.indices { receivers[index].keyframe.forgive() }
    }

    // MARK: Receivers

    var hasReceivers: Bool { !receivers.isEmpty }
    /// Whether anybody gets pictures.
    var hasPictureReceivers: Bool { receivers.contains(where: \.takesPictures) }
    /// Whether nothing can ever go out again.
    var isBroken: Bool { sinks.allSatisfy(\.isBroken) }

    /// Learns which receivers have come and gone. Called between two units, so that nobody begins with half of one.
    /// - Parameter report: gets each event, with its output's number where there are several.
    /// - Returns: how many have come.
    mutating func follow(report: (LegEvent, _ number: Int?) -> Void) -> Int {
        var come = 0
        for output in sinks.indices {
            while let event = sinks[output].nextEvent() { report(event, sinks.count > 1 ? output + 1 : nil) }
            come += adoptConnections(of: output)
        }
        if needsKeyframe { demand.want(at: .now()) }
        needsKeyframe = false
        return come
    }

    /// Brings the receivers of an output in line with its connections. Both are in the order of the places.
    /// - Returns: how many receivers are new.
    @discardableResult private mutating func adoptConnections(of output: Int) -> Int {
        let sink = sinks[output]
        var index = receivers.firstIndex { $0.output >= output } ?? receivers.endIndex
        var come = 0
        for place in 0..<sink.places {
            let connection = sink.connection(at: place)
            let isKnown = index < receivers.endIndex && receivers[index].output == output
            if isKnown, receivers[index].connection.place == place {
                if receivers[index].connection == connection {
                    index += 1
                    continue
                }
                receivers.remove(at: index)
            }
            guard let connection else { continue }
            // A receiver of a call may have agreed on sound alone.
            let viewer = sink.viewers?.viewer(of: connection)
            let takesPictures = viewer?.has(.video) ?? true
            let takesOnly = viewer.flatMap { ExtraEncoding.Codec(onlyOf: $0) }
            if takesPictures, takesOnly == nil { needsKeyframe = true }
            receivers.insert(
                Receiver(
                    output: output, connection: connection, takesMedia: sink.takesMedia, takesPictures: takesPictures,
                    takesOnly: takesOnly, keyframe: KeyframeDebt(isOwed: takesPictures),
                    layers: takesOnly != nil ? LayerSwitch(.sound) : LayerSwitch()), at: index)
            index += 1
            come += 1
        }
        return come
    }

    /// Who receives media; nil where they have gone, and for receivers of messages.
    func viewer(_ receiver: Receiver) -> RTPViewer? { sinks[receiver.output].viewers?.viewer(of: receiver.connection) }

    /// All receivers need a keyframe. For tests.
    mutating func restart() {
        for index in receivers.indices where receivers[index].takesPictures { receivers[index].keyframe.owe() }
        demand.want(at: .now())
    }

    /// Whether the encoder is to make a keyframe for receivers that wait for one.
    mutating func claimKeyframe(at now: MonotonicTime = .now()) -> Bool {
        for index in receivers.indices where receivers[index].takesMedia && receivers[index].takesPictures {
            if viewer(receivers[index])?.claimGap() == true { receivers[index].keyframe.owe() }
            let receiver = receivers[index]
            if receiver.layers.present == .sent {
                if viewer(receiver)?.claimKeyframe(at: now) == true { sourceDemand.wantByRequest(at: now) }
            } else if receiver.layers.present == .small {
                if viewer(receiver)?.claimKeyframe(at: now) == true { extraDemand.wantByRequest(at: now) }
            } else if receiver.layers.present == .sound {
                // Who gets no pictures misses none.
                continue
            } else if receiver.pace.isHeldBack {
                claimKeyframe(ofSlow: receiver, at: now)
            } else if viewer(receiver)?.claimKeyframe(at: now) == true {
                demand.wantByRequest(at: now)
            }
        }
        return demand.claim(at: now, othersAreServed: receivers.contains { $0.takesPictures && !$0.keyframe.isOwed })
    }

    /// A receiver needs a keyframe of the encoder.
    mutating func wantKeyframe(at now: MonotonicTime) { demand.want(at: now) }

    /// One that gets keyframes only asks for them without end.
    private mutating func claimKeyframe(ofSlow receiver: Receiver, at now: MonotonicTime) {
        guard slow.mayAsk(isTrial: receiver.pace.awaitsTrial, at: now) else { return }
        let hasAsked = viewer(receiver)?.claimKeyframe(at: now) == true
        guard hasAsked || receiver.pace.awaitsTrial else { return }
        slow.asked(at: now)
        demand.want(at: now)
    }

    /// Learns what the links of calls' receivers carry: which layer each one gets, and who cannot follow, or can again. Does nothing most
    /// times.
    /// - Parameters:
    ///   - floor: the least bit rate, where the rate follows the receivers; `ceiling`: the most.
    ///   - input: what the publisher's pictures have, 0 while that is not known; nil where viewers cannot get them.
    ///   - report: gets each change, with its output's number where there are several.
    mutating func followPaces(
        floor: Int?, ceiling: Int, input: Int? = nil, at now: MonotonicTime, report: (LegEvent, _ number: Int?) -> Void
    ) {
        guard slow.claimTurn(at: now) else { return }
        let needs = LayerChoice.Needs(
            input: input, encoded: encodedRate.rate, floor: floor, ceiling: ceiling,
            small: servedAlone == nil ? extraOffer.small : nil)
        let useful = needs.useful(hasFloor: floor != nil, ceiling: ceiling)
        for index in receivers.indices where receivers[index].takesMedia {
            guard let viewer = viewer(receivers[index]), viewer.has(.video) else { continue }
            viewer.findRoom(upTo: useful)
            guard !followLayer(index, viewer, needs, at: now, report: report) else { continue }
            let change = receivers[index].pace.observe(.init(viewer.feedback), floor: floor, ceiling: ceiling, at: now)
            // Also after a trial that has failed, which is no news.
            if receivers[index].pace.frames == .keyframesOnly { receivers[index].keyframe.owe() }
            guard let change else { continue }
            viewer.isHeldBack = change == .slowed
            report(
                change == .slowed ? .fellBehind(peer: viewer.peer) : .followsAgain(peer: viewer.peer),
                sinks.count > 1 ? receivers[index].output + 1 : nil)
        }
    }

    /// Whether anybody receives media without a multiplex now.
    var hasMediaReceivers: Bool { receivers.contains(where: \.takesMedia) }

    /// How many messages were refused since the last call.
    mutating func drainRefusals() -> UInt64 {
        defer { refusals = 0 }
        return refusals
    }

    // MARK: Units

    /// A unit was delivered. It is offered to each output once, and again when it goes out for each further reader.
    mutating func countOffered() { for output in sinks.indices { ledger.countOffered(output) } }

    mutating func setQueued(_ count: Int) { ledger.setQueued(count) }

    /// The books of each output.
    var books: [OutputBooks] { ledger.books }

    /// What became of a unit of video.
    struct Outcome {
        /// Receivers that it was sent to, in part or whole.
        var receivers = 0
        /// Receivers that have all of it.
        var whole = 0
        /// When the first receiver of a multiplex, or else the last viewer of a call, had been sent all of it, and when the last had.
        var sent = MonotonicTime(nanoseconds: 0)
        var end = MonotonicTime(nanoseconds: 0)
    }

    /// Sends a unit of video to every receiver that can use it.
    /// - Parameters:
    ///   - isSent: it is the publisher's own, and takes the place of the encoder's.
    ///   - media: the unit for receivers without a multiplex; nil where they have no use for it.
    ///   - write: emits the unit's messages. It is not called where nobody can use them.
    mutating func sendVideo(
        isKeyframe: Bool, isSent: Bool = false, stamp: MonotonicTime, media: MediaUnit? = nil, at now: MonotonicTime = .now(),
        write: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) -> Outcome {
        for index in receivers.indices {
            receivers[index].isDue =
                receivers[index].takesPictures
                && (!receivers[index].takesMedia
                    || receivers[index].layers.takes(isKeyframe: isKeyframe, isSent: isSent, at: media?.presentation))
        }
        if !isSent, let media {
            lastEncoded = now
            _ = unsafe encodedRate.observe(bytes: media.bytes.count, at: media.presentation)
        }
        func isMeant(_ receiver: Receiver) -> Bool {
            receiver.isDue && (isKeyframe || !receiver.keyframe.isOwed) && (media != nil || !receiver.takesMedia)
        }
        var outcome = unsafe send(stamp: stamp, media: media, to: isMeant, write: write)
        if outcome.receivers == 0 { outcome.sent = .now() }
        if isKeyframe, outcome.receivers > 0 {
            demand.keyframeWasSent()
            slow.keyframeWasSent()
            if isSent { sourceDemand.keyframeWasSent() }
        }
        var served = -1
        for index in receivers.indices where receivers[index].isDue {
            let output = receivers[index].output
            if output == served {
                // The first reader's is the one that was counted when the unit was delivered.
                ledger.countOffered(output)
            } else {
                countUnserved(served + 1..<output)
                served = output
            }
            settle(index, wasSent: isMeant(receivers[index]), isKeyframe: isKeyframe)
        }
        countUnserved(served + 1..<sinks.count)
        return outcome
    }

    /// A unit went by these outputs, which have no receiver.
    private mutating func countUnserved(_ outputs: Range<Int>) {
        for output in outputs { ledger.countDropped(output, .notConnected) }
    }

    /// A unit of video must not go out. Nobody can use those up to the next keyframe.
    mutating func withhold() {
        for index in receivers.indices where receivers[index].takesPictures { receivers[index].keyframe.owe() }
        _ = unsafe sendVideo(isKeyframe: false, stamp: .now()) { _ in }
    }

    mutating func settle(_ index: Int, wasSent: Bool, isKeyframe: Bool) {
        let output = receivers[index].output
        receivers[index].books.offered += 1
        guard wasSent else {
            receivers[index].books[.awaitsKeyframe] += 1
            return ledger.countDropped(output, .awaitsKeyframe)
        }
        guard !receivers[index].isWhole else {
            receivers[index].keyframe.pay(at: .now())
            if isKeyframe, receivers[index].pace.isHeldBack {
                receivers[index].pace.keyframeWasSent()
                // What follows the keyframe is not for it.
                if receivers[index].pace.frames == .keyframesOnly { receivers[index].keyframe.owe() }
            }
            receivers[index].books.sent += 1
            return ledger.countSent(output)
        }
        receivers[index].books[.refused] += 1
        ledger.countDropped(output, .refused)
        guard !receivers[index].pace.isHeldBack else { return receivers[index].keyframe.owe() }
        let now = MonotonicTime.now()
        let wait = receivers[index].keyframe.miss(at: now)
        switch receivers[index].layers.present {
        case .sent: sourceDemand.want(at: now, after: wait)
        case .small: extraDemand.want(at: now, after: wait)
        case .enhanced, .sound: demand.want(at: now, after: wait)
        }
    }

    /// Sends a unit of another stream to the receivers of a multiplex.
    /// - Returns: whether somebody has all of it.
    mutating func sendPassing(
        stamp: MonotonicTime, write: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) -> Bool {
        unsafe send(stamp: stamp, media: nil, to: { !$0.takesMedia }, write: write).whole > 0
    }

    /// Sends a unit to the receivers without a multiplex alone.
    /// - Returns: whether somebody has all of it.
    mutating func sendToCalls(_ media: MediaUnit, stamp: MonotonicTime) -> Bool {
        unsafe send(stamp: stamp, media: media, to: { $0.takesMedia }, write: { _ in }).whole > 0
    }

    mutating func send(
        stamp: MonotonicTime, media: MediaUnit?, to isMeant: (Receiver) -> Bool,
        write: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) -> Outcome {
        var outcome = Outcome()
        var (first, multiplexed) = (-1, 0)
        for index in receivers.indices {
            receivers[index].isWhole = isMeant(receivers[index])
            guard receivers[index].isWhole else { continue }
            outcome.receivers += 1
            guard !receivers[index].takesMedia else { continue }
            if first < 0 { first = index }
            multiplexed += 1
        }
        // Calls have no time to lose.
        if let media, outcome.receivers > multiplexed { outcome.whole += sendMedia(media, stamp) }
        outcome.sent = .now()
        outcome.end = outcome.sent
        guard first >= 0 else { return outcome }
        let hasMore = multiplexed > 1
        if hasMore { copies.removeAll() }
        // The first one gets the multiplexer's own messages. Copies for the others cost less than many calls between two of its
        // messages would delay it.
        unsafe write { message in
            unsafe send(message, stamp, to: first)
            if hasMore { unsafe copies.append(message) }
        }
        if outcome.receivers == multiplexed { outcome.sent = .now() }
        outcome.end = .now()
        if receivers[first].isWhole { outcome.whole += 1 }
        guard hasMore else { return outcome }
        for index in receivers.indices where index > first && receivers[index].isWhole && !receivers[index].takesMedia {
            for number in 0..<copies.count where receivers[index].isWhole {
                unsafe send(copies[number], stamp, to: index)
            }
            if receivers[index].isWhole { outcome.whole += 1 }
        }
        outcome.end = .now()
        return outcome
    }

    /// Sends a unit's payloads to all receivers without a multiplex, each to all of them before the next.
    /// - Returns: how many of them have all.
    private mutating func sendMedia(_ unit: MediaUnit, _ stamp: MonotonicTime) -> Int {
        unsafe payloads.forEach(of: unit) { head, body, time, isMarked in
            for index in receivers.indices where receivers[index].takesMedia && receivers[index].isWhole {
                let viewer = sinks[receivers[index].output].viewers?.viewer(of: receivers[index].connection)
                let sent = unsafe viewer?.send(
                    head, body, unit.kind, presentation: time, sourceTime: stamp, isMarked: isMarked,
                    captureTime: unit.captureTime)
                guard sent != .sent else { continue }
                receivers[index].isWhole = false
                refusals += 1
            }
        }
        return receivers.count { $0.takesMedia && $0.isWhole }
    }

    /// What follows a refused message of a unit is of no use to the receiver.
    private mutating func send(_ message: UnsafeRawBufferPointer, _ stamp: MonotonicTime, to index: Int) {
        guard receivers[index].isWhole else { return }
        let sink = sinks[receivers[index].output]
        guard unsafe sink.send(message, sourceTime: stamp, to: receivers[index].connection) != .sent else { return }
        receivers[index].isWhole = false
        refusals += 1
    }
}

extension StreamURL {
    /// The same for the same URL in every process, without its secrets (FNV-1a). Tells outputs apart in the telemetry map.
    fileprivate var identity: UInt64 {
        description.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
