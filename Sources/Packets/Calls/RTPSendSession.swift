import Media

/// Sends tracks to one receiver: numbers, time stamps, reports, lost packets once more, and what the receiver asks for. It does
/// no input or output and reads no clock: ``RTPViewer`` drives it.
///
/// Owned by one thread at a time.
public struct RTPSendSession: ~Copyable {
    /// What the receiver has told.
    public struct Feedback: Hashable, Sendable {
        /// Nil before its first report.
        public var roundTrip: Nanoseconds?
        /// Of the packets since its report before, 0…1; nil before its first report. A receiver that sends no receiver reports of the
        /// video reports by the arrivals that it tells, once a second.
        public var fractionLost: Double?
        /// The most bits a second that it can take, as it says; nil where it does not.
        public var bitRate: UInt64?
        /// How many bits a second may be sent to it now, estimated from the arrivals that it tells; nil where it tells none, or too few.
        public var estimate: UInt64?
        /// How many its link carries: more than ``estimate`` for the moment in which a queue leaves.
        public var capacity: UInt64?
        /// Packets can show what its link carries while it gets no pictures (``RTPSendSession/probeAlone(at:_:)``).
        public var canBeProbed = false
        /// Packets that it asked for once more, and those that were sent.
        public var requested: Int64 = 0
        public var repeated: Int64 = 0
        /// Packets that it asked for once more and did not get: as much had been sent again as for the first time, or its link has no
        /// room (``RepeatBudget``).
        public var refused: Int64 = 0
        /// Packets that left only to show what the link carries (``ProbePlan``).
        public var probes: Int64 = 0
        /// Packets of sound that carried earlier ones along (``SoundProtection``).
        public var carrying: Int64 = 0
        /// Pictures are sent twice as far as there is room: an encode that follows the link is to leave some.
        public var isSentTwice = false
        /// How often pictures were lost that its link had no room for once more, so that it got a keyframe instead.
        public var gaps: Int64 = 0
        /// Requests for keyframes.
        public var keyframeRequests: Int64 = 0
        public var reports: Int64 = 0
    }

    /// A keyframe is asked for at most this often by one receiver.
    public static let keyframeInterval = Nanoseconds.milliseconds(500)
    /// What pictures cost that are sent twice, with the headers, as a multiple.
    public static let costOfTwo = 2.2
    static let reportInterval = Nanoseconds.seconds(1)
    /// After a gap the keyframe waits for the queue on the way, but no longer.
    static let longestDrain = Nanoseconds.milliseconds(500)
    /// Without a receiver report for so long, the arrivals that are told say what is lost.
    static let receiverReportTimeout = Nanoseconds.seconds(3)

    private let tracks: [RTPTrackSender]
    private let name: String
    private let clock: WallClock
    /// The receiver has agreed to tell when packets come.
    private let tellsArrivals: Bool
    private var transportSequence: UInt16 = 0
    private var writer = RTCPWriter()
    /// A time of the stream, and when it was sent by our clock.
    private var anchor: (presentation: MediaTime, time: MonotonicTime)?
    private var nextReport: MonotonicTime?
    private var hasSaidGoodbye = false
    private var lastKeyframe: MonotonicTime?
    private var keyframeIsWanted = false
    private var intraRequest: UInt8?
    private var repeats = RepeatBudget()
    /// Until when the queue that made a gap leaves; nil without a gap.
    private var gapEnd: MonotonicTime?
    private var gapIsNew = false
    private var plan = ProbePlan()
    private var early = EarlyRepeats()
    private var protection = SoundProtection()
    /// The encode that the receiver gets leaves room for pictures to be sent twice.
    public var mayRepeatEarly = false {
        didSet { if !mayRepeatEarly { feedback.isSentTwice = false } }
    }
    /// More bits a second are of no use to the receiver; nil where none are, so that nothing is sent to find out what its link carries.
    public var usefulBitRate: UInt64?
    private var lastReceiverReport: MonotonicTime?
    private var arrivals = ArrivalLosses()
    /// Nil where the receiver cannot tell arrivals.
    private var bandwidth: BandwidthEstimate?
    public private(set) var feedback = Feedback()

