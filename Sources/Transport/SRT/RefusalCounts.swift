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
