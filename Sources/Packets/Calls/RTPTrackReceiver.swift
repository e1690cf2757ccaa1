import Media

/// One track of a session that receives: its source, order, losses and clock. Owned by its session.
final class RTPTrackReceiver {
    let track: RTPTrack
    let index: Int
    /// The section's name as packets bear it; empty where it has none.
    private let mid: [UInt8]
    private(set) var source: UInt32?
    /// The present source really sends, so that it gets feedback. Its packets are delivered before that.
    private(set) var isProven = false
    private var proof = SourceProof()
    var succession = SourceSuccession()
    private var order = RTPOrder()
    private var ring = PacketRing(capacity: 512)
    private(set) var requests = RetransmissionRequests()
    private(set) var figures = ReceptionFigures()
    var clock: TrackClock
    private(set) var lastHeard = MonotonicTime(nanoseconds: 0)
    private(set) var saidGoodbye = false
    private(set) var hasReports = false
    private(set) var began = MonotonicTime(nanoseconds: 0)
    /// Since the last ``drainLoss()``.
    private(set) var hasUnrepairedLoss = false
    private(set) var lost: Int64 = 0
    private(set) var abandoned: Int64 = 0
    private(set) var repaired: Int64 = 0
    private(set) var carried: Int64 = 0
    /// Of a picture that is sent in several sizes; nil where there is one.
    var layers: SimulcastLayers?
    /// The latest picture that was delivered, and whether its last packet was.
    private var delivered: (time: MediaTime, isWhole: Bool)?
    /// The newest packet of the present source.
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var newestFormat = 0
    /// The packet that was kept last, in the count without wrapping.
    private var newestNumber: Int64?
    private var beginsLayer = false
    private var reportedSize: PictureSize?

    init(_ track: RTPTrack, index: Int) {
        self.track = track
        self.index = index
        mid = Array((track.mid ?? "").utf8)
        clock = TrackClock(rate: track.formats[0].clockRate)
        if track.layers.count > 1 { layers = SimulcastLayers(track.layers, rate: track.formats[0].clockRate) }
    }

    /// Whether a packet bears this track's name.
    func isNamed(by extensions: RTPExtensions, in packet: Span<UInt8>) -> Bool {
        extensions.mid.isEqual(to: mid, in: packet)
    }

    /// Whether a packet's source is served: it is the present one, or takes its place. Decides also whether it is proven, which holds
    /// when ``begin(_:at:)`` is called for it.
    /// - Parameter isAuthentic: whoever carries the packets knows whose they are.
    func admits(_ packet: RTPPacket, isAuthentic: Bool, at now: MonotonicTime) -> Bool {
        let isPresent = source == packet.source
        if isPresent, isProven { return true }
        let isNamed = track.source == packet.source
        let isFree = source == nil || saidGoodbye || now - lastHeard >= RTPFeed.silenceTimeout
        guard isPresent || isNamed || isFree || !isProven else { return false }
        let follows = proof.observe(packet.source, packet.sequence)
        // One that has not proven itself gives way to one that does.
        guard isPresent || isNamed || isFree || follows else { return false }
        isProven = isNamed || isAuthentic || follows
        if isProven { proof.removeAll() }
        return true
    }

    func begin(_ source: UInt32, at now: MonotonicTime) {
        self.source = source
        order = RTPOrder()
        ring.reset()
        requests.removeAll()
        figures = ReceptionFigures()
        clock = TrackClock(rate: track.formats[0].clockRate)
        (saidGoodbye, hasReports, hasUnrepairedLoss) = (false, false, false)
        (began, lastHeard, newestArrival) = (now, now, now)
        if layers != nil { isProven = true }
        delivered = nil
    }

    /// Another layer of the picture is received from its next packet on. Where nothing of the former one was delivered, nobody need
    /// know of it.
    func change(to layer: SimulcastLayers.Layer, _ packet: RTPPacket, at now: MonotonicTime) {
        let isAfterPart = delivered.map { !$0.isWhole || ring.count > 0 } ?? false
        let former = (clock: clock, heard: newestArrival, hasReports: hasReports, began: began, delivered: delivered)
        begin(packet.source, at: now)
        (hasReports, began, delivered) = (former.hasReports, former.began, former.delivered)
        clock = layer.clock.following(
            former.clock, heard: former.heard, timestamp: packet.timestamp, at: now, delivered: former.delivered?.time)
        // The rest of the picture before does not come any more.
        lostBeforeNext = isAfterPart ? 1 : 0
        beginsLayer = true
    }

    var hasDelivered: Bool { delivered != nil }

