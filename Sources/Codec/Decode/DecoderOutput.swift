/// What is known of an access unit that goes into a decoder.
public struct UnitFlags: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Bytes of the unit itself are missing or wrong.
    public static let isDamaged = UnitFlags(rawValue: 1)
    /// Whole units may be missing before it.
    public static let followsGap = UnitFlags(rawValue: 2)

    /// So many pictures (0…16) are to be held back to put them in order, as far as the unit's time stamps show: for streams whose
    /// headers do not say it.
    public static func reordering(_ pictures: Int) -> UnitFlags { UnitFlags(rawValue: UInt8(min(max(pictures, 0), 16)) << 2) }
    var reordering: Int { Int(rawValue >> 2) }
}

/// What became of an access unit. Every unit that goes into a decoder yields exactly one of these.
public enum DecoderOutput: ~Copyable {
    case picture(DecodedPicture)
    case noPicture(id: Int64, CodecFault)
}
