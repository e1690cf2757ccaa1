import Media
import Synchronization

/// The receivers of one output that gets media without a multiplex: one address, or the viewers of a WebRTC output, who come
/// and go. Thread-safe.
public final class RTPViewers: Sendable {
    /// How many there may be at a time.
    public let capacity: Int
    private let all: Lock<[RTPViewer?]>
    private let news = ViewerNews()
    private static let nextID = Atomic<Int32>(1)
    private let added = Atomic<Int64>(0)
    /// Of those who have left.
    private let former = Lock(LegFigures())

    /// - Parameter capacity: up to 256.
    public init(capacity: Int) {
        self.capacity = capacity
        all = Lock([RTPViewer?](repeating: nil, count: capacity))
    }

    /// Adds a viewer, who gets media from the next keyframe on.
    /// - Parameters:
    ///   - tracks: what they get: at most one of video (its first format is what is sent: H.264 or VP8) and one of sound (Opus).
    ///   - peer: who they are, for people.
    ///   - request: the layer that they ask for; nil for the one that their link carries.
    /// - Returns: nil when there are as many as there may be.
    public func add(
        _ tracks: [RTPTrack], _ wire: any RTPSendWire, peer: String, name: String = RTPReceiveSession.randomName(),
        request: ViewerLayer? = nil
    ) -> RTPViewer? {
        let id = Self.nextID.add(1, ordering: .relaxed).oldValue
        let viewer = RTPViewer(tracks, wire, id: id, peer: peer, name: name, request: request, news)
        let hasPlace = all.withLock { all in
            guard let place = all.firstIndex(where: { $0 == nil }) else { return false }
            all[place] = viewer
            added.add(1, ordering: .relaxed)
            return true
        }
        guard hasPlace else { return nil }
        news.tell()
        return viewer
    }

    /// Whom to wake when a viewer has come, or wants a keyframe. They want it in the next picture, which may be there before anybody
    /// looks unasked.
    public func wake(_ wake: WakeUp) { news.wake.withLock { $0 = wake } }

    /// Removes a viewer. It gets a goodbye.
    public func remove(_ viewer: RTPViewer) {
        let wasThere = all.withLock { all in
            guard let place = all.firstIndex(where: { $0 === viewer }) else { return false }
            all[place] = nil
            return true
        }
        guard wasThere else { return }
        viewer.sayGoodbye()
        let figures = viewer.statistics()
        former.withLock { $0.addCounters(of: figures) }
    }

    /// A viewer has come, or will, who can show no format of ours, so that they get sound alone.
    public func countRefusedPicture() { former.withLock { $0.picturesRefused += 1 } }

    /// Tells all viewers that nothing more comes (RFC 3550, 6.6).
    public func sayGoodbye() { for viewer in viewers { viewer.sayGoodbye() } }

    /// Who has a connection; nil where it is over. Costs a lock.
    public func viewer(of connection: SinkConnection) -> RTPViewer? {
        guard let viewer = viewer(at: connection.place), viewer.id == connection.socket else { return nil }
        return viewer
    }

    package func viewer(at place: Int) -> RTPViewer? { all.withLock { $0.indices.contains(place) ? $0[place] : nil } }

    /// What one viewer has told.
    public struct Report: Hashable, Sendable {
        /// No other viewer of this process has had or will have it.
        public var id: UInt64
        public var feedback: RTPSendSession.Feedback
        /// They get keyframes only, or are tried with all frames again: what they report is not to lower the rate of others.
        public var isHeldBack = false
        /// They get the encoder's pictures, or are to get them.
        public var isServedByEncoder = true
        /// They are to get the smaller encode.
        public var isServedByExtra = false
    }

    public var reports: [Report] {
        viewers.map {
            Report(
                id: UInt64($0.id), feedback: $0.feedback, isHeldBack: $0.isHeldBack, isServedByEncoder: $0.isServedByEncoder,
                isServedByExtra: $0.isServedByExtra)
        }
    }

    /// What each viewer's RTP time stamps of pictures have more than the pictures' presentation times.
    public var videoStampBases: [UInt32] { viewers.compactMap(\.videoStampBase) }

    package var isAnybodyThere: Bool { all.withLock { $0.contains { $0 != nil } } }

    var viewers: [RTPViewer] { all.withLock { $0.compactMap { $0 } } }

