/// Why an endpoint cannot be opened, or a message to it cannot be handed over. One line, safe to log: it never holds a
/// passphrase.
public struct TransportError: Error, Hashable, Sendable {
    public enum Code: Hashable, Sendable {
        /// The URL does not say what it must, or says what it must not (exit code 64).
        case badURL
        /// The host has no address.
        case unresolvable
        /// The local address or port cannot be used.
        case cannotBind
        /// Nobody answers there.
        case unreachable
        /// The peer answered and said no: a wrong passphrase, most often.
        case refused
        /// The file or pipe cannot be opened or read.
        case inaccessible
        /// The library or the kernel failed in a way that we have no better name for.
        case system
    }

    public let code: Code
    /// The endpoint, without its secrets.
    public let place: String
    /// What is wrong and what to do about it.
    public let message: String

    public init(_ code: Code, place: String, _ message: String) {
        self.code = code
        self.place = place
        self.message = message
    }
}

extension TransportError: CustomStringConvertible {
    public var description: String { "\(place): \(message)" }
}
