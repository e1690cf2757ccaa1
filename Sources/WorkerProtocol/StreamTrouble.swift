/// What keeps an end of a stream from its peer at present, or its peer's stream from being relayed.
public struct StreamTrouble: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// The name of the host that the stream calls has no address.
        case unresolvable
        /// Nobody answers there.
        case unreachable
        /// The peer that the stream calls answered and said no.
        case refused
        /// The stream listens, and has refused the last caller.
        case callerRefused
        /// A source is there, and nothing of it can be relayed.
        case unusable
        /// A file or pipe that cannot be written any more.
        case broken
    }

    /// The most that a stream has: one for each of its ends.
    public static let most = 16

    /// The output's place in the configuration; nil for the input.
    public var output: Int?
    public var kind: Kind
    /// One line, without secrets.
    public var text: String

    public init(output: Int?, _ kind: Kind, _ text: String) {
        self.output = output
        self.kind = kind
        self.text = text
    }
}