    package func statistics() -> LegFigures {
        var sum = former.withLock { $0 }
        let viewers = viewers
        for viewer in viewers {
            let own = viewer.statistics()
            sum.addCounters(of: own)
            sum.roundTripTime = max(sum.roundTripTime, own.roundTripTime)
        }
        sum.isConnected = !viewers.isEmpty
        sum.connections = added.load(ordering: .relaxed)
        return sum
    }
}

/// Wakes whoever serves an output's viewers. Thread-safe.
final class ViewerNews: Sendable {
    let wake = Lock<WakeUp?>(nil)

    func tell() { wake.withLock { $0 }?.raise() }
}

/// One receiver of an output: a session, and the wire that its packets go out on. Thread-safe.
public final class RTPViewer: Sendable {
    /// Which of a viewer's tracks something is for.
    public enum Kind: Sendable { case video, sound }

    private struct State: ~Copyable {
        var session: RTPSendSession
        var figures = LegFigures()
    }

    package let id: Int32
    public let peer: String
    private let wire: any RTPSendWire
    private let video: Int?
    private let sound: Int?
    private let format: RTPFormat?
    private let state: Guarded<State>
    private let news: ViewerNews
    /// Looked at for each picture.
    private let wantsKeyframe = Atomic<Bool>(false)
    private let heldBack = Atomic<Bool>(false)
    private let encoderServes = Atomic<Bool>(true)
    private let extraServes = Atomic<Bool>(false)
    private let presentLayer: Lock<ViewerLayer>
    private let requestedLayer: Lock<ViewerLayer?>

    init(
        _ tracks: [RTPTrack], _ wire: any RTPSendWire, id: Int32, peer: String, name: String, request: ViewerLayer?,
        _ news: ViewerNews
    ) {
        self.id = id
        requestedLayer = Lock(request)
        presentLayer = Lock(tracks.contains(where: \.isVideo) ? .enhanced : .sound)
        self.news = news
        self.peer = peer
        self.wire = wire
        video = tracks.firstIndex(where: \.isVideo)
        sound = tracks.firstIndex { !$0.isVideo }
        format = video.map { tracks[$0].formats[0] }
        state = Guarded(State(session: RTPSendSession(tracks, name: name)))
    }

    /// See ``RTPViewers/Report/isHeldBack``.
    public var isHeldBack: Bool {
        get { heldBack.load(ordering: .relaxed) }
        set { heldBack.store(newValue, ordering: .relaxed) }
    }

    /// See ``RTPViewers/Report/isServedByEncoder``.
    public var isServedByEncoder: Bool {
        get { encoderServes.load(ordering: .relaxed) }
        set { encoderServes.store(newValue, ordering: .relaxed) }
    }

    /// See ``RTPViewers/Report/isServedByExtra``.
    public var isServedByExtra: Bool {
        get { extraServes.load(ordering: .relaxed) }
        set {
            extraServes.store(newValue, ordering: .relaxed)
            state.withLock { $0.session.mayRepeatEarly = newValue }
        }
    }

    /// What they get now.
    public var layer: ViewerLayer {
        get { presentLayer.withLock { $0 } }
        set { presentLayer.withLock { $0 = newValue } }
    }

    /// The layer that they ask for; nil for the one that their link carries.
    public var request: ViewerLayer? {
        get { requestedLayer.withLock { $0 } }
        set { requestedLayer.withLock { $0 = newValue } }
    }

    /// What the receiver has told so far.
    public var feedback: RTPSendSession.Feedback { state.withLock { $0.session.feedback } }

    /// The synchronisation sources of a track, for a session description.
    public func sources(of track: Int) -> (own: UInt32, retransmission: UInt32) {
        state.withLock { $0.session.sources(of: track) }
    }

    /// What RTP time stamps of pictures have more than the presentation times, which are counted alike (RFC 6184, 8.2.1); nil for who
    /// gets sound alone.
    var videoStampBase: UInt32? {
        video.map { track in state.withLock { $0.session.stamp(of: MediaTime(ticks: 0), track: track) } }
    }

    /// Reads an RTCP datagram that has come from the receiver. Lost packets go out at once, on this thread.
    public func receive(_ datagram: UnsafeRawBufferPointer, at now: MonotonicTime) {
        let wants = state.withLock { state in
            var repeated: Int64 = 0
            unsafe state.session.receive(datagram, at: now) { packet, track in
                repeated += 1
                _ = unsafe wire.send(packet, isControl: false, track: track)
            }
            state.figures.packetsRetransmitted += repeated
            return state.session.wantsKeyframe
        }
        if wants, !wantsKeyframe.exchange(true, ordering: .acquiringAndReleasing) { news.tell() }
    }

