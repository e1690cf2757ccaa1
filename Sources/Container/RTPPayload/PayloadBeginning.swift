/// What an RTP payload begins with, as far as it shows where pictures begin and end.
enum PayloadBeginning: Hashable {
    /// A picture: its first slice, or the first part of a frame.
    case picture
    /// What can only stand before a picture: parameter sets, messages, delimiters.
    case head
    /// A later slice of a picture. It begins at this macroblock (`first_mb_in_slice`).
    case slice(Int)
    /// A later part of what has begun.
    case part
    /// What may stand behind a picture: filler, the end of a sequence.
    case tail
    /// Bytes that belong to nothing.
    case nothing
}

/// What became of an RTP payload.
struct PayloadOutcome: Hashable {
    /// It belongs to a NAL unit or a frame that lacks an earlier or a later part.
    var isBroken = false
    /// The unit would be larger than the limit.
    var isOversized = false
    /// It holds bytes that belong to nothing. They were skipped.
    var hasStrayBytes = false

    mutating func add(_ other: PayloadOutcome) {
        isBroken = isBroken || other.isBroken
        isOversized = isOversized || other.isOversized
        hasStrayBytes = hasStrayBytes || other.hasStrayBytes
    }
}
