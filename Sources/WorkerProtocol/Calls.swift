/// Which way a call's pictures go.
public enum CallSide: String, Codable, Hashable, Sendable, CaseIterable {
    /// The peer sends (WHIP).
    case publish
    /// The peer receives (WHEP).
    case play
}

/// Limits of what goes over the channel for a call.
public enum Calls {
    /// The most bytes of an offer or an answer. As JSON, where line ends and quotes double, it still is one message.
    public static let largestDescription = 24 * 1024
}

/// Why a worker does not answer an offer.
public struct CallRefusal: Error, Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// The offer is no session description.
        case malformed
        /// It is one, and nothing in it can be answered: no codec that both know, no fingerprint.
        case unacceptable
        /// Another peer publishes already.
        case occupied
        /// As many peers watch as may.
        case noRoom
        /// There is nothing to watch yet, or the stream does not run.
        case unavailable
        /// The call that is meant is over.
        case over
    }

    public var kind: Kind
    /// One line that says what to do.
    public var text: String

    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
