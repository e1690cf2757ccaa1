/// A still or a clip, as the service tells `burnish still` and `burnish clip` of it.
public struct CapturedFile: Codable, Hashable, Sendable {
    public var stream: String
    /// `still` or `clip`.
    public var kind: String
    public var number: Int
    /// `pending`, `ready` or `failed`.
    public var state: String
    public var file: String
    public var bytes: Int64
    /// The number of a still's frame.
    public var frame: UInt64?
    /// How many seconds later than asked a clip begins.
    public var late: Double?
    /// Why it has failed.
    public var reason: String

    public init(
        stream: String, kind: String, number: Int, state: String, file: String, bytes: Int64, frame: UInt64?, late: Double?,
        reason: String
    ) {
        (self.stream, self.kind, self.number, self.state, self.file) = (stream, kind, number, state, file)
        (self.bytes, self.frame, self.late, self.reason) = (bytes, frame, late, reason)
    }
}
