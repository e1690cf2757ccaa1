import Media

/// A picture of a running stream, for people to see.
public struct StreamPicture: Sendable {
    /// Which picture of a frame.
    public enum Side: String, CaseIterable, Sendable {
        /// As it came in.
        case before
        /// As it goes out.
        case after
    }

    /// A JFIF file.
    public let jpeg: [UInt8]
    public let size: PictureSize
    /// The number of its frame. Pictures of both sides with the same number are of the same frame.
    public let frame: UInt64
}

/// Why there is no picture: one line.
public struct PictureFault: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// There is none now, and there may be one at any time.
    public var mayPass: Bool { [Self.timeout, .notEnhanced, .busy, .ended].contains(self) }

    static let timeout = PictureFault(description: "no picture has come within two seconds")
    static let notEnhanced = PictureFault(description: "nobody receives the output, so its pictures are not made")
    static let busy = PictureFault(description: "such a picture is on its way already")
    static let ended = PictureFault(description: "the stream has ended")
}
