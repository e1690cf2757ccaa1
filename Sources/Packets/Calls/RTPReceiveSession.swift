import Media

/// Receives the tracks of one sender: order, lost packets, clocks, and the feedback that goes back. It does no input or
/// output and reads no clock: ``MediaSource`` drives it with sockets, a WebRTC transport with packets that it has decrypted,
/// tests with virtual time.
///
/// 1. Give it each datagram: ``receive(_:arrival:)``.
/// 2. Remove packets while there are any: ``next(at:into:)``.
/// 3. Send what ``nextFeedback(at:)`` returns, until it returns nil.
/// 4. Do 2 and 3 again at ``nextTimer``, or when another datagram has come.
///
/// Owned by one thread.
public struct RTPReceiveSession: ~Copyable {
    public struct Configuration: Sendable {
        /// Our own synchronisation source, which feedback comes from, and its name.
        public var source: UInt32 = .random(in: 1 ... .max)
        public var name = RTPReceiveSession.randomName()
        /// How long packets that others have overtaken are waited for where nothing is sent again.
        public var reordering = Nanoseconds.milliseconds(20)
        /// How long lost packets are waited for at most where they are. A keyframe, which would come instead, takes a round trip and
        /// its own sending, and pictures are lost until then.
        public var longestHold = Nanoseconds.milliseconds(250)
        /// The most bits a second that the sender may send, where it is told by ``RTPFeedback/bitRate``; nil tells it nothing.
        public var bitRate: UInt64? = 4_000_000
        /// Whether whoever carries the packets knows that they are the sender's, as a WebRTC transport does. Otherwise a source gets
        /// feedback when the description names it, or when two of its packets have come in sequence.
        public var isAuthentic = false
        /// Tells the layers of a picture by their sizes (``RTPTrack/layers``). Without it, the first layer that comes is received.
        public var pictureSize: PictureSizeReader?
        public init() {}
    }

    /// Something that happened beside packets.
    public enum Event: Hashable, Sendable {
        /// The first packet of a track's source has come.
        case began(track: Int)
        /// All tracks have ended.
        case ended(reason: String)
        /// A datagram cannot be used. Reported once for each reason.
        case refused(reason: String)
        /// No reports tell how sound and picture belong together: they are aligned by their arrival.
        case alignedByArrival
        /// A track's reports contradict by so many seconds when its packets come. They do not count.
        case reportsContradict(track: Int, seconds: Double)
        /// The sender was asked for a keyframe again and again, and none has come.
        case keyframeWithheld
        /// Of so many layers of a picture that come, one of this size is received from here on.
        case receivesLayer(PictureSize, of: Int)
    }

    let configuration: Configuration
    private let tracks: [RTPTrackReceiver]
    private let map: RTPExtensionMap
    /// The sender is told when its packets came.
    private let hasArrivals: Bool
    var alignment = TrackAlignment()
    var events: [Event] = []
    private var complaints: Set<String> = []
    private var writer = RTCPWriter()
    private var numbers: [UInt16] = []
    private var nextReport: MonotonicTime?
    private var nextArrivals: MonotonicTime?
    private var picture = KeyframeNeed()
    private var intraRequests: UInt8 = 0
    private var packetArrivals = PacketArrivals()
    /// Datagrams that are not the stream's.
    public private(set) var unexpected: Int64 = 0
    /// Packets of layers of a picture that are not received.
    public internal(set) var leftOut: Int64 = 0
    /// Sender reports that came, and those that were not believed.
    public private(set) var reports: Int64 = 0
    public private(set) var reportsRejected: Int64 = 0

    /// How often receiver reports go out.
    static let reportInterval = Nanoseconds.seconds(1)
    /// How often a sender hears when its packets came.
    static let arrivalInterval = Nanoseconds.milliseconds(50)
    /// How long a source's last packets may come behind its goodbye.
    static let lastPacketsTimeout = Nanoseconds.milliseconds(20)

    /// - Parameter tracks: the first of video is the one that keyframes are asked for.
    public init(_ tracks: [RTPTrack], _ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        self.tracks = tracks.enumerated().map { RTPTrackReceiver($1, index: $0) }
        var map = RTPExtensionMap()
        for track in tracks { map.merge(track.extensions) }
        self.map = map
        hasArrivals = tracks.contains { $0.feedback.contains(.arrivals) }
    }

