import Endpoint
import Media
import RoomLinks
import Telemetry
import WorkerProtocol

/// What the HTTP interface, and whoever else controls the service, may ask of it. The supervisor implements it; tests of the
/// interface have one that is made up.
///
/// Every call may come from any task. Names are checked by the service.
public protocol StreamService: Sendable {
    func streams() async -> [StreamStatus]
    func stream(_ name: String) async throws(ServiceFault) -> StreamStatus
    /// Adds a stream. Where there is a state directory it survives restarts of the service (``StreamStatus/kept``); the
    /// configuration file is not written.
    func add(_ name: String, _ values: [String: String]) async throws(ServiceFault) -> StreamStatus
    /// Changes what may change while a stream runs, or restarts it with another value of what may not (`restarting`).
    func change(_ name: String, _ values: [String: String?], restarting: Bool) async throws(ServiceFault) -> StreamStatus
    func remove(_ name: String) async throws(ServiceFault)
    func restart(_ name: String) async throws(ServiceFault)
    /// Stops a stream until somebody restarts it.
    func stop(_ name: String) async throws(ServiceFault) -> StreamStatus
    func callers(of name: String) async throws(ServiceFault) -> [CallerStatus]
    func kick(_ caller: UInt64, of name: String) async throws(ServiceFault)
    /// A copy of what the stream's telemetry map says now; nil while it has none.
    func snapshot(of name: String) async throws(ServiceFault) -> StreamSnapshot?
    /// The last frame records, oldest first.
    func records(of name: String, last seconds: Double) async throws(ServiceFault) -> [ClosedFrame]
    /// The stream's last hour, a sample each ten seconds, oldest first.
    func history(of name: String, last seconds: Double) async throws(ServiceFault) -> [HistorySample]
    /// A JPEG of the next picture; nil where there is none now: the stream does not flow, or nobody receives its output.
    func picture(of name: String, side: PictureSide, width: Int) async throws(ServiceFault) -> [UInt8]?
    /// A still of the stream's past. It costs the stream next to nothing.
    func still(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Still
    /// Makes a still of the stream's past, and keeps it in a file.
    func makeStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture
    /// Makes a proxy of a still at once, and a better one when there is time. What that takes is on the disk when this returns.
    func makeBestStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture
    /// The best there is of a still that was made, as a file; also after a restart of the service.
    /// - Parameter wait: how long to wait for the final one, where it is to come.
    func bestStill(
        _ number: Int, of name: String, wait: Nanoseconds
    ) async throws(ServiceFault) -> (still: Still, isProxy: Bool)
    /// What waits to be made well, in the order in which it is made.
    func deferred(of name: String) async throws(ServiceFault) -> [DeferredCapture]
    /// Whether stills and clips can be made now.
    func readiness(of name: String) async throws(ServiceFault) -> CaptureReadiness
    /// Begins to cut a clip of what the stream has sent, between two times of the machine's clock.
    func makeClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture
    /// Keeps what makes a clip anew, as well as it can be, when there is time. What has come already is on the disk when this returns.
    func makeBestClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture
    /// What has become of a clip; also after a restart of the service.
    func clip(_ number: Int, of name: String) async throws(ServiceFault) -> Capture
    /// Lets a reaction fly over the stream's pictures.
    func react(_ kind: Reaction.Kind, x: Double, y: Double, seconds: Double, to name: String) async throws(ServiceFault)
    /// The reactions that run.
    func reactions(of name: String) async throws(ServiceFault) -> [RunningReaction]
    /// The events since `number` that are still kept, then those to come. Ends when the service ends.
    func events(since number: UInt64) async -> AsyncStream<ServiceEvent>
    /// The stream that receives (`publish`) or sends (`play`) calls under a name; nil where none does.
    func callPlace(_ name: String, _ side: CallSide) async -> CallPlace?
    /// Has the stream's worker answer a peer's offer.
    func call(_ name: String, _ side: CallSide, _ offer: PeerOffer) async throws(ServiceFault) -> PresentCall
    /// A call that goes on.
    func call(_ id: String, of name: String, _ side: CallSide) async -> PresentCall?
    /// Begins the ICE session of a call anew, with the peer's new names.
    /// - Returns: the call, whose answer is a fragment (RFC 8840).
    func restartCall(
        _ id: String, of name: String, _ side: CallSide, userFragment: String, password: String
    ) async throws(ServiceFault) -> PresentCall
    /// Gives a viewer another layer from now on; nil is the one that their link carries.
    func choose(_ layer: ViewerLayer?, ofCall id: String, of name: String) async throws(ServiceFault)
    /// Ends a call.
    func hangUp(_ id: String, of name: String, _ side: CallSide) async throws(ServiceFault)
    /// Keeps what a viewer says of its own picture: how often it has stood still so far (``CallerStatus/freezes``).
    func keep(freezes: Int, ofCall id: String, of name: String) async throws(ServiceFault)
    /// All rooms, with who is in them.
    func rooms() async -> [RoomStatus]
    /// Makes a room, which ends by itself.
    func makeRoom(_ room: NewRoom) async throws(ServiceFault) -> RoomStatus
    /// Ends a room that was made, and the calls in it.
    func endRoom(_ name: String) async throws(ServiceFault)
    /// What a room's links are signed with; nil where there is no such room.
    func roomKey(_ name: String) async -> Secret?
    /// Lets somebody into a room, by a link whose signature has been checked.
    /// - Parameter name: what the guest wants to be called, where the link has no name.
    func enter(_ link: RoomLink, as name: String) async throws(ServiceFault) -> RoomEntry
    /// The guests of a room for one of them, who is heard of by this.
    func guests(of room: String, pass: String) async throws(ServiceFault) -> (seat: Int, guests: [RoomGuest])
    /// Ends a guest's stay. The host may end another's, whose link is then refused until the room is empty.
    func leave(_ seat: Int, of room: String, pass: String) async throws(ServiceFault)
    func health() async -> ServiceHealth
    /// Returns when the service does: costs it next to nothing.
    func answer() async
    /// Reads the configuration again and applies the difference.
    func reload() async throws(ServiceFault)
}

/// Why a request cannot be met.
public struct ServiceFault: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case notFound, exists, invalid, refused, unavailable, noRoom
        /// It cannot be done as things are.
        case conflict
        /// An offer that is no session description, or one that cannot be answered.
        case malformed, unacceptable
        /// Whoever asks has to show something else, or come by a link again.
        case unauthorised
    }

    public var kind: Kind
    /// The setting that is meant; nil where it is none.
    public var key: String?
    /// One sentence that says what is wrong and what to do.
    public var text: String

    public init(_ kind: Kind, key: String? = nil, _ text: String) {
        self.kind = kind
        self.key = key
        self.text = text
    }
}

