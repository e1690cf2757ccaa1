import Media

/// The layers of a picture that its sender sends in several sizes at a time (simulcast, RFC 8853): which source each packet is of,
/// and which layer is relayed.
///
/// The largest that comes is relayed. The layer changes where pictures of the new one can be decoded, at a keyframe with its size.
/// Its sender is asked for one. Browsers stop the upper layers when the network carries less:
/// - A layer counts as gone when ``picturesOfAbsence`` pictures of another one have come since its last packet, and as much time as
///   ``intervalsOfAbsence`` pictures of it take (``absence``). A shared screen that stands still sends a picture of all layers every few
///   seconds, so silence alone says nothing.
/// - One that comes again has to come for ``firstTrial`` before it is relayed, and twice as long each time that it was gone.
/// - The layer changes ``mostChanges`` times in a row, and then once in ``changeInterval``: each change costs its sender a keyframe.
///
/// A layer whose sender begins anew with another source goes on with the first keyframe of that.
///
/// A pure value. Allocates nothing behind the first packet of each layer.
struct SimulcastLayers: Sendable {
    struct Layer: Sendable {
        /// As packets bear it; empty where none do.
        var name: [UInt8] = []
        var source: UInt32?
        var retransmissionSource: UInt32?
        /// Takes the place of the source with its first keyframe.
        var nextSource: UInt32?
        /// Of its newest keyframe.
        var size: PictureSize?
        /// Of its packets while it is not relayed.
        var clock: TrackClock
        var lastHeard: MonotonicTime?
        /// The stamp of its newest picture, and how many have come since the last packet of the layer that is relayed.
        var timestamp: UInt32 = 0
        /// The time from one picture to the next.
        var interval = Nanoseconds.milliseconds(33)
        var pictureHeard: MonotonicTime?
        var picturesAhead = 0
        /// Since when it has come again after it was gone, and for how long it has to.
        var returned: MonotonicTime?
        var trial = Nanoseconds.zero
        var isGone = false
        var saidGoodbye = false

        var samples: Int { size.map { $0.width * $0.height } ?? 0 }

        /// It begins anew with another source.
        mutating func begin(_ source: UInt32, rate: Int) {
            self.source = source
            (nextSource, retransmissionSource) = (nil, nil)
            clock = TrackClock(rate: rate)
        }
    }

    /// What a packet is.
    enum Verdict: Equatable {
        /// Of the layer that is relayed.
        case relayed
        /// Of the layer that is relayed from this packet on.
        case begins
        /// Of another layer.
        case leftOut
        /// Of no layer that is known.
        case unknown
    }

    static let absence = Nanoseconds.milliseconds(250)...Nanoseconds.milliseconds(500)
    static let intervalsOfAbsence: Int64 = 4
    static let picturesOfAbsence = 3
    static let mostChanges: Int64 = 4
    static let changeInterval = Nanoseconds.seconds(2)
    static let firstTrial = Nanoseconds.seconds(2)
    static let longestTrial = Nanoseconds.seconds(32)
    /// How often the sender is asked for a keyframe of the layer that is wanted.
    static let requestInterval = Nanoseconds.milliseconds(500)
    /// The same while nothing comes of the layer that is relayed.
    static let urgentInterval = Nanoseconds.milliseconds(200)
    /// How long the first packets wait for a larger layer to begin. Senders send the layers of a picture behind each other.
    static let firstWait = Nanoseconds.milliseconds(100)
    /// More sources are no layers. Browsers send three, OBS four.
    static let most = 8

    private(set) var layers: [Layer]
    /// The one that is relayed; nil before the first packet.
    private(set) var relayed: Int?
    private let rate: Int
    private var asked: MonotonicTime?
    /// When all changes may follow each other again.
    private var changesPaid: MonotonicTime?
    /// When the first packets wait no longer; nil when they do not.
    private(set) var waitEnd: MonotonicTime?

    init(_ layers: [RTPLayer], rate: Int) {
        self.rate = rate
        self.layers = layers.map { layer in
            var made = Layer(clock: TrackClock(rate: rate))
            made.name = Array((layer.name ?? "").utf8)
            (made.source, made.retransmissionSource) = (layer.source, layer.retransmissionSource)
            return made
        }
    }

