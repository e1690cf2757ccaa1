/// Which picture of a stream's past is meant.
public enum StillPlace: Codable, Hashable, Sendable {
    /// The one that was shown then: nanoseconds of the machine's monotonic clock.
    case time(Int64)
    /// The number of its frame in records and traces.
    case frame(UInt64)
    /// Its RTP time stamp: as it came, or as a viewer got it.
    case rtp(UInt32)
    /// The best of those from then on: nanoseconds of the machine's monotonic clock.
    case best(since: Int64)
}

/// How a still is written.
public enum StillFormat: String, Codable, Hashable, Sendable, CaseIterable { case jpeg, png }

/// How a clip is written.
public enum ClipFormat: String, Codable, Hashable, Sendable, CaseIterable { case ts, mp4 }

/// Why something of a stream's past cannot be had.
public struct PastRefusal: Codable, Hashable, Sendable, Error {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// There is no such picture.
        case missing
        /// It cannot be had as things are.
        case conflict
        /// It may be had later.
        case busy
    }

    public var kind: Kind
    /// One line that says what to do.
    public var text: String

    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
