/// What a worker tells the supervisor. Bounded like ``SupervisorMessage``. The supervisor trusts no field of it.
public enum WorkerMessage: ChannelMessage {
    /// The first message.
    case hello(version: Int)
    /// A stream's ends are open, on these ports (0 where an end has none of its own).
    case started(stream: String, inputPort: UInt16, outputPorts: [UInt16])
    /// A stream has ended or could not start. `code` is an exit code of sysexits; 0 is the end of a file or a stop.
    case ended(stream: String, code: Int32, reason: String)
    /// The settings of ``SupervisorMessage/change(id:stream:settings:)`` hold from the next frame on, or why they do not.
    case changed(id: UInt64, fault: String?)
    /// A line for the log and the event list.
    case event(stream: String, StreamEvent)
    /// What keeps the stream's ends from their peers now: all of it, at most ``StreamTrouble/most``. Comes a second after
    /// `started`, and whenever it has changed, at most once a second.
    case troubles(stream: String, [StreamTrouble])
    /// What the stream's input is like: all of it. Comes whenever it has changed, at most once a second.
    case described(stream: String, StreamDescription)
    case resolve(id: UInt64, host: String, port: UInt16)
    /// The picture's JPEG has so many bytes in the descriptor that came with the request; 0 and a reason where there will be none, and 0
    /// alone where there is none now.
    case picture(id: UInt64, byteCount: Int, fault: String?)
    /// The still has so many bytes in the descriptor that came with the request.
    case still(id: UInt64, byteCount: Int, frame: UInt64)
    /// A clip is being cut. It begins so many seconds later than asked, since the past goes back no further.
    case clipBegun(id: UInt64, late: Double = 0)
    /// A clip is in its file.
    case clip(id: UInt64, byteCount: Int64, pictures: Int, seconds: Double)
    /// There is no such still or clip.
    case refusedPast(id: UInt64, PastRefusal)
    /// Open the next file of the stream's recording, and answer with ``SupervisorMessage/recording(id:stream:path:fault:)``.
    case wantsRecording(id: UInt64, stream: String)
    /// The stages whose loops have not turned for longer than their limit, as `stream/stage`; empty when all turn.
    case alive(id: UInt64, stalled: [String])
    /// Present connections of a stream, at most ``Caller/most``. More follow where this is not the last part.
    case callers(id: UInt64, [Caller], isLast: Bool)
    /// A call has begun, or its ICE session anew: the answer to ``SupervisorMessage/offer(id:stream:side:description:)`` (SDP) or
    /// ``SupervisorMessage/restartCall(id:call:userFragment:password:)`` (a fragment).
    case answered(id: UInt64, description: String)
    /// There is no such call.
    case refusedCall(id: UInt64, CallRefusal)
    /// A call that was answered is over.
    case endedCall(id: UInt64)

    public var isExpendable: Bool {
        switch self {
        case .event, .troubles, .described, .picture, .still, .refusedPast, .callers, .refusedCall, .wantsRecording: true
        default: false
        }
    }
}

/// Something that happened to a stream.
public struct StreamEvent: Codable, Hashable, Sendable {
    /// A closed list: operators filter by it.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case inputUp, inputDown, inputRefused, inputGap, outputUp, outputDown, outputRefused
        case picture, rung, settings, recording, recordingFailed, message
        case reaction
    }

    public var kind: Kind
    /// One line, without secrets.
    public var text: String
    /// Part of normal use, such as a viewer who leaves: nobody needs to be warned.
    public var isUsual: Bool

    public init(_ kind: Kind, _ text: String, isUsual: Bool = false) {
        self.kind = kind
        self.text = text
        self.isUsual = isUsual
    }
}