    public init(_ tracks: [RTPTrack], name: String = RTPReceiveSession.randomName()) {
        self.init(tracks, name: name, clock: .read())
    }

    init(_ tracks: [RTPTrack], name: String = RTPReceiveSession.randomName(), clock: WallClock) {
        self.tracks = tracks.map { RTPTrackSender($0) }
        tellsArrivals = tracks.contains { $0.feedback.contains(.arrivals) }
        if tellsArrivals, tracks.contains(where: { $0.extensions.transportSequence > 0 }) { bandwidth = BandwidthEstimate() }
        self.name = name
        self.clock = clock
    }

    /// The RTP time stamp of a time of the stream in a track.
    func stamp(of presentation: MediaTime, track: Int) -> UInt32 { tracks[track].timestamp(presentation) }

    /// The synchronisation sources of a track: its own, and the one that sends its packets again.
    public func sources(of track: Int) -> (own: UInt32, retransmission: UInt32) {
        (tracks[track].source, tracks[track].retransmissionSource)
    }

    /// Sends a payload.
    /// - Parameters:
    ///   - head: the payload's first bytes, which may be none; `body`: the others.
    ///   - presentation: the unit's time. All packets of a unit have the same.
    ///   - sourceTime: when that was by our clock.
    ///   - isMarked: it is the last one of a picture.
    ///   - captureTime: when the picture was taken, as its sender said; nil where it did not.
    ///   - send: gets the packet, and behind a picture's last one those that probe the link.
    public mutating func send(
        _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, track: Int, presentation: MediaTime,
        sourceTime: MonotonicTime, isMarked: Bool, captureTime: UInt64? = nil, at now: MonotonicTime,
        _ send: (UnsafeRawBufferPointer) -> Sent
    ) -> Sent {
        let sender = tracks[track]
        if sender.track.isVideo || !tracks.contains(where: { $0.track.isVideo && $0.hasBegun }) {
            anchor = (presentation, sourceTime)
        }
        var extensions = extensions(of: sender, at: now)
        extensions.captureTime = captureTime
        guard
            let packet = unsafe sender.build(
                head, body, timestamp: sender.timestamp(ofPacket: presentation, at: now), isMarked: isMarked, extensions,
                carrying: sender.track.isVideo ? 0 : protection.count(rate: feedback.estimate, at: now), at: now)
        else { return .wouldBlock }
        if !sender.track.isVideo { feedback.carrying = sender.carrying }
        if extensions.transportSequence != nil { transportSequence &+= 1 }
        repeats.earn(packet.count)
        early.sent(packet.count, rate: feedback.estimate, at: now)
        let sent = unsafe send(packet)
        if sent == .sent, let number = extensions.transportSequence {
            record(number, packet.count, isOfPicture: sender.track.isVideo, at: now)
            if isMarked, sender.track.isVideo {
                unsafe repeatEarly(sender, at: now, send)
                unsafe probe(sender, packet.count, at: now, send)
            }
        }
        // Behind the first packet, from which receivers know the source.
        if nextReport == nil { nextReport = now }
        return sent
    }

    private mutating func record(_ number: UInt16, _ bytes: Int, isOfPicture: Bool, at now: MonotonicTime) {
        guard bandwidth != nil else { return }
        bandwidth!.sent(number, bytes: bytes, isOfPicture: isOfPicture, roundTrip: feedback.roundTrip, at: now)
        tellEstimate()
    }

    /// Sends a picture's last packet once more where nothing else shows what the link carries, and more would be of use.
    private mutating func probe(
        _ sender: RTPTrackSender, _ bytes: Int, at now: MonotonicTime, _ send: (UnsafeRawBufferPointer) -> Sent
    ) {
        guard let usefulBitRate, feedback.estimate ?? 0 < usefulBitRate, sender.hasOwnRepeats, bandwidth?.lacksCapacity == true
        else { return }
        for _ in 0..<plan.claim(bytes: bytes, rate: feedback.estimate.map { Double($0) }, at: now) {
            let extensions = extensions(of: sender, at: now)
            let packet = unsafe sender.rebuildNewest(extensions, at: now)
            guard let number = extensions.transportSequence else { return }
            transportSequence &+= 1
            guard unsafe send(packet) == .sent else { return }
            feedback.probes += 1
            record(number, packet.count, isOfPicture: true, at: now)
        }
    }

