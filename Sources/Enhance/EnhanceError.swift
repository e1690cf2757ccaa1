/// Why a processor refuses a call, and what to do about it.
public struct EnhanceError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The size or scale factor is outside of what the processor supports.
        case unsupportedSize
        /// A buffer's size is not the one that the session was configured for.
        case sizeMismatch
        /// The grid does not have this tile.
        case noSuchTile
        /// The configuration has no network for this tier.
        case tierNotConfigured
        /// The weights cannot be used: they are truncated, damaged, of another version, or of another shape.
        case badWeights
        /// The caller asked for a picture before it had pushed the pictures that it is made from.
        case missingPicture
        /// The caller pushed a picture while finished ones wait to be taken.
        case tooManyPictures
        /// A parameter is outside of its range.
        case badParameter
        /// The session was cancelled.
        case cancelled
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
