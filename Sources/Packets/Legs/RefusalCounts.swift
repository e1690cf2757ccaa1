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
    /// An operator ended this peer's connection a moment ago (``Source/kick(_:for:)``).
    case kicked
    /// The ``CallerJudge`` said no.
    case forbidden
    /// More callers than ``CallerRate`` admits.
    case tooManyCalls

    /// What is said to libsrt's caller (`srt/access_control.h`, which follows HTTP).
    package var code: Int32 {
        switch self {
        case .busy: 1409
        case .unknownStream: 1404
        case .wrongMode: 1405
        case .malformedStreamID: 1400
        case .wrongPassphrase: 1401
        case .kicked, .forbidden: 1403
        case .tooManyCalls: 1402
        }
    }
}

/// How many callers a leg has refused, by reason.
public struct RefusalCounts: Hashable, Sendable, BitwiseCopyable {
    private var busy: Int64 = 0
    private var unknownStream: Int64 = 0
    private var wrongMode: Int64 = 0
    private var malformedStreamID: Int64 = 0
    private var wrongPassphrase: Int64 = 0
    private var kicked: Int64 = 0
    private var forbidden: Int64 = 0
    private var tooManyCalls: Int64 = 0

    package init() {}

    public subscript(reason: RefusalReason) -> Int64 {
        get { self[keyPath: Self.counter(of: reason)] }
        set { self[keyPath: Self.counter(of: reason)] = newValue }
    }

    public var total: Int64 { RefusalReason.allCases.reduce(0) { $0 + self[$1] } }

    private static func counter(of reason: RefusalReason) -> WritableKeyPath<Self, Int64> {
        switch reason {
        case .busy: \.busy
        case .unknownStream: \.unknownStream
        case .wrongMode: \.wrongMode
        case .malformedStreamID: \.malformedStreamID
        case .wrongPassphrase: \.wrongPassphrase
        case .kicked: \.kicked
        case .forbidden: \.forbidden
        case .tooManyCalls: \.tooManyCalls
        }
    }
}
