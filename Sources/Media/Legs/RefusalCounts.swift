/// Why a caller of a listening SRT port was refused. A closed list: each has a counter (``RefusalCounts``).
public enum RefusalReason: String, Hashable, Sendable, CaseIterable {
    /// Another caller is served.
    case busy
    /// The stream ID names no stream of this port.
    case unknownStream
    /// It asks to send where a stream goes out, or to receive where one comes in.
    case wrongMode
    /// It begins like SRT's form for access control and cannot be read.
    case malformedStreamID
    case wrongPassphrase
    /// An operator ended this peer's connection a moment ago.
    case kicked
    /// More callers than are admitted at a time.
    case tooManyCalls

    /// As metrics have it: `unknown_stream`.
    public var label: String { snakeCase(rawValue) }
}

/// How many callers a leg has refused, by reason.
public struct RefusalCounts: Hashable, Sendable, BitwiseCopyable {
    private var counts = InlineArray<7, Int64>(repeating: 0)

    public init() {}

    public subscript(reason: RefusalReason) -> Int64 {
        get { counts[Self.place(reason)] }
        set { counts[Self.place(reason)] = newValue }
    }

    public var total: Int64 { RefusalReason.allCases.reduce(0) { $0 &+ self[$1] } }

    private static func place(_ reason: RefusalReason) -> Int { RefusalReason.allCases.firstIndex(of: reason)! }

    public static func == (a: Self, b: Self) -> Bool { RefusalReason.allCases.allSatisfy { a[$0] == b[$0] } }

    public func hash(into hasher: inout Hasher) { for reason in RefusalReason.allCases { hasher.combine(self[reason]) } }
}
