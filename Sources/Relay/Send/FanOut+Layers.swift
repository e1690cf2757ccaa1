import Media
import Packets
import Telemetry

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
        hasPictureReceivers && receivers.allSatisfy { !$0.takesPictures || $0.takesMedia && $0.layers.wanted != .enhanced }
            && receivers.contains { $0.takesPictures && $0.layers.wanted == .sent }
    }

    /// Whether anybody gets the encoder's pictures, or is to get them.
    var needsEncoder: Bool {
        receivers.contains {
            $0.takesPictures && (!$0.takesMedia || $0.layers.present == .enhanced || $0.layers.wanted == .enhanced)
        }
    }

    /// Behind which picture the encoder is to give a keyframe for viewers who come from the publisher's pictures; nil for nobody. Counts as
    /// asked.
    mutating func claimKeyframeBehind(at now: MonotonicTime) -> MediaTime? {
        let isEncoding = lastEncoded.map { now - $0 < Self.encodingTimeout } ?? false
        var newest: MediaTime?
        for index in receivers.indices where receivers[index].takesMedia && receivers[index].takesPictures {
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

    /// Learns what a viewer's link carries, and which layer they get by it.
    /// - Returns: whether their layer follows their link.
    mutating func followLayer(
        _ index: Int, _ viewer: RTPViewer, _ needs: LayerChoice.Needs, at now: MonotonicTime,
        report: (LegEvent, _ number: Int?) -> Void
    ) -> Bool {
        let capacity = viewer.feedback.capacity.map { Double($0) }
        let former = receivers[index].layers.wanted
        let request = viewer.request
        var layer = request ?? .enhanced
        let isChosen = request == nil && needs.sent != nil && capacity != nil
        if request == nil {
            let isAlone = !receivers.indices.contains { other in
                other != index && receivers[other].takesPictures
                    && (!receivers[other].takesMedia || receivers[other].layers.wanted == .enhanced)
            }
            receivers[index].choice.observe(capacity, needs, isAlone: isAlone, at: now)
            layer = receivers[index].choice.layer
        } else if layer == .sent, needs.sent == nil {
            layer = .enhanced
        }
        if receivers[index].layers.want(layer) { receivers[index].keyframe.owe() }
        if receivers[index].layers.giveUp(at: now) { receivers[index].keyframe.owe() }
        if receivers[index].layers.awaitsSent || receivers[index].layers.present == .sent && receivers[index].keyframe.isOwed {
            sourceDemand.want(at: now)
        }
        if layer != former {
            report(
                .viewerLayer(peer: viewer.peer, layer, bitRate: viewer.feedback.capacity),
                sinks.count > 1 ? receivers[index].output + 1 : nil)
        }
        viewer.isServedByEncoder = layer == .enhanced
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
        func isMeant(_ receiver: Receiver) -> Bool { receiver.isDue && (isKeyframe || !receiver.keyframe.isOwed) }
        let outcome = unsafe send(stamp: stamp, media: media, to: isMeant, write: { _ in })
        if isKeyframe, outcome.receivers > 0 { sourceDemand.keyframeWasSent() }
        for index in receivers.indices where receivers[index].isDue {
            ledger.countOffered(receivers[index].output)
            settle(index, wasSent: isMeant(receivers[index]), isKeyframe: isKeyframe)
        }
        return outcome.receivers
    }
}
