import Media
import Packets
import Telemetry

/// What the one more encode of a call can give.
struct ExtraOffer: Hashable, Sendable {
    /// The fewest bits a second of the smaller encode in H.264; nil where there can be none.
    var small: Int?
    /// Whether there can be one in VP8.
    var hasVP8 = false
    /// Whether there can be one in constrained baseline.
    var hasBaseline = false

    func has(_ codec: ExtraEncoding.Codec) -> Bool {
        switch codec {
        case .h264: small != nil
        case .vp8: hasVP8
        case .baseline: hasBaseline
        }
    }
}

extension ExtraEncoding.Codec {
    /// What a viewer's program shows alone; nil for one that shows any H.264.
    init?(onlyOf viewer: RTPViewer) {
        guard viewer.takesVP8 || viewer.takesBaseline else { return nil }
        self = viewer.takesVP8 ? .vp8 : .baseline
    }
}

/// Viewers of calls who get another layer than the encoder's pictures (``LayerChoice``, ``LayerSwitch``).
extension FanOut {
    /// The encoder works while its newest picture is no older.
    private static let encodingTimeout = Nanoseconds.milliseconds(500)

    /// Whether anybody gets the publisher's pictures, or waits for them.
    var wantsSent: Bool {
        receivers.contains { $0.takesMedia && ($0.layers.present == .sent || $0.layers.awaitsSent) }
    }

    /// Whether all who get pictures are to get the publisher's, so that nothing has to be encoded.
    var allWantSent: Bool {
        hasPictureReceivers && receivers.allSatisfy { !$0.takesPictures || $0.takesMedia && !$0.layers.wantsEncode }
            && receivers.contains { $0.takesPictures && $0.layers.wanted == .sent }
    }

    /// Whether anybody gets the encoder's pictures, or is to get them.
    var needsEncoder: Bool {
        receivers.contains {
            $0.takesPictures && (!$0.takesMedia || $0.layers.present == .enhanced || $0.layers.wanted == .enhanced)
        }
    }

    /// The one more encode that viewers need; nil for nobody. Those come first who can get nothing else.
    var wantedExtra: ExtraEncoding.Codec? {
        servedAlone ?? (receivers.contains { $0.needsExtra && $0.takesOnly == nil } ? .h264 : nil)
    }

    /// What somebody gets, or is to get, who can get nothing else; nil for nobody. VP8 comes first.
    var servedAlone: ExtraEncoding.Codec? {
        var served: ExtraEncoding.Codec?
        for receiver in receivers where receiver.needsExtra && served != .vp8 { served = receiver.takesOnly ?? served }
        return served
    }

    /// Behind which picture an encoder is to give a keyframe for viewers who come from other pictures; nil for nobody. Counts as asked.
    /// - Parameter layer: the encode: ``ViewerLayer/enhanced`` or ``ViewerLayer/small``.
    mutating func claimKeyframeBehind(_ layer: ViewerLayer, at now: MonotonicTime) -> MediaTime? {
        let last = layer == .small ? lastExtra : lastEncoded
        let isEncoding = last.map { now - $0 < Self.encodingTimeout } ?? false
        var newest: MediaTime?
        for index in receivers.indices
        where receivers[index].takesMedia && receivers[index].takesPictures && receivers[index].layers.wanted == layer {
            guard let time = receivers[index].layers.keyframeBehind(isEncoding: isEncoding, at: now) else { continue }
            newest = max(newest ?? time, time)
        }
        return newest
    }

    /// Whether the publisher is to be asked for a keyframe. Counts as asked when it says so.
    mutating func claimSourceKeyframe(at now: MonotonicTime = .now()) -> Bool {
        sourceDemand.claim(
            at: now, othersAreServed: receivers.contains { $0.layers.present == .sent && !$0.keyframe.isOwed })
    }

    /// Whether the one more encode is to give a keyframe. Counts as asked when it says so.
    mutating func claimExtraKeyframe(at now: MonotonicTime = .now()) -> Bool {
        extraDemand.claim(
            at: now, othersAreServed: receivers.contains { $0.layers.present == .small && !$0.keyframe.isOwed })
    }

