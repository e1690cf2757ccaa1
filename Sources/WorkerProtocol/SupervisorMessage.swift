import Media

/// What the supervisor tells a worker. Each message is one packet on the socket pair: JSON of at most
/// ``MessageCoding/largestMessage`` bytes, and at most ``MessageCoding/mostDescriptors`` descriptors beside it.
public enum SupervisorMessage: ChannelMessage {
    /// The first message. A worker of another version ends with exit code 70.
    case hello(version: Int)
    /// Start a stream. Descriptors: its telemetry map, then the files that its URLs name, inputs first, and for the first
    /// URL of calls that has `tcp=` a listening socket; of session
    /// descriptions those that are written. Last those of all files that its settings name (tables, images, fonts).
    case start(WorkerAssignment)
    /// Change settings between two frames; text as in ``WorkerAssignment/settings``, only what changes. A value of nil returns
    /// to the default. Descriptors: where the setting of a file changes, those of all files that the new settings name.
    case change(id: UInt64, stream: String, settings: [String: String?])
    /// End a stream cleanly: what has arrived is still sent.
    case stop(stream: String)
    /// End one connection. The leg goes on: a listener listens, a caller calls again.
    case kick(stream: String, caller: UInt64, seconds: Double)
    /// List the present connections of all ends.
    case listCallers(id: UInt64, stream: String)
    /// The answer to ``WorkerMessage/resolve(id:host:port:)``: addresses as text (`192.0.2.1`, `2001:db8::1`), none when there
    /// are none, with the reason.
    case resolved(id: UInt64, addresses: [String], fault: String?)
    /// Encode the next picture as JPEG into the descriptor beside it (a sealed memory file), at most `width` pixels wide.
    case showPicture(id: UInt64, stream: String, side: PictureSide, width: Int)
    /// Write a still of the past into the descriptor beside it (a sealed memory file), at most `width` pixels wide. The answer is
    /// ``WorkerMessage/still(id:byteCount:frame:)`` or ``WorkerMessage/refusedPast(id:_:)``. With `keepsUnits`, what makes the picture
    /// anew is in a second descriptor's file before the answer.
    case showPast(
        id: UInt64, stream: String, side: PictureSide, place: StillPlace, format: StillFormat, width: Int, keepsUnits: Bool)
    /// Cut a clip of what has gone out, between two times of the machine's monotonic clock in nanoseconds, into the file whose descriptor
    /// goes with it. The answers are ``WorkerMessage/refusedPast(id:_:)``, or ``WorkerMessage/clipBegun(id:)`` and then
    /// ``WorkerMessage/clip(id:byteCount:pictures:seconds:)`` or the refusal.
    /// With `ofInput` it is of what came in, with sound as it went out: a transport stream of which a better clip is made later.
    case cutClip(id: UInt64, stream: String, from: Int64, to: Int64, format: ClipFormat, ofInput: Bool)
    /// Let a reaction fly over the stream's pictures from now on. The answer is ``WorkerMessage/changed(id:fault:)``.
    case react(id: UInt64, stream: String, StreamReaction)
    /// The answer to ``WorkerMessage/wantsRecording(id:stream:)``: the path of a file, whose descriptor is beside it, or why there is none.
    case recording(id: UInt64, stream: String, path: String, fault: String?)
    /// The processor cores that a stream may count on: for all work on originals, for optional work, and for originals when its
    /// output becomes larger.
    case share(stream: String, dealt: Double, optional: Double, room: Double)
    /// Answer a peer's offer (SDP), with ``WorkerMessage/answered(id:description:)`` or ``WorkerMessage/refusedCall(id:_:)``. The
    /// call has the number `id` from then on.
    /// A peer that publishes takes the place of one who is still heard where `takesOver` is set.
    /// A viewer may ask for a `layer`; nil is the one that their link carries. So may one whose program shows a `profile` alone.
    case offer(
        id: UInt64, stream: String, side: CallSide, description: String, takesOver: Bool = false, layer: ViewerLayer? = nil,
        profile: ViewerProfile? = nil)
    /// Restart a call's ICE session with its peer's new names, and answer like an offer: with a fragment (RFC 8840). The call goes on
    /// where it is until the peer has moved.
    case restartCall(id: UInt64, call: UInt64, userFragment: String, password: String)
    /// Give a viewer another layer from now on; nil is the one that their link carries. A call that has ended already is no fault.
    case chooseLayer(call: UInt64, layer: ViewerLayer? = nil)
    /// End a call. One that has ended already is no fault.
    case hangUp(id: UInt64)
    /// Turn the loops once and answer with ``WorkerMessage/alive(id:stalled:)``.
    case ping(id: UInt64)
    /// End all streams cleanly, then the process.
    case end

    /// The next share replaces a lost one, and who asks for a picture or offers a call waits for a limited time anyway.
    public var isExpendable: Bool {
        switch self {
        case .share, .showPicture, .showPast, .cutClip, .listCallers, .offer, .restartCall, .recording: true
        default: false
        }
    }
}

/// A reaction that somebody asked for, as `Media` describes it.
public struct StreamReaction: Codable, Hashable, Sendable {
    public var kind: String
    public var x: Double
    public var y: Double
    public var seconds: Double

    public init(kind: String, x: Double, y: Double, seconds: Double) {
        (self.kind, self.x, self.y, self.seconds) = (kind, x, y, seconds)
    }
}

/// Which picture of a stream is meant: as it came in, or as it goes out.
public enum PictureSide: String, Codable, Hashable, Sendable, CaseIterable { case before, after }