    /// The sender is gone. Its layers keep their names.
    mutating func end(_ named: [RTPLayer]) { self = SimulcastLayers(named, rate: rate) }

    /// Layers that come now.
    func count(at now: MonotonicTime) -> Int { layers.count { $0.lastHeard.map { now - $0 < .seconds(5) } ?? false } }

    // MARK: What comes

    /// Files a packet, which need not be the picture's only one.
    /// - Parameters:
    ///   - size: of the pictures that a decoder can begin with from this packet on.
    ///   - relayedClock: of the layer that is relayed.
    mutating func judge(
        _ packet: RTPPacket, _ bytes: Span<UInt8>, isRepeat: Bool, size: PictureSize?, at now: MonotonicTime,
        relayedClock: TrackClock
    ) -> Verdict {
        guard let index = place(of: packet, bytes, isRepeat: isRepeat) else { return .unknown }
        // What is sent again says nothing of what comes.
        if isRepeat { return index == relayed ? .relayed : .leftOut }
        let isAnother = layers[index].source != packet.source
        if isAnother {
            guard size != nil || relayed != index else {
                layers[index].nextSource = packet.source
                return .leftOut
            }
            layers[index].begin(packet.source, rate: rate)
        }
        hear(index, packet, size, at: now)
        guard let relayed else {
            self.relayed = index
            if !isSettled { waitEnd = now + Self.firstWait }
            return .begins
        }
        if waitEnd != nil, isSettled { waitEnd = nil }
        if index == relayed {
            for other in layers.indices { layers[other].picturesAhead = 0 }
            return isAnother ? .begins : .relayed
        }
        guard size != nil, wanted(at: now) == index, mayChange(at: now) else {
            _ = layers[index].clock.map(packet.timestamp, arrival: now, isNext: true)
            return .leftOut
        }
        changesPaid = max(changesPaid ?? now, now) + Self.changeInterval
        if isGone(relayed, at: now) { leave(relayed) }
        layers[relayed].clock = relayedClock
        self.relayed = index
        layers[index].returned = nil
        for other in layers.indices { layers[other].picturesAhead = 0 }
        return .begins
    }

    private mutating func hear(_ index: Int, _ packet: RTPPacket, _ size: PictureSize?, at now: MonotonicTime) {
        if layers[index].lastHeard == nil || layers[index].timestamp != packet.timestamp {
            layers[index].picturesAhead += 1
            if let heard = layers[index].pictureHeard {
                layers[index].interval += (min(now - heard, Self.absence.upperBound) - layers[index].interval) / 8
            }
            layers[index].pictureHeard = now
        }
        layers[index].timestamp = packet.timestamp
        if layers[index].isGone {
            layers[index].isGone = false
            layers[index].returned = now
        }
        layers[index].lastHeard = now
        layers[index].saidGoodbye = false
        if let size { layers[index].size = size }
    }

    private mutating func leave(_ index: Int) {
        layers[index].isGone = true
        layers[index].trial = min(max(layers[index].trial * 2, Self.firstTrial), Self.longestTrial)
    }

    /// The layer that a packet is of. Learns its source by its name, or where sources have none by its coming.
    private mutating func place(of packet: RTPPacket, _ bytes: Span<UInt8>, isRepeat: Bool) -> Int? {
        if isRepeat {
            if let known = layers.firstIndex(where: { $0.retransmissionSource == packet.source }) { return known }
            let name = packet.extensions.repeatedLayer
            guard let named = layers.firstIndex(where: { name.isEqual(to: $0.name, in: bytes) }) else { return nil }
            layers[named].retransmissionSource = packet.source
            return named
        }
        if let known = layers.firstIndex(where: { $0.source == packet.source }) { return known }
        if let begun = layers.firstIndex(where: { $0.nextSource == packet.source }) { return begun }
        let name = packet.extensions.layer
        if let named = layers.firstIndex(where: { name.isEqual(to: $0.name, in: bytes) }) {
            if layers[named].source == nil { layers[named].source = packet.source }
            return named
        }
        // Without a name, each source is a layer.
        guard name.count == 0, layers.count < Self.most else { return nil }
        var layer = Layer(clock: TrackClock(rate: rate))
        layer.source = packet.source
        layers.append(layer)
        return layers.count - 1
    }