    /// A random name of 16 hexadecimal digits (RFC 7022).
    public static func randomName() -> String {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// What is known of the losses of all tracks.
    public struct Losses: Hashable, Sendable {
        /// Packets found missing, whether or not they came later.
        public var found: Int64 = 0
        /// Those that came again, after they were asked for.
        public var repaired: Int64 = 0
        /// Those that a later packet carried along (RFC 2198).
        public var carried: Int64 = 0
        /// Those that were waited for in vain.
        public var abandoned: Int64 = 0
    }

    public var losses: Losses {
        tracks.reduce(into: Losses()) {
            $0.found += $1.lost
            $0.repaired += $1.repaired
            $0.carried += $1.carried
            $0.abandoned += $1.abandoned
        }
    }

    /// From a request for a lost packet to its arrival; nil before any.
    public var roundTrip: Nanoseconds? {
        var longest: Nanoseconds?
        for receiver in tracks {
            if let trip = receiver.requests.roundTrip { longest = max(longest ?? trip, trip) }
        }
        return longest
    }

    /// Whether any track has a source now.
    public var isConnected: Bool { tracks.contains { $0.source != nil } }

    // MARK: What comes

    /// Files a datagram: RTP or RTCP, any bytes.
    /// - Parameters:
    ///   - track: the one whose socket it came from; nil where all tracks share one.
    ///   - isFromPeer: it came from where the track's packets come from.
    /// - Returns: whether it is one of the stream's, so that feedback may go to where it came from. There is none before its source is
    ///   proven.
    @discardableResult public mutating func receive(
        _ datagram: UnsafeRawBufferPointer, arrival: MonotonicTime, track: Int? = nil, isFromPeer: Bool = false
    ) -> Bool {
        let bytes = unsafe Span<UInt8>(_unsafeElements: datagram.assumingMemoryBound(to: UInt8.self))
        if RTPPacket.isControl(bytes) { return receiveControl(bytes, arrival) }
        guard var packet = RTPPacket(reading: bytes, map: map) else {
            return refuse("what comes is no RTP: send RTP as the session description says")
        }
        guard let (receiver, format, kind) = place(of: packet, bytes, track) else {
            skip(packet, arrival, track)
            // Janus shows with empty packets where it reads feedback. Others keep paths open with them.
            guard !packet.payload.isEmpty else { return refuse(nil) }
            return refuse(
                "packets of payload type \(packet.payloadType) are left out: the session description names no format for it that"
                    + " can be read")
        }
        let isRepeat = kind == .again
        if receiver.layers != nil {
            guard let isReceived = follow(receiver, packet, bytes, format, isRepeat, arrival) else { return refuse(nil) }
            guard isReceived else { return true }
        } else if isRepeat {
            guard receiver.source != nil else { return false }
        } else {
            guard receiver.admits(packet, isAuthentic: configuration.isAuthentic, at: arrival) else {
                guard isFromPeer, succeeds(receiver, packet, bytes, arrival) else {
                    return isFromPeer ? false : refuse(Self.otherSource)
                }
                return unsafe receive(datagram, arrival: arrival, track: track)
            }
            if receiver.source != packet.source { begin(receiver, packet, arrival) }
        }
        recordArrival(packet, arrival)
        if isRepeat {
            // RFC 4588, 4: before the payload stands the number that the packet had. Without one it only probes the path.
            guard packet.payload.count >= 2 else { return false }
            packet.sequence = UInt16(bytes.bigEndian(at: packet.payload.lowerBound, 2))
            packet.payload = packet.payload.lowerBound + 2..<packet.payload.upperBound
        }
        let hold = receiver.hold(configuration)
        var redundancy: RedundantBlocks?
        if kind == .redundant {
            // One of another codec, such as silence or a tone, or with lengths that lie. Its number is no gap all the same.
            guard let blocks = RedundantBlocks(reading: bytes, packet.payload),
                blocks.own.payloadType == receiver.track.formats[format].payloadType
            else {
                receiver.skip(packet, arrival: arrival, hold: hold)
                return refuse(nil)
            }
            (redundancy, packet.payload) = (blocks, blocks.own.bytes)
        }
        let payload = bytes.extracting(packet.payload)
        var verdict = receiver.insert(payload, packet, format: format, isRepeat: isRepeat, arrival: arrival, hold: hold)
        if verdict == .startsAnew {
            begin(receiver, packet, arrival)
            verdict = receiver.insert(payload, packet, format: format, isRepeat: false, arrival: arrival, hold: hold)
        }
        if verdict == .unexpected { unexpected += 1 }
        if let redundancy, verdict == .kept {
            receiver.recover(redundancy, in: bytes, of: packet, format: format, arrival: arrival, hold: hold)
        }
        alignment.observe(receiver, at: arrival)
        return verdict != .unexpected
    }

    /// Files a packet of a served source in a format that cannot be read, such as redundancy (RFC 5109): its number is no gap.
    private mutating func skip(_ packet: RTPPacket, _ arrival: MonotonicTime, _ track: Int?) {
        for receiver in tracks where receiver.source == packet.source && (track == nil || track == receiver.index) {
            recordArrival(packet, arrival)
            return receiver.skip(packet, arrival: arrival, hold: receiver.hold(configuration))
        }
    }

    private static let otherSource = "another source sends while the first one is served: stop one of them"

    /// Judges a packet of another source, from where the present one sends.
    /// - Returns: whether its source has taken the place of the present one.
    private mutating func succeeds(
        _ receiver: RTPTrackReceiver, _ packet: RTPPacket, _ datagram: Span<UInt8>, _ arrival: MonotonicTime
    ) -> Bool {
        switch receiver.succession.judge(packet, datagram, at: arrival, lastHeard: receiver.lastHeard) {
        case .kept(let instead):
            if instead { unexpected += 1 }
            return false
        case .isLate: return refuse(nil)
        case .refused: return refuse(Self.otherSource)
        case .takesOver: break
        }
        guard let first = receiver.succession.takeOver(from: receiver.source, at: arrival) else { return false }
        receiver.goodbye()
        unsafe first.datagram.withUnsafeBytes {
            _ = unsafe receive($0, arrival: first.arrival, track: receiver.index)
        }
        return true
    }

    /// The sender is told of all packets, whatever becomes of them.
    mutating func recordArrival(_ packet: RTPPacket, _ arrival: MonotonicTime) {
        // Some track has a source now, which the report can name.
        guard hasArrivals, let number = packet.extensions.transportSequence else { return }
        if nextArrivals == nil { nextArrivals = arrival + Self.arrivalInterval }
        packetArrivals.record(number, at: arrival)
    }

    mutating func begin(_ receiver: RTPTrackReceiver, _ packet: RTPPacket, _ arrival: MonotonicTime) {
        receiver.begin(packet.source, at: arrival)
        alignment.begin(receiver, timestamp: packet.timestamp, at: arrival)
        complaints.removeAll(keepingCapacity: true)
        if receiver.track.isVideo { picture = KeyframeNeed() }
        if nextReport == nil { nextReport = arrival + Self.reportInterval }
        events.append(.began(track: receiver.index))
    }

    /// How a packet comes: plainly, in the format for those that are sent again, or in the one that carries earlier packets along.
    private enum PacketKind { case plain, again, redundant }

    /// Which track a packet belongs to, in which format, and how it comes.
    private func place(
        of packet: RTPPacket, _ bytes: Span<UInt8>, _ only: Int?
    ) -> (RTPTrackReceiver, format: Int, kind: PacketKind)? {
        var best: (RTPTrackReceiver, format: Int, kind: PacketKind)?
        var bestScore = -1
        for receiver in tracks where only == nil || only == receiver.index {
            let formats = receiver.track.formats
            let type = packet.payloadType
            let plain = formats.firstIndex { $0.payloadType == type }
            let again = plain ?? formats.firstIndex { $0.retransmission == type }
            guard let format = again ?? formats.firstIndex(where: { $0.redundancy == type }) else { continue }
            let kind: PacketKind = plain != nil ? .plain : again != nil ? .again : .redundant
            var score = 0
            if receiver.isNamed(by: packet.extensions, in: bytes) { score += 4 }
            if receiver.source == packet.source { score += 2 }
            if receiver.track.source == packet.source || receiver.track.retransmissionSource == packet.source { score += 1 }
            if score > bestScore { (best, bestScore) = ((receiver, format, kind), score) }
        }
        return best
    }

    /// - Parameter reason: nil where nobody need know.
    /// - Returns: false.
    private mutating func refuse(_ reason: String?) -> Bool {
        unexpected += 1
        if let reason, complaints.insert(reason).inserted { events.append(.refused(reason: reason)) }
        return false
    }

    private mutating func receiveControl(_ bytes: Span<UInt8>, _ arrival: MonotonicTime) -> Bool {
        var reader = RTCPReader(bytes)
        var isOurs = false
        while let packet = reader.next() {
            switch packet {
            case .senderReport(let report, _):
                guard let receiver = tracks.first(where: { $0.source == report.source }) else {
                    if let other = tracks.first(where: { $0.layers?.holds(report.source) == true }) {
                        reports += 1
                        if !other.layers!.apply(report, arrival: arrival) { reportsRejected += 1 }
                        isOurs = true
                    }
                    continue
                }
                // Feedback goes to where reports come from.
                if receiver.isProven { isOurs = true }
                reports += 1
                let isBelieved = receiver.apply(report, arrival: arrival)
                alignment.align(tracks)
                if !isBelieved || alignment.disbelieves(receiver.index) { reportsRejected += 1 }
            case .goodbye(let sources):
                for receiver in tracks where receiver.hears(goodbyeOf: sources) {
                    receiver.goodbye()
                    if receiver.isProven { isOurs = true }
                }
            default: break
            }
        }
        return isOurs
    }

    // MARK: What goes on

    /// Removes the next packet that is due: what is in order at once, what is behind a gap when the gap was waited for in vain.
    /// - Parameters:
    ///   - now: everything that had come by then was given to ``receive(_:arrival:track:)``.
    ///   - buffer: gets the payload; at least 2048 bytes.
    public mutating func next(
        at now: MonotonicTime, into buffer: UnsafeMutableRawBufferPointer
    ) -> (arrival: RTPArrival, byteCount: Int)? {
        for receiver in tracks {
            let packet = unsafe receiver.next(at: now, into: buffer)
            // A picture that lacks a packet cannot be decoded, nor can what follows.
            if receiver.drainLoss(), receiver.track.isVideo { picture.renew() }
            if let packet { return packet }
        }
        return nil
    }

    /// Removes the oldest event.
    public mutating func nextEvent(at now: MonotonicTime) -> Event? {
        if events.isEmpty {
            endSilent(now)
            for receiver in tracks {
                if let event = receiver.claimLayerReport(at: now) { events.append(event) }
            }
            if alignment.claimReport(tracks, at: now) { events.append(.alignedByArrival) }
            while let (track, ticks) = alignment.claimContradiction() {
                events.append(
                    .reportsContradict(track: track, seconds: Double(ticks) / Double(MediaTime.ticksPerSecond)))
            }
            if picture.claimReport(at: now) { events.append(.keyframeWithheld) }
        }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// When the sources count as gone if nothing comes, and whether they have said so.
    private var silenceEnd: (time: MonotonicTime, isGoodbye: Bool)? {
        var last: MonotonicTime?
        var haveLeft = true
        for receiver in tracks where receiver.source != nil {
            last = max(last ?? receiver.lastHeard, receiver.lastHeard)
            if !receiver.saidGoodbye { haveLeft = false }
        }
        return last.map { ($0 + (haveLeft ? Self.lastPacketsTimeout : RTPFeed.connectionTimeout), haveLeft) }
    }

    private mutating func endSilent(_ now: MonotonicTime) {
        guard let (time, isGoodbye) = silenceEnd, time <= now else { return }
        end(
            reason: isGoodbye
                ? "the sender said goodbye" : "nothing has come for \(Int(RTPFeed.connectionTimeout.seconds)) s")
    }

    /// Lets the sources go, because whoever carries the packets knows that they have ended.
    public mutating func end(reason: String) {
        guard isConnected else { return }
        for receiver in tracks { receiver.end() }
        picture = KeyframeNeed()
        alignment = TrackAlignment()
        packetArrivals = PacketArrivals()
        (nextReport, nextArrivals) = (nil, nil)
        events.append(.ended(reason: reason))
    }

    // MARK: Feedback

    /// Whether the sender of the video is asked for a keyframe until this is set to false. Set it while nothing that comes can be
    /// decoded. A loss sets it by itself.
    public var needsKeyframe: Bool {
        get { picture.isNeeded }
        set { picture.set(newValue) }
    }

    /// The same for those behind the session, who say how often the sender is asked again; nil where they want none. A source that
    /// begins anew forgets it.
    public var keyframeWish: Nanoseconds? {
        get { picture.wish }
        set { picture.want(every: newValue) }
    }

    /// When ``next(at:into:)``, ``nextEvent(at:)`` or ``nextFeedback(at:_:)`` may have something, if nothing comes before.
    public var nextTimer: MonotonicTime? {
        var next = Self.earlier(Self.earlier(nextReport, nextArrivals), silenceEnd?.time)
        for receiver in tracks where receiver.source != nil {
            next = Self.earlier(next, receiver.gapDeadline)
            guard receiver.isProven else { continue }
            next = Self.earlier(next, receiver.requests.due)
            if receiver.track.isVideo { next = Self.earlier(next, picture.due) }
        }
        return next
    }

    private static func earlier(_ a: MonotonicTime?, _ b: MonotonicTime?) -> MonotonicTime? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    /// Writes the feedback that is due.
    /// - Parameter send: sends an RTCP datagram to the sender of a track.
    public mutating func nextFeedback(at now: MonotonicTime, _ send: (_ packet: UnsafeRawBufferPointer, _ track: Int) -> Void) {
        let reportIsDue = nextReport.map { $0 <= now } ?? false
        if reportIsDue {
            nextReport = now + Self.reportInterval
            alignment.align(tracks)
        }
        var hasAsked = false
        var arrivalsAreDue = nextArrivals.map { $0 <= now } ?? false
        if arrivalsAreDue { nextArrivals = nil }
        for receiver in tracks {
            guard let source = receiver.source, receiver.isProven else { continue }
            numbers.removeAll(keepingCapacity: true)
            receiver.claimRequests(at: now, &numbers)
            let wantsPicture = receiver.track.isVideo && !hasAsked && picture.claim(at: now)
            if wantsPicture { hasAsked = true }
            // They are of all tracks, so the first one that has a source carries them.
            if arrivalsAreDue, packetArrivals.claim() { unsafe sendArrivals(receiver.index, source, send) }
            arrivalsAreDue = false
            let layer = receiver.layers?.claimRequest(at: now)
            guard reportIsDue || wantsPicture || layer != nil || !numbers.isEmpty else { continue }
            writer.removeAll()
            writer.receiverReport(from: configuration.source, reportIsDue ? receiver.reportBlock(at: now) : nil)
            writer.description(of: configuration.source, name: configuration.name)
            if !numbers.isEmpty { writer.lost(numbers, from: configuration.source, media: source) }
            if wantsPicture { ask(receiver.track, source) }
            if let layer { ask(receiver.track, layer) }
            if reportIsDue, receiver.track.feedback.contains(.bitRate), let bits = configuration.bitRate {
                writer.bitRate(bits, from: configuration.source, media: source)
            }
            unsafe writer.bytes.withUnsafeBytes { unsafe send($0, receiver.index) }
        }
    }

    /// In a datagram of its own, in which it has room.
    private mutating func sendArrivals(_ track: Int, _ source: UInt32, _ send: (UnsafeRawBufferPointer, Int) -> Void) {
        writer.removeAll()
        writer.receiverReport(from: configuration.source)
        writer.description(of: configuration.source, name: configuration.name)
        writer.arrivals(packetArrivals.report, from: configuration.source, media: source)
        unsafe writer.bytes.withUnsafeBytes { unsafe send($0, track) }
    }

    /// Asks for a keyframe. A sender that has agreed on neither form may know the first one all the same.
    private mutating func ask(_ track: RTPTrack, _ source: UInt32) {
        if track.feedback.contains(.intraRequest), !track.feedback.contains(.pictureLoss) {
            intraRequests &+= 1
            writer.intraRequest(from: configuration.source, media: source, number: intraRequests)
        } else {
            writer.pictureLoss(from: configuration.source, media: source)
        }
    }

    /// Writes a goodbye, because we receive no more.
    public mutating func goodbye(_ send: (_ packet: UnsafeRawBufferPointer, _ track: Int) -> Void) {
        for receiver in tracks where receiver.isProven {
            writer.removeAll()
            writer.receiverReport(from: configuration.source)
            writer.description(of: configuration.source, name: configuration.name)
            writer.goodbye([configuration.source])
            unsafe writer.bytes.withUnsafeBytes { unsafe send($0, receiver.index) }
        }
    }
}