/// A reaction over a stream's pictures.
public struct RunningReaction: Hashable, Sendable {
    public var kind: Reaction.Kind
    /// As shares of the picture's width and height.
    public var x: Double
    public var y: Double
    public var ends: MonotonicTime

    public init(kind: Reaction.Kind, x: Double, y: Double, ends: MonotonicTime) {
        (self.kind, self.x, self.y, self.ends) = (kind, x, y, ends)
    }
}

/// A still or a clip on the disk.
public struct Capture: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable { case still, clip }
    public enum State: String, Sendable, CaseIterable { case pending, ready, failed }

    /// Counts the stream's captures of its kind, over restarts of the service.
    public var number: Int
    public var kind: Kind
    public var state: State
    /// The file, once it is ready.
    public var path: String
    public var bytes: Int64 = 0
    /// From the first picture to the last; nil where that is not known.
    public var seconds: Double?
    public var pictures: Int?
    /// The number of a still's frame; nil where that is not known.
    public var frame: UInt64?
    /// Why it has failed.
    public var reason = ""
    /// How many seconds later than asked a clip begins, as the past went back no further; nil where it does not, and once it is ready.
    public var late: Double?

    public init(_ kind: Kind, number: Int, path: String, state: State) {
        (self.kind, self.number, self.path, self.state) = (kind, number, path, state)
    }
}

/// A picture of a stream's past, as a file.
public struct Still: Sendable {
    public var bytes: [UInt8]
    /// The number of its frame in records and traces; nil where that is not known any more.
    public var frame: UInt64?

    public init(bytes: [UInt8], frame: UInt64?) { (self.bytes, self.frame) = (bytes, frame) }
}

