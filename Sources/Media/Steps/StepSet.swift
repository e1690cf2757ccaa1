/// Some of the kinds of steps, in the order in which a picture meets them.
public struct StepSet: Hashable, Sendable, BitwiseCopyable, ExpressibleByArrayLiteral {
    private var bits: UInt16 = 0

    public init() {}
    private init(bits: UInt16) { self.bits = bits }
    public init(arrayLiteral kinds: StepKind...) { for kind in kinds { insert(kind) } }

    public static let all = StepSet(bits: StepKind.allCases.reduce(0) { $0 | bit($1) })
    /// Those that a picture may not go without.
    public static let must = StepSet(bits: StepKind.allCases.reduce(0) { $0 | ($1.facts.need == .must ? bit($1) : 0) })

    private static func bit(_ kind: StepKind) -> UInt16 { 1 << UInt16(kind.rawValue) }

    public var isEmpty: Bool { bits == 0 }
    public func contains(_ kind: StepKind) -> Bool { bits & Self.bit(kind) != 0 }
    public mutating func insert(_ kind: StepKind) { bits |= Self.bit(kind) }
    public mutating func remove(_ kind: StepKind) { bits &= ~Self.bit(kind) }
    public func union(_ other: StepSet) -> StepSet { StepSet(bits: bits | other.bits) }
    public func intersection(_ other: StepSet) -> StepSet { StepSet(bits: bits & other.bits) }
    public func isDisjoint(with other: StepSet) -> Bool { bits & other.bits == 0 }
    public func subtracting(_ other: StepSet) -> StepSet { StepSet(bits: bits & ~other.bits) }
}

extension StepSet: Sequence {
    /// Gives one kind after the other. No call allocates.
    public struct Iterator: IteratorProtocol, Sendable {
        fileprivate var bits: UInt16

        public mutating func next() -> StepKind? {
            guard bits != 0 else { return nil }
            let number = UInt8(bits.trailingZeroBitCount)
            bits &= bits - 1
            return StepKind(rawValue: number)
        }
    }

    public func makeIterator() -> Iterator { Iterator(bits: bits) }
}

/// A value for some kinds of steps. Plain memory of one size, so that it may travel with a frame.
public struct StepValues<Value: BitwiseCopyable & Sendable>: Sendable, BitwiseCopyable {
    private var values: InlineArray<16, Value>
    /// The kinds that have a value.
    public private(set) var kinds = StepSet()

    /// - Parameter blank: fills the room of kinds without a value. Nobody reads it.
    public init(blank: Value) { values = InlineArray(repeating: blank) }

    public subscript(kind: StepKind) -> Value? {
        get { kinds.contains(kind) ? values[Int(kind.rawValue)] : nil }
        set {
            guard let newValue else { return kinds.remove(kind) }
            values[Int(kind.rawValue)] = newValue
            kinds.insert(kind)
        }
    }
}