    /// Shows what the link carries while the receiver gets no pictures: packets of the newest ones leave again, some in a row. The receiver
    /// has had them, and drops them. libwebrtc does so, too, before it sends more. Called some ten times a second meanwhile.
    /// - Parameter send: gets the packets.
    public mutating func probeAlone(
        at now: MonotonicTime, _ send: (_ packet: UnsafeRawBufferPointer, _ track: Int) -> Sent
    ) {
        guard let usefulBitRate, feedback.canBeProbed, feedback.estimate ?? 0 < usefulBitRate,
            let index = tracks.firstIndex(where: \.isRepeatedApart),
            let bytes = plan.claimAlone(rate: feedback.estimate.map { Double($0) }, at: now)
        else { return }
        let sender = tracks[index]
        let size = min(max(bytes / ProbePlan.packets, ProbePlan.sizes.lowerBound), ProbePlan.sizes.upperBound)
        guard let number = sender.packet(ofAtMost: size) else { return }
        var left = bytes
        for count in 0..<ProbePlan.mostAlone where count < ProbePlan.packets || left > 0 {
            let extensions = extensions(of: sender, at: now)
            guard let own = extensions.transportSequence else { return }
            let packet = unsafe sender.rebuild(number, extensions, at: now)
            transportSequence &+= 1
            guard unsafe send(packet, index) == .sent else { return }
            left -= packet.count
            feedback.probes += 1
            record(own, packet.count, isOfPicture: true, at: now)
        }
    }

    /// Sends the packets of the picture before once more, where that is worth it and there is room.
    private mutating func repeatEarly(
        _ sender: RTPTrackSender, at now: MonotonicTime, _ send: (UnsafeRawBufferPointer) -> Sent
    ) {
        guard let former = early.pictureEnded(before: sender.nextNumber), feedback.isSentTwice, !hasGap else { return }
        for step in 0..<former.count {
            let lost = former.first &+ UInt16(step)
            guard let count = sender.byteCount(ofRepeat: lost, at: now, roundTrip: Self.reportInterval), early.claim(count)
            else { continue }
            let extensions = extensions(of: sender, at: now)
            let packet = unsafe sender.rebuild(lost, extensions, at: now)
            guard let number = extensions.transportSequence else { return }
            transportSequence &+= 1
            guard unsafe send(packet) == .sent else { return }
            record(number, packet.count, isOfPicture: true, at: now)
        }
    }

    /// The receiver has said what it lost.
    private mutating func apply(fractionLost: Double, at now: MonotonicTime) {
        feedback.reports += 1
        protection.observe(lost: fractionLost, at: now)
        feedback.fractionLost = fractionLost
        early.observe(lost: fractionLost, roundTrip: feedback.roundTrip)
        feedback.isSentTwice =
            mayRepeatEarly && early.isOn && bandwidth != nil && tracks.contains { $0.track.isVideo && $0.hasOwnRepeats }
    }

    private mutating func tellEstimate() {
        feedback.estimate = bandwidth?.bitRate.map { UInt64($0) }
        feedback.capacity = bandwidth?.capacity.map { UInt64($0) }
        feedback.canBeProbed = usefulBitRate != nil && bandwidth != nil && tracks.contains(where: \.isRepeatedApart)
    }

    /// - Returns: what the next packet of a track says. Its transport-wide number is used up when the packet has been built: one
    ///   that no packet bears looks like a loss.
    private func extensions(of sender: RTPTrackSender, at now: MonotonicTime) -> RTPExtensions {
        var extensions = RTPExtensions()
        // 24 bits of seconds with 18 bits of fraction.
        let (seconds, rest) = now.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        extensions.absoluteSendTime = UInt32(truncatingIfNeeded: (seconds << 18 + (rest << 18) / 1_000_000_000) & 0xff_ffff)
        if sender.track.extensions.transportSequence > 0 { extensions.transportSequence = transportSequence }
        // Show each picture as soon as it is there.
        (extensions.leastPlayoutDelay, extensions.mostPlayoutDelay) = (0, 0)
        return extensions
    }