/// A stream as the API shows it. Secrets are left out.
public struct StreamStatus: Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// Its worker is being started, or waits to be.
        case starting
        /// No source has come yet, or it has gone.
        case waiting
        case flowing
        /// Its worker ended and is replaced after a pause.
        case backingOff
        /// Admission refused it, or it failed for good.
        case stopped
    }

    public var name: String
    public var state: State
    /// Why it is in its state; empty where that is plain.
    public var reason = ""
    /// Without secrets, and with the ports that were really bound.
    public var input: String
    public var outputs: [String]
    /// All settings, as text with units.
    public var settings: [String: String]
    /// Its ends as values, the input first; those whose ports are not known yet are left out.
    public var ends: [End] = []
    /// The configuration file names it.
    public var isFromFile = false
    /// The file that keeps it over restarts of the service; nil where none does.
    public var kept: String?
    /// What the input is like; nil while that is not known.
    public var description: StreamDescription?
    /// Bits and frames a second that come in, over the last seconds; nil without a source.
    public var bitRateIn: Double?
    public var frameRateIn: Double?
    /// Bits a second that go out at each output, to all its receivers.
    public var bitRatesOut: [Double?] = []
    public var process: Int32?
    public var restarts = 0
    public var startedAt: MonotonicTime?

    /// One end of a stream: its URL without secrets and with the port that was really bound, and which secrets it has.
    public struct End: Hashable, Sendable {
        public var isInput: Bool
        public var url: StreamURL
        public var hasPassphrase: Bool
        public var hasStreamID: Bool
        /// Calls: the stream has a token of its own.
        public var hasToken: Bool

        public init(
            isInput: Bool, _ url: StreamURL, hasPassphrase: Bool = false, hasStreamID: Bool = false, hasToken: Bool = false
        ) {
            self.isInput = isInput
            self.url = url
            self.hasPassphrase = hasPassphrase
            self.hasStreamID = hasStreamID
            self.hasToken = hasToken
        }
    }

    public init(name: String, state: State, input: String, outputs: [String], settings: [String: String]) {
        self.name = name
        self.state = state
        self.input = input
        self.outputs = outputs
        self.settings = settings
    }
}

/// One connection of a stream's end: an SRT peer, a publisher or a viewer of a call.
public struct CallerStatus: Sendable {
    public var id: UInt64
    /// `input` or `output`.
    public var leg: String
    /// `srt`, `whip` or `whep`.
    public var transport: String
    public var peer: String
    public var streamID: String
    public var figures: LegFigures
    public var connectedAt: MonotonicTime?
    /// The same in seconds since 1970.
    public var since: Double?
    /// Bits a second, and the share of packets that were lost (0…1), over the last seconds; nil while that is not known.
    public var bitRate: Double?
    public var loss: Double?
    /// What a viewer of a call gets, and how many bits a second their link carries, as far as is known; nil for others.
    public var layer: ViewerLayer?
    public var capacity: Double?
    /// How often its picture has stood still, as a call's viewer says; nil where it does not.
    public var freezes: Int?

    public init(
        id: UInt64, leg: String, transport: String = "srt", peer: String, streamID: String, figures: LegFigures
    ) {
        self.id = id
        self.leg = leg
        self.transport = transport
        self.peer = peer
        self.streamID = streamID
        self.figures = figures
    }
}

/// An event of a stream or, where `stream` is nil, of the service itself.
public struct ServiceEvent: Sendable {
    /// Counts all events since the service began.
    public var number: UInt64
    /// Seconds since 1970.
    public var time: Double
    public var stream: String?
    public var kind: String
    public var text: String

    public init(number: UInt64, time: Double, stream: String?, kind: String, text: String) {
        self.number = number
        self.time = time
        self.stream = stream
        self.kind = kind
        self.text = text
    }
}

/// The service as a whole.
public struct ServiceHealth: Sendable {
    /// A line of `/readyz?verbose`.
    public struct Check: Hashable, Sendable {
        public var name: String
        public var isGood: Bool
        /// Why; one line.
        public var text: String
        /// Whether the service is ready only while this is good. Streams that the API made do not count.
        public var counts: Bool

        public init(_ name: String, isGood: Bool, _ text: String, counts: Bool = true) {
            self.name = name
            self.isGood = isGood
            self.text = text
            self.counts = counts
        }
    }

    public var checks: [Check] = []
    /// The outcome of the last reload; true before the first.
    public var lastReloadWasGood = true
    public var lastReload: Double = 0
    /// What the machine has, and what the streams need and use of it, in cores.
    public var cores = 0.0
    public var coresNeeded = 0.0
    public var coresUsed = 0.0
    public var deferred = DeferredFigures()
    public var rooms: [RoomStatus] = []

    public init() {}
    public var isReady: Bool { checks.allSatisfy { $0.isGood || !$0.counts } }
}