    /// A datagram has come that is not the receiver's.
    func countUnexpected() { state.withLock { $0.figures.packetsUnexpected += 1 } }

    /// Whether the receiver has asked for a keyframe and may have one now. It counts as asked for then.
    public func claimKeyframe(at now: MonotonicTime) -> Bool {
        guard wantsKeyframe.load(ordering: .acquiring) else { return false }
        return state.withLock { state in
            guard state.session.claimKeyframe(at: now) else { return false }
            wantsKeyframe.store(false, ordering: .relaxed)
            return true
        }
    }

    /// Sets what is of use to the receiver (``RTPSendSession/usefulBitRate``).
    public func findRoom(upTo bitRate: Int?) {
        state.withLock { $0.session.usefulBitRate = bitRate.map { UInt64(clamping: $0) } }
    }

    /// See ``RTPSendSession/probeAlone(at:_:)``.
    public func probeAlone(at now: MonotonicTime) {
        state.withLock { state in
            var packets: Int64 = 0
            unsafe state.session.probeAlone(at: now) { packet, track in
                packets += 1
                return unsafe wire.send(packet, isControl: false, track: track)
            }
            state.figures.packetsRetransmitted += packets
        }
    }

    /// See ``RTPSendSession/claimGap()``.
    public func claimGap() -> Bool {
        guard wantsKeyframe.load(ordering: .acquiring) else { return false }
        return state.withLock { $0.session.claimGap() }
    }

    /// Whether the receiver gets pictures, or sound. One may have agreed on sound alone.
    public func has(_ kind: Kind) -> Bool { (kind == .video ? video : sound) != nil }

    /// Whether their pictures are to be VP8.
    public var takesVP8: Bool { format?.codec == .vp8 }

    /// Whether they are to be H.264 of the constrained baseline profile.
    public var takesBaseline: Bool { format?.isBaseline ?? false }

    /// Sends an RTP payload; never waits. No allocation.
    /// - Parameters:
    ///   - head: the payload's first bytes, which may be none; `body`: the others.
    ///   - presentation: the unit's time. All payloads of a unit have the same.
    ///   - sourceTime: when that was by our clock.
    ///   - isMarked: the last one of a picture.
    ///   - captureTime: when the picture was taken by its sender's clock (NTP's 32.32 bits), where the sender said so.
    public func send(
        _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ kind: Kind, presentation: MediaTime,
        sourceTime: MonotonicTime, isMarked: Bool, captureTime: UInt64? = nil
    ) -> Sent {
        // What the receiver has no track for is not missed.
        guard let track = kind == .video ? video : sound else { return .sent }
        let now = MonotonicTime.now()
        return state.withLock { state in
            var packets: Int64 = 0
            let sent = unsafe state.session.send(
                head, body, track: track, presentation: presentation, sourceTime: sourceTime, isMarked: isMarked,
                captureTime: captureTime, at: now
            ) { packet in
                packets += 1
                return unsafe wire.send(packet, isControl: false, track: track)
            }
            if sent == .sent {
                state.figures.packetsSent += 1
                state.figures.packetsRetransmitted += packets - 1
                state.figures.bytesSent += Int64(head.count + body.count)
            } else {
                state.figures.packetsDropped += 1
            }
            sendReports(&state, now, isGoodbye: false)
            return sent
        }
    }

    private func sendReports(_ state: inout State, _ now: MonotonicTime, isGoodbye: Bool) {
        var count: Int64 = 0
        unsafe state.session.nextReport(at: now, isGoodbye: isGoodbye) { packet, track in
            count += 1
            _ = unsafe wire.send(packet, isControl: true, track: track)
        }
        state.figures.reports += count
    }

    func sayGoodbye() { state.withLock { sendReports(&$0, .now(), isGoodbye: true) } }

    /// What was sent to them, and what they have told.
    public func statistics() -> LegFigures {
        state.withLock { state in
            var figures = state.figures
            let feedback = state.session.feedback
            figures.roundTripTime = feedback.roundTrip ?? .zero
            figures.packetsLost = feedback.requested
            figures.packetsCarried = feedback.carrying
            figures.isConnected = true
            return figures
        }
    }
}
