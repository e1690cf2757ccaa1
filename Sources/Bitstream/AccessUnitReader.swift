/// Reads what a decoder must know of access units before it decodes them. Each coded format has its own.
///
/// A value with a stream's parameter sets and counters. All units of a stream must be read with the same one, in decoding
/// order. Reads any bytes at all. Allocates only where a parameter set is new.
public protocol AccessUnitReader: Sendable {
    /// - Parameter unit: a whole access unit, as the container delivers it; not kept.
    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary
    /// How many pictures the newest picture's sequence may hold back to reorder them; nil where it does not say.
    var reordering: Int? { get }
    /// What is stated of the colours of the newest sequence; nil where nothing is known.
    var color: StatedColor? { get }
    /// Forgets the pictures so far and keeps the parameter sets.
    mutating func reset()
}

extension AccessUnitReader {
    public var color: StatedColor? { nil }
}