    /// Reads an RTCP datagram of the receiver. Any bytes.
    /// - Parameter send: gets the packets that were asked for.
    public mutating func receive(
        _ datagram: UnsafeRawBufferPointer, at now: MonotonicTime,
        _ send: (_ packet: UnsafeRawBufferPointer, _ track: Int) -> Void
    ) {
        let bytes = unsafe Span<UInt8>(_unsafeElements: datagram.assumingMemoryBound(to: UInt8.self))
        var reader = RTCPReader(bytes)
        var hasArrivals = false
        while let packet = reader.next() {
            switch packet {
            case .receiverReport(_, let blocks), .senderReport(_, let blocks):
                for block in blocks where tracks.contains(where: { $0.source == block.source }) { apply(block, at: now) }
            case .lost(let media, let numbers):
                guard let index = tracks.firstIndex(where: { $0.source == media }),
                    tracks[index].track.feedback.contains(.retransmission)
                else { continue }
                unsafe repeatPackets(numbers, of: index, at: now, send)
            case .pictureLoss(let media): wantKeyframe(media, at: now)
            case .intraRequest(let media, let number):
                // A request that is repeated keeps its number until it is answered.
                guard intraRequest != number || lastKeyframe == nil else { continue }
                intraRequest = number
                wantKeyframe(media, at: now)
            case .bitRate(let bits): feedback.bitRate = bits
            // A receiver that leaves closes its connection, or falls silent.
            case .goodbye: break
            case .arrivals(let report):
                // One report says it all: a datagram of many would count for more than others.
                guard tellsArrivals, !hasArrivals else { continue }
                hasArrivals = true
                apply(report, at: now)
                guard bandwidth != nil else { continue }
                bandwidth!.receive(report, in: bytes, roundTrip: feedback.roundTrip, at: now)
                tellEstimate()
            }
        }
    }

    private mutating func apply(_ block: RTCPPacket.ReportBlock, at now: MonotonicTime) {
        // What is lost of the sound says little of the rate.
        if tracks.first(where: { $0.source == block.source })?.track.isVideo == true || tracks.count == 1 {
            apply(fractionLost: Double(block.fractionLost) / 256, at: now)
            lastReceiverReport = now
            arrivals = ArrivalLosses()
        } else {
            protection.observe(lost: Double(block.fractionLost) / 256, at: now)
        }
        guard block.lastReport != 0 else { return }
        let middle = UInt32(truncatingIfNeeded: clock.reading(at: now) >> 16)
        let units = middle &- block.lastReport &- block.delay
        // A round trip of more than ten seconds is a report that lies.
        guard units < 10 << 16 else { return }
        let sample = Nanoseconds(Int64(units) * 1_000_000_000 / 65536)
        feedback.roundTrip = feedback.roundTrip.map { $0 + (sample - $0) / 8 } ?? sample
    }

    private mutating func apply(_ report: ArrivalSummary, at now: MonotonicTime) {
        if let last = lastReceiverReport, now - last < Self.receiverReportTimeout { return }
        arrivals.record(packets: report.packets, received: report.received, at: now)
        if let fraction = arrivals.claim(at: now) { apply(fractionLost: fraction, at: now) }
    }

    private mutating func repeatPackets(
        _ numbers: [UInt16], of index: Int, at now: MonotonicTime, _ send: (UnsafeRawBufferPointer, Int) -> Void
    ) {
        let sender = tracks[index]
        feedback.requested += Int64(numbers.count)
        // Also what was sent twice is sent again at once: a request mostly leaves before the second one can have come, but where that is lost,
        // too, every further round trip is seen.
        let wait = max((feedback.roundTrip ?? .milliseconds(10)) / 2, .milliseconds(2))
        // No more than a receiver may ask for at once, so that nobody is flooded in another one's name.
        for number in numbers.prefix(RetransmissionRequests.most) {
            guard let count = sender.byteCount(ofRepeat: number, at: now, roundTrip: wait) else { continue }
            let answer = hasGap && sender.track.isVideo ? .noRoom : repeats.claim(count, rate: feedback.estimate, at: now)
            guard answer == .granted else {
                feedback.refused += 1
                if answer == .noRoom, sender.track.isVideo { beginGap(at: now) }
                continue
            }
            feedback.repeated += 1
            let extensions = extensions(of: sender, at: now)
            let packet = unsafe sender.rebuild(number, extensions, at: now)
            if sender.hasOwnRepeats, let number = extensions.transportSequence {
                transportSequence &+= 1
                record(number, packet.count, isOfPicture: false, at: now)
            }
            unsafe send(packet, index)
        }
    }

