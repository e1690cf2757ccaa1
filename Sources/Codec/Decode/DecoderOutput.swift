/// What is known of an access unit that goes into a decoder.
public struct UnitFlags: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Bytes of the unit itself are missing or wrong.
    public static let isDamaged = UnitFlags(rawValue: 1)
    /// Whole units may be missing before it.
    public static let followsGap = UnitFlags(rawValue: 2)
}

/// What became of an access unit. Every unit that goes into a decoder yields exactly one of these.
public enum DecoderOutput: ~Copyable {
    case picture(DecodedPicture)
    case noPicture(id: Int64, CodecFault)
}
