import Media

/// What is recorded of what a stream sends, into which files.
public struct RecordSettings: Hashable, Sendable {
    /// Nil records nothing.
    public var pattern: RecordPattern?
    /// A file that has so much ends at the next keyframe.
    public var every = Nanoseconds.seconds(3600)
    /// In bytes; nil: as large as it gets.
    public var size: Int64?
    /// Older recordings are deleted; nil keeps them.
    public var keep: Nanoseconds?
    /// The oldest are deleted while they take more together, in bytes; nil keeps them.
    public var keepSize: Int64?

    public init() {}

    /// Whether other files are to be written than with another value.
    public func needsNewFile(after former: RecordSettings) -> Bool { pattern != former.pattern }
}

/// A size on a disk as text: `500MB`, `2GB`, `1.5TB`.
public enum FileSizeText {
    static let range: ClosedRange<Int64> = 1_000_000...100_000_000_000_000

    /// Reads 1 MB to 100 TB.
    public static func read(_ text: String) -> Int64? {
        for (unit, scale) in [("MB", 1e6), ("GB", 1e9), ("TB", 1e12)] where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), (1e6...1e14).contains(number * scale) else { return nil }
            return Int64((number * scale).rounded())
        }
        return nil
    }

    /// Writes a size so that ``read(_:)`` gives it again.
    public static func write(_ bytes: Int64) -> String {
        for (unit, scale) in [("TB", Int64(1_000_000_000_000)), ("GB", 1_000_000_000), ("MB", 1_000_000)]
        where bytes % scale == 0 { return "\(bytes / scale)\(unit)" }
        return MemoryText.write(Int(bytes))
    }
}

/// A long time as text: `7d`, `12h`, `90m`, or as ``TimeText`` has it.
public enum LongTimeText {
    /// Reads a time of at most ten years, not negative.
    public static func read(_ text: String) -> Nanoseconds? {
        guard text.hasSuffix("d") else { return TimeText.read(text) }
        guard let days = Double(text.dropLast()), (0...3650).contains(days) else { return nil }
        return .seconds((days * 86_400).rounded())
    }

    /// Writes a time so that ``read(_:)`` gives it again.
    public static func write(_ time: Nanoseconds) -> String {
        for (unit, seconds) in [("d", Int64(86_400)), ("h", 3600), ("m", 60)]
        where time.count > 0 && time.count % (seconds * 1_000_000_000) == 0 {
            return "\(time.count / (seconds * 1_000_000_000))\(unit)"
        }
        return TimeText.write(time)
    }
}