    private mutating func beginGap(at now: MonotonicTime) {
        guard !hasGap else { return }
        gapEnd = now + min(bandwidth?.queueDelay ?? .zero, Self.longestDrain)
        gapIsNew = true
        feedback.gaps += 1
        keyframeIsWanted = true
    }

    private var hasGap: Bool { gapEnd != nil }

    /// Whether pictures were lost that the link has no room for once more. What follows is of no use, and only keeps the queue on the
    /// way full, until a keyframe comes. ``claimKeyframe(at:)`` asks for one when the queue has left. Says it once.
    public mutating func claimGap() -> Bool {
        defer { gapIsNew = false }
        return gapIsNew
    }

    private mutating func wantKeyframe(_ media: UInt32, at now: MonotonicTime) {
        guard tracks.contains(where: { $0.source == media && $0.track.isVideo }) else { return }
        feedback.keyframeRequests += 1
        keyframeIsWanted = true
    }

    /// Whether the receiver waits for a keyframe that ``claimKeyframe(at:)`` has not allowed yet.
    public var wantsKeyframe: Bool { keyframeIsWanted }

    /// Whether the receiver wants a keyframe, and may have one now. It counts as asked for when this says so.
    public mutating func claimKeyframe(at now: MonotonicTime) -> Bool {
        guard keyframeIsWanted else { return false }
        if let last = lastKeyframe, now - last < Self.keyframeInterval { return false }
        if let gapEnd, now < gapEnd { return false }
        if hasGap {
            for sender in tracks where sender.track.isVideo { sender.forget(before: now) }
            gapEnd = nil
        }
        keyframeIsWanted = false
        lastKeyframe = now
        return true
    }

    /// When ``nextReport(at:_:)`` has something to send.
    public var nextTimer: MonotonicTime? { nextReport }

    /// Writes the reports that are due.
    /// - Parameter isGoodbye: nothing more will be sent. It is said once, and no report follows it.
    public mutating func nextReport(
        at now: MonotonicTime, isGoodbye: Bool = false, _ send: (_ packet: UnsafeRawBufferPointer, _ track: Int) -> Void
    ) {
        guard let due = nextReport, isGoodbye || due <= now, !hasSaidGoodbye, let anchor else { return }
        nextReport = now + Self.reportInterval
        hasSaidGoodbye = isGoodbye
        let present = anchor.presentation + MediaTime.ticks(in: now - anchor.time)
        for (index, sender) in tracks.enumerated() where sender.hasBegun {
            writer.removeAll()
            writer.senderReport(
                SenderReport(
                    source: sender.source, wallClock: clock.reading(at: now), timestamp: sender.timestamp(present),
                    packets: sender.packets, bytes: sender.bytes))
            writer.description(of: sender.source, name: name)
            if isGoodbye { writer.goodbye([sender.source]) }
            unsafe writer.bytes.withUnsafeBytes { unsafe send($0, index) }
        }
    }
}

/// The losses of about a second, by reports of arrivals, each of which covers only some packets. A pure value.
private struct ArrivalLosses {
    private static let interval = Nanoseconds.seconds(1)

    private var since: MonotonicTime?
    private var packets = 0
    private var received = 0

    mutating func record(packets: Int, received: Int, at now: MonotonicTime) {
        if since == nil { since = now }
        self.packets += packets
        self.received += received
    }

    /// The share that was lost, 0…1, once a second; nil between.
    mutating func claim(at now: MonotonicTime) -> Double? {
        guard let since, now - since >= Self.interval, packets > 0 else { return nil }
        defer { self = ArrivalLosses() }
        return Double(packets - received) / Double(packets)
    }
}