    // MARK: Which is relayed

    /// Whether the first packets need not wait: no layer can come that is larger than the one that is relayed.
    private var isSettled: Bool {
        guard let relayed else { return false }
        return layers.allSatisfy { $0.size != nil && $0.samples <= layers[relayed].samples }
    }

    /// Whether the first packets still wait for a larger layer.
    mutating func isWaiting(at now: MonotonicTime) -> Bool {
        guard let end = waitEnd else { return false }
        if end > now { return true }
        waitEnd = nil
        return false
    }

    private func isGone(_ index: Int, at now: MonotonicTime) -> Bool {
        guard let last = layers[index].lastHeard, !layers[index].saidGoodbye else { return true }
        let limit = min(max(layers[index].interval * Self.intervalsOfAbsence, Self.absence.lowerBound), Self.absence.upperBound)
        return now - last >= limit && layers.contains { $0.picturesAhead >= Self.picturesOfAbsence }
    }

    /// The layer that is to be relayed: the largest that comes. Those whose size is not known yet may be.
    private func wanted(at now: MonotonicTime) -> Int? {
        guard let relayed else { return nil }
        let isLost = isGone(relayed, at: now)
        var best: Int? = isLost ? nil : relayed
        for index in layers.indices where index != relayed {
            guard let last = layers[index].lastHeard, now - last < Self.absence.upperBound, !layers[index].saidGoodbye else {
                continue
            }
            if let returned = layers[index].returned, !isLost, now - returned < layers[index].trial { continue }
            if best.map({ layers[index].samples > layers[$0].samples }) ?? true { best = index }
        }
        return best
    }

    /// Whether the layer may change now.
    private func mayChange(at now: MonotonicTime) -> Bool {
        changesPaid.map { $0 - now <= Self.changeInterval * (Self.mostChanges - 1) } ?? true
    }

    /// The source that is to be asked for a keyframe, so that its layer can be relayed, or its size be known.
    mutating func claimRequest(at now: MonotonicTime) -> UInt32? {
        guard let relayed else { return nil }
        let interval = isGone(relayed, at: now) ? Self.urgentInterval : Self.requestInterval
        guard asked.map({ now - $0 >= interval }) ?? true else { return nil }
        if let next = layers[relayed].nextSource {
            asked = now
            return next
        }
        guard mayChange(at: now) else { return nil }
        var index = wanted(at: now)
        if index == relayed {
            index = layers.indices.first { other in
                other != relayed && layers[other].size == nil
                    && layers[other].lastHeard.map { now - $0 < Self.absence.upperBound } ?? false
            }
        }
        guard let index, index != relayed, let source = layers[index].source else { return nil }
        asked = now
        return source
    }

    // MARK: Reports

    /// Whether a source is one of a layer that is not relayed.
    func holds(_ source: UInt32) -> Bool { layers.indices.contains { $0 != relayed && layers[$0].source == source } }

    /// - Returns: whether the report was believed.
    mutating func apply(_ report: SenderReport, arrival: MonotonicTime) -> Bool {
        guard let index = layers.firstIndex(where: { $0.source == report.source }) else { return false }
        return layers[index].clock.apply(report, arrival: arrival)
    }

    /// - Returns: whether a layer has said so, and all have that have begun.
    mutating func goodbye(_ sources: [UInt32]) -> Bool {
        var isOurs = false
        for index in layers.indices {
            guard let source = layers[index].source, sources.contains(source) else { continue }
            layers[index].saidGoodbye = true
            isOurs = true
        }
        return isOurs && layers.allSatisfy { $0.lastHeard == nil || $0.saidGoodbye }
    }

    /// What is known of the layer that is relayed.
    var present: Layer? { relayed.map { layers[$0] } }
}
