import Codec
import Transport

/// What a stream cannot live with.
public enum RelayError: Error, Sendable {
    case transport(TransportError)
    case codec(CodecError)
    /// The input has no video that can be relayed.
    case input(String)
}

extension RelayError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .transport(let error): error.description
        case .codec(let error): error.description
        case .input(let text): text
        }
    }
}

/// The end of a relay that could not go on. What it had done until then is told all the same.
public struct RelayFailure: Error, Sendable {
    public var reason: RelayError
    /// Nil where it never began to run.
    public var report: RelayReport?

    init(_ reason: RelayError, _ report: RelayReport? = nil) {
        self.reason = reason
        self.report = report
    }
}

extension RelayFailure: CustomStringConvertible {
    public var description: String { reason.description }
}
