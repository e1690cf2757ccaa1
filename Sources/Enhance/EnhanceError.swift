/// What a processor cannot do, with what to do about it.
public struct EnhanceError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The size or scale factor is outside of what the processor supports.
        case unsupportedSize
        /// A buffer's size is not the one that the session was configured for.
        case sizeMismatch
        /// A tile that the grid does not have.
        case noSuchTile
        /// A tier without a network in the configuration.
        case tierNotConfigured
        /// Weights that cannot be used: truncated, damaged, of another version, or of another shape.
        case badWeights
        /// A picture was asked for before those it is made from had been given.
        case missingPicture
        /// A parameter outside of its range.
        case badParameter
    }

    public let code: Code
    /// One line: what, where, and what to do.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
