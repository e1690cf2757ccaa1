import Endpoint

/// What keeps a leg from its peer at present. It is over with the next connection.
public struct LegTrouble: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The name of the host that the leg calls has no address.
        case unresolvable
        /// Nobody answers there.
        case unreachable
        /// The peer that the leg calls answered and said no.
        case refused
        /// The leg listens, and has refused the last caller.
        case callerRefused
        /// A source is there, and nothing of it can be relayed.
        case unusable
        /// A file or pipe that cannot be written any more.
        case broken
    }

    public var kind: Kind
    /// One line, without secrets.
    public var text: String

    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    /// Why a call did not come about.
    package init(_ error: TransportError) {
        let kind: Kind =
            switch error.code {
            case .unresolvable: .unresolvable
            case .refused: .refused
            case .inaccessible: .broken
            case .badURL, .cannotBind, .unreachable, .system: .unreachable
            }
        self.init(kind, error.description)
    }
}