    /// Which size of a picture is received, where that was not said yet.
    func claimLayerReport(at now: MonotonicTime) -> RTPReceiveSession.Event? {
        guard let layers, layers.waitEnd == nil, source != nil, let size = layers.present?.size, size != reportedSize else {
            return nil
        }
        reportedSize = size
        return .receivesLayer(size, of: layers.count(at: now))
    }

    /// Whether its source, or the last of its layers, has said goodbye.
    func hears(goodbyeOf sources: [UInt32]) -> Bool {
        if layers != nil { return layers!.goodbye(sources) && source != nil }
        return source.map { sources.contains($0) } ?? false
    }

    /// A packet of a layer that is not received has come.
    func hear(at now: MonotonicTime) { lastHeard = now }

    func end() {
        layers?.end(track.layers)
        newestNumber = nil
        source = nil
        isProven = false
        proof.removeAll()
        succession = SourceSuccession()
        saidGoodbye = false
        ring.reset()
        requests.removeAll()
    }

    func goodbye() { saidGoodbye = true }

    /// What became of a packet.
    enum Verdict { case kept, duplicate, unexpected, startsAnew }

    /// Files a packet of the present source.
    /// - Parameters:
    ///   - isRepeat: it came in the format for retransmissions.
    ///   - hold: how long what comes behind a gap is held.
    func insert(
        _ payload: Span<UInt8>, _ packet: RTPPacket, format: Int, isRepeat: Bool, arrival: MonotonicTime, hold: Hold
    ) -> Verdict {
        var place = RTPOrder.Place(number: 0, step: 1)
        if ring.expected == nil {
            if isRepeat { return .unexpected }
            place.number = order.begin(at: packet.sequence, timestamp: packet.timestamp)
        } else {
            switch order.judge(packet.sequence, timestamp: packet.timestamp, isRepeat: isRepeat) {
            case .at(let found): place = found
            case .unexpected: return .unexpected
            case .startsAnew: return .startsAnew
            }
        }
        (lastHeard, newestArrival, newestFormat) = (arrival, arrival, format)
        record(place, at: arrival)
        guard payload.count <= PacketRing.room, ring.awaits(place.number) else { return .duplicate }
        let mapped = clock.map(packet.timestamp, arrival: arrival, isNext: place.step > 0 && !isRepeat)
        // Repeats in a format of their own are another stream (RFC 4588): what they repair was lost all the same.
        if !isRepeat {
            figures.record(
                number: place.number, ticks: mapped.own, rate: track.formats[format].clockRate, arrival: arrival)
        }
        var facts = RTPArrival()
        facts.track = index
        facts.format = format
        facts.timestamp = packet.timestamp
        facts.presentation = MediaTime(ticks: mapped.ticks)
        facts.isMarked = packet.isMarked
        facts.arrival = arrival
        facts.sourceTime = mapped.sourceTime
        facts.restartsClock = mapped.restarted || beginsLayer
        beginsLayer = false
        facts.extensions = packet.extensions
        newestNumber = place.number
        return keep(payload, facts, place, until: hold.end(arrival: arrival, sourceTime: mapped.sourceTime))
    }

    /// Files a packet of the present source in a format that nobody reads, without its payload. What it says of the time is not
    /// believed, because formats of redundancy have clocks of their own.
    func skip(_ packet: RTPPacket, arrival: MonotonicTime, hold: Hold) {
        guard ring.expected != nil, case .at(let place) = order.judge(packet.sequence, timestamp: packet.timestamp) else {
            return
        }
        record(place, at: arrival)
        guard ring.awaits(place.number) else { return }
        figures.record(number: place.number)
        var facts = RTPArrival()
        facts.track = index
        facts.format = newestFormat
        facts.arrival = arrival
        _ = keep([UInt8]().span, facts, place, until: hold.end(arrival: arrival, sourceTime: nil))
    }

    /// Files the earlier packets that the one that was kept last carries along, as far as they are missing. Those that come all the same
    /// are doubles then.
    func recover(
        _ blocks: RedundantBlocks, in bytes: Span<UInt8>, of packet: RTPPacket, format: Int, arrival: MonotonicTime, hold: Hold
    ) {
        guard let newestNumber else { return }
        var blocks = blocks
        var number = newestNumber - Int64(blocks.count)
        while let block = blocks.next(in: bytes) {
            defer { number += 1 }
            let timestamp = packet.timestamp &- block.age
            guard block.payloadType == track.formats[format].payloadType, !block.bytes.isEmpty, block.age > 0,
                block.bytes.count <= PacketRing.room, ring.expected != nil, ring.awaits(number), !ring.isFar(number),
                order.admits(number, timestamp: timestamp)
            else { continue }
            let mapped = clock.map(timestamp, arrival: arrival, isNext: false)
            var facts = RTPArrival()
            facts.track = index
            facts.format = format
            facts.timestamp = timestamp
            facts.presentation = MediaTime(ticks: mapped.ticks)
            facts.arrival = arrival
            facts.sourceTime = mapped.sourceTime
            facts.restartsClock = mapped.restarted
            requests.withdraw(number)
            carried += 1
            ring.insert(
                bytes.extracting(block.bytes), facts, number: number,
                gapDeadline: hold.end(arrival: arrival, sourceTime: mapped.sourceTime))
        }
    }