    /// Learns what a viewer's link carries, and which layer they get by it.
    /// - Returns: whether they follow: their layer does so by their link, or the encode does that works for them.
    mutating func followLayer(
        _ index: Int, _ viewer: RTPViewer, _ needs: LayerChoice.Needs, at now: MonotonicTime,
        report: (LegEvent, _ number: Int?) -> Void
    ) -> Bool {
        let feedback = viewer.feedback
        let capacity = feedback.capacity.map { Double($0) }
        let former = receivers[index].layers.wanted
        let request = viewer.request
        var layer = request ?? .enhanced
        var isChosen = request == nil && (needs.sent ?? needs.small) != nil && capacity != nil
        if let only = receivers[index].takesOnly {
            let isFree = only == .vp8 || servedAlone != .vp8
            layer = extraOffer.has(only) && isFree && request != .sound ? .small : .sound
        } else if request == nil {
            let isAlone = !receivers.indices.contains { other in
                other != index && receivers[other].takesPictures
                    && (!receivers[other].takesMedia || receivers[other].layers.wanted == .enhanced)
            }
            receivers[index].choice.observe(capacity, needs, isAlone: isAlone, isProbed: feedback.canBeProbed, at: now)
            layer = receivers[index].choice.layer
            if layer == .sound { viewer.probeAlone(at: now) }
        } else if layer == .sent, needs.sent == nil {
            layer = .enhanced
        } else if layer == .small, needs.small == nil {
            layer = needs.sent == nil ? .enhanced : .sent
        }
        if layer == .small || receivers[index].takesOnly != nil { isChosen = true }
        // The way to an encode was given up, and pictures were left out meanwhile.
        var hasReturned = receivers[index].layers.want(layer)
        if receivers[index].layers.giveUp(at: now) { hasReturned = true }
        if hasReturned { receivers[index].keyframe.owe() }
        if receivers[index].layers.awaitsSent || receivers[index].layers.present == .sent && receivers[index].keyframe.isOwed {
            sourceDemand.want(at: now)
        } else if receivers[index].layers.present == .small, receivers[index].keyframe.isOwed {
            extraDemand.want(at: now)
        } else if hasReturned, receivers[index].layers.present == .enhanced {
            wantKeyframe(at: now)
        }
        if layer != former {
            report(
                .viewerLayer(peer: viewer.peer, layer, bitRate: feedback.capacity),
                sinks.count > 1 ? receivers[index].output + 1 : nil)
        }
        viewer.isServedByEncoder = layer == .enhanced
        viewer.isServedByExtra = layer == .small
        viewer.layer = receivers[index].layers.present
        if isChosen, receivers[index].pace.isHeldBack {
            receivers[index].pace = CallPace()
            viewer.isHeldBack = false
        }
        return isChosen
    }

    /// One of the publisher's own pictures must not go out. Nobody can use those up to the next keyframe.
    mutating func sentIsLeftOut() {
        for index in receivers.indices where receivers[index].takesMedia && receivers[index].layers.present == .sent {
            receivers[index].keyframe.owe()
        }
    }

    /// Sends one of the publisher's own pictures to the viewers who get those beside the encoder's.
    /// - Returns: how many it was sent to, in part or whole.
    mutating func sendSent(isKeyframe: Bool, stamp: MonotonicTime, _ media: MediaUnit) -> Int {
        var hasDue = false
        for index in receivers.indices {
            receivers[index].isDue =
                receivers[index].takesMedia && receivers[index].takesPictures
                && receivers[index].layers.takesSent(isKeyframe: isKeyframe, at: media.presentation)
            if receivers[index].isDue { hasDue = true }
        }
        guard hasDue else { return 0 }
        let count = sendToDue(isKeyframe: isKeyframe, stamp: stamp, media)
        // Before whoever was refused wants the next one.
        if isKeyframe, count > 0 { sourceDemand.keyframeWasSent() }
        settleDue(isKeyframe: isKeyframe)
        return count
    }

    /// A picture of the one more encode must not go out. Nobody can use those up to the next keyframe.
    mutating func extraIsLeftOut(at now: MonotonicTime) {
        for index in receivers.indices where receivers[index].layers.present == .small { receivers[index].keyframe.owe() }
        extraDemand.want(at: now)
    }

    /// Sends a picture of the one more encode to the viewers who get it.
    /// - Returns: how many it was sent to, in part or whole.
    mutating func sendExtra(
        _ codec: ExtraEncoding.Codec, isKeyframe: Bool, stamp: MonotonicTime, _ media: MediaUnit, at now: MonotonicTime
    ) -> Int {
        lastExtra = now
        var hasDue = false
        for index in receivers.indices {
            receivers[index].isDue =
                receivers[index].takesMedia && receivers[index].takesPictures && (receivers[index].takesOnly ?? .h264) == codec
                && receivers[index].layers.takesSmall(isKeyframe: isKeyframe, at: media.presentation)
            if receivers[index].isDue { hasDue = true }
        }
        guard hasDue else { return 0 }
        let count = sendToDue(isKeyframe: isKeyframe, stamp: stamp, media)
        // Before whoever was refused wants the next one.
        if isKeyframe, count > 0 { extraDemand.keyframeWasSent() }
        settleDue(isKeyframe: isKeyframe)
        return count
    }

    /// Sends a picture to the receivers that are due, but for those that a keyframe must come to first.
    /// - Returns: how many it was sent to, in part or whole.
    private mutating func sendToDue(isKeyframe: Bool, stamp: MonotonicTime, _ media: MediaUnit) -> Int {
        unsafe send(stamp: stamp, media: media, to: { $0.isMeant(isKeyframe: isKeyframe) }, write: { _ in }).receivers
    }

    /// Counts what became of that picture.
    private mutating func settleDue(isKeyframe: Bool) {
        for index in receivers.indices where receivers[index].isDue {
            ledger.countOffered(receivers[index].output)
            settle(index, wasSent: receivers[index].isMeant(isKeyframe: isKeyframe), isKeyframe: isKeyframe)
        }
    }
}

extension Receiver {
    /// Whether a picture is sent to it: it is due, and can be decoded.
    fileprivate func isMeant(isKeyframe: Bool) -> Bool { isDue && (isKeyframe || !keyframe.isOwed) }

    /// Whether it gets the one more encode, or is to get it.
    fileprivate var needsExtra: Bool {
        takesMedia && takesPictures && (layers.wanted == .small || layers.present == .small && layers.wanted != .sound)
    }
}
