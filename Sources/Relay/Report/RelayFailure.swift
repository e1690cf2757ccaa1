import Codec
import Endpoint

/// An error that ends a stream.
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

/// A relay that ended with an error, and the report up to then.
public struct RelayFailure: Error, Sendable {
    public var reason: RelayError
    /// Nil when the relay did not begin to run.
    public var report: RelayReport?

    init(_ reason: RelayError, _ report: RelayReport? = nil) {
        self.reason = reason
        self.report = report
    }
}

extension RelayFailure: CustomStringConvertible {
    public var description: String { reason.description }
}
