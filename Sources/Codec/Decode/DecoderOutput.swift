/// What is known of an access unit that goes into a decoder.
public struct UnitFlags: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Bytes of the unit itself are missing or wrong.
    public static let isDamaged = UnitFlags(rawValue: 1)
    /// Whole units may be missing before it.
    public static let followsGap = UnitFlags(rawValue: 2)
}

/// Why no picture came of an access unit.
public enum UnresolvedReason: Hashable, Sendable, BitwiseCopyable {
    /// It precedes the first keyframe, or the first after a flush.
    case awaitingKeyframe
    /// libavcodec could make no picture of it, or dropped it as out of order.
    case decodeError
    /// It is the second field of a picture, which came out with the unit before.
    case joined
    /// No other picture refers to it, and the decoder was told to leave such ones out.
    case skipped
    /// The decoder was flushed while it was inside.
    case flushed
}

/// Every unit that goes into a decoder yields exactly one of these: add them up and the books balance.
public enum DecoderOutput: ~Copyable {
    case picture(DecodedPicture)
    case noPicture(id: Int64, reason: UnresolvedReason)
}
