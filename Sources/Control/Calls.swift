import Endpoint
import Media
import WorkerProtocol

/// Where a stream receives or sends WebRTC calls.
public struct CallPlace: Sendable {
    /// The stream that has it.
    public var stream: String
    /// What peers have to know: one of these; nil where the service's own token counts.
    public var tokens: [Secret]?

    public init(stream: String, tokens: [Secret]? = nil) {
        self.stream = stream
        self.tokens = tokens
    }
}

/// A peer's offer.
public struct PeerOffer: Sendable {
    /// The session description (SDP), at most `Calls.largestDescription` bytes.
    public var description: String
    /// The peer's ICE user name fragment, by which a later fragment of its candidates is told from a restart.
    public var userFragment: String
    /// A peer that publishes takes the place of one who is still heard.
    public var takesOver: Bool
    /// The token that the peer has shown; nil where it showed none.
    public var token: String?
    /// What a viewer asks for; nil for what their link carries.
    public var layer: ViewerLayer?
    /// The one that a viewer's program shows; nil for any.
    public var profile: ViewerProfile?

    public init(
        description: String, userFragment: String, takesOver: Bool = false, token: String? = nil, layer: ViewerLayer? = nil,
        profile: ViewerProfile? = nil
    ) {
        self.token = token
        self.description = description
        self.userFragment = userFragment
        self.takesOver = takesOver
        (self.layer, self.profile) = (layer, profile)
    }
}

/// A call that a worker has answered.
public struct PresentCall: Sendable {
    /// 32 hexadecimal digits that nobody can guess. Who knows them may end the call.
    public var id: String
    /// The answer (SDP) to whoever offered the call; empty afterwards, because nobody asks for it again.
    public var answer: String
    public var userFragment: String
    /// How often its ICE session has begun anew.
    public var restarts: Int

    public init(id: String, answer: String = "", userFragment: String, restarts: Int = 0) {
        self.id = id
        self.answer = answer
        self.userFragment = userFragment
        self.restarts = restarts
    }
}

extension ServiceFault {
    init(_ refusal: CallRefusal) {
        let kind: Kind =
            switch refusal.kind {
            case .malformed: .malformed
            case .unacceptable: .unacceptable
            case .occupied: .exists
            case .noRoom: .noRoom
            case .unavailable: .unavailable
            case .over: .notFound
            }
        self.init(kind, Supervisor.line(refusal.text))
    }
}