    /// Counts what is missing before a packet, or that it was missing.
    private func record(_ place: RTPOrder.Place, at arrival: MonotonicTime) {
        if place.step > 1 {
            lost += place.step - 1
            if track.feedback.contains(.retransmission) {
                if !requests.add(place.number - place.step + 1..<place.number) { hasUnrepairedLoss = true }
            }
        } else if place.step < 1, requests.came(place.number, at: arrival) {
            repaired += 1
        }
    }

    private func keep(
        _ payload: Span<UInt8>, _ facts: RTPArrival, _ place: RTPOrder.Place, until gapDeadline: MonotonicTime
    ) -> Verdict {
        if ring.isFar(place.number) { abandon(ring.skipGap(before: place.number)) }
        guard !ring.isFar(place.number) else { return .duplicate }
        ring.insert(payload, facts, number: place.number, gapDeadline: gapDeadline)
        return .kept
    }

    private var lostBeforeNext: Int64 = 0

    private func abandon(_ count: Int64) {
        guard count > 0 else { return }
        lostBeforeNext += count
        abandoned += count
        hasUnrepairedLoss = true
        if let expected = ring.expected { requests.forget(before: expected) }
    }

    /// Removes the next packet, if it is due.
    /// - Parameter now: everything that had come by then was filed.
    func next(at now: MonotonicTime, into buffer: UnsafeMutableRawBufferPointer) -> (arrival: RTPArrival, byteCount: Int)? {
        if layers?.isWaiting(at: now) == true { return nil }
        if let deadline = ring.gapDeadline, deadline <= now { abandon(ring.skipGap()) }
        guard let due = unsafe ring.popDue(into: buffer) else { return nil }
        var facts = due.0
        facts.presentation = facts.presentation + clock.offset
        facts.lost = Int(lostBeforeNext)
        lostBeforeNext = 0
        // Padding, and what nobody reads, is no part of a picture.
        if due.byteCount > 0 {
            delivered = (max(delivered?.time ?? facts.presentation, facts.presentation), facts.isMarked)
        }
        return (facts, due.byteCount)
    }

    /// When a gap is to be abandoned; nil where nothing waits.
    var gapDeadline: MonotonicTime? { layers?.waitEnd ?? ring.gapDeadline }

    /// Whether packets were lost for good since the last call.
    func drainLoss() -> Bool {
        defer { hasUnrepairedLoss = false }
        return hasUnrepairedLoss
    }

    /// - Returns: whether the report was believed.
    func apply(_ report: SenderReport, arrival: MonotonicTime) -> Bool {
        hasReports = true
        figures.apply(report, arrival: arrival)
        return clock.apply(report, arrival: arrival)
    }

    func reportBlock(at now: MonotonicTime) -> RTCPPacket.ReportBlock? {
        source.flatMap { figures.block(of: $0, at: now) }
    }

    func claimRequests(at now: MonotonicTime, _ numbers: inout [UInt16]) { requests.claim(at: now, &numbers) }

    /// How long what comes behind a gap is held now.
    func hold(_ configuration: RTPReceiveSession.Configuration) -> Hold {
        let least = configuration.reordering
        guard track.feedback.contains(.retransmission) else { return Hold(usual: least, least: least, window: least) }
        let trip = requests.roundTrip ?? RetransmissionRequests.firstRoundTrip
        let window = configuration.longestHold
        return Hold(usual: min(max(trip * 5 / 2 + .milliseconds(10), least), window), least: min(least, window), window: window)
    }

    /// How long a packet behind a gap is held.
    struct Hold {
        /// Until a second request could have been answered.
        var usual: Nanoseconds
        /// As long as packets may be overtaken.
        var least: Nanoseconds
        /// From its source time on it is of use for so long.
        var window: Nanoseconds

        /// Until when a packet is held. What the network has delayed already has less time left.
        func end(arrival: MonotonicTime, sourceTime: MonotonicTime?) -> MonotonicTime {
            let end = arrival + usual
            guard let sourceTime else { return end }
            return min(end, max(arrival + least, sourceTime + window))
        }
    }
}
