/// Some of the kinds of steps, in the order in which a picture meets them.
public struct StepSet: Hashable, Sendable, BitwiseCopyable, ExpressibleByArrayLiteral {
    @usableFromInline var bits: UInt16 = 0

    @inlinable public init() {}
    @inlinable init(bits: UInt16) { self.bits = bits }
    public init(arrayLiteral kinds: StepKind...) { for kind in kinds { insert(kind) } }

    public static let all = StepSet(bits: StepKind.allCases.reduce(0) { $0 | bit($1) })
    /// Those that a picture may not go without.
    public static let must = StepSet(bits: StepKind.allCases.reduce(0) { $0 | ($1.facts.need == .must ? bit($1) : 0) })
    /// Those on pictures that leave.
    public static let results = StepSet(
        bits: StepKind.allCases.reduce(0) { $0 | ($1.facts.place == .result ? bit($1) : 0) })

    /// Those that no picture may pass untouched.
    public static let holdingBypass = StepSet(
        bits: StepKind.allCases.reduce(0) { $0 | ($1.facts.holdsBypass ? bit($1) : 0) })

    /// Those on single pictures.
    public static let single = StepSet(
        bits: StepKind.allCases.reduce(0) {
            switch $1.facts.place {
            case .decoded, .source, .result: $0 | bit($1)
            case .enlargement, .synthesis: $0
            }
        })

    @inlinable static func bit(_ kind: StepKind) -> UInt16 { 1 << UInt16(kind.rawValue) }

    @inlinable public var isEmpty: Bool { bits == 0 }
    @inlinable public func contains(_ kind: StepKind) -> Bool { bits & Self.bit(kind) != 0 }
    @inlinable public mutating func insert(_ kind: StepKind) { bits |= Self.bit(kind) }
    @inlinable public mutating func remove(_ kind: StepKind) { bits &= ~Self.bit(kind) }
    @inlinable public func union(_ other: StepSet) -> StepSet { StepSet(bits: bits | other.bits) }
    @inlinable public func intersection(_ other: StepSet) -> StepSet { StepSet(bits: bits & other.bits) }
    @inlinable public func isDisjoint(with other: StepSet) -> Bool { bits & other.bits == 0 }
    @inlinable public func subtracting(_ other: StepSet) -> StepSet { StepSet(bits: bits & ~other.bits) }
}

extension StepSet: Sequence {
    /// Gives one kind after the other. No call allocates.
    public struct Iterator: IteratorProtocol, Sendable {
        @usableFromInline var bits: UInt16

        @inlinable init(bits: UInt16) { self.bits = bits }

        @inlinable public mutating func next() -> StepKind? {
            guard bits != 0 else { return nil }
            let number = UInt8(bits.trailingZeroBitCount)
            bits &= bits - 1
            return StepKind(rawValue: number)
        }
    }

    @inlinable public func makeIterator() -> Iterator { Iterator(bits: bits) }
}

/// A value for some kinds of steps. Plain memory of one size, so that it may travel with a frame.
public struct StepValues<Value: BitwiseCopyable & Sendable>: Sendable, BitwiseCopyable {
    @usableFromInline var values: InlineArray<16, Value>
    /// The kinds that have a value.
    @inlinable public var kinds: StepSet { given }
    @usableFromInline var given = StepSet()

    /// - Parameter blank: fills the room of kinds without a value. Nobody reads it.
    @inlinable public init(blank: Value) { values = InlineArray(repeating: blank) }

    @inlinable public subscript(kind: StepKind) -> Value? {
        get { given.contains(kind) ? values[Int(kind.rawValue)] : nil }
        set {
            guard let newValue else { return given.remove(kind) }
            values[Int(kind.rawValue)] = newValue
            given.insert(kind)
        }
    }
}
