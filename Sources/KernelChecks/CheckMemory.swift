/// Rows of bytes with canaries around each of them. A kernel must not change the canaries, so after two kernels they
/// must still be equal.
@safe public final class CheckMemory {
    public let width: Int
    public let height: Int
    public let stride: Int
    /// Bytes before the first row and after the last one, and the least number of bytes between two rows.
    public static var margin: Int { 128 }
    private let memory: UnsafeMutableBufferPointer<UInt8>

    /// - Parameters:
    ///   - width: payload bytes in a row.
    ///   - misalignment: how far the first byte lies from a 64-byte boundary.
    public init(width: Int, height: Int, misalignment: Int = 0) {
        self.width = width
        self.height = height
        stride = (width + Self.margin + 63) & ~63
        self.misalignment = misalignment
        let count = 2 * Self.margin + stride * height + 64
        unsafe memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
            .bindMemory(to: UInt8.self)
        unsafe memory.initialize(repeating: 0xA5)
    }

    deinit { unsafe UnsafeMutableRawBufferPointer(memory).deallocate() }

    private let misalignment: Int

    @unsafe public func row(_ y: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe memory.baseAddress! + Self.margin + misalignment + y * stride
    }

    /// Fills everything, canaries too, with bytes from the generator. The same seed gives the same memory.
    public func fill(_ random: inout CheckRandom) {
        for i in unsafe memory.indices { unsafe memory[i] = random.byte() }
    }

    /// Fills the payload row by row.
    public func fill(_ value: (_ x: Int, _ y: Int) -> UInt8) {
        for y in 0..<height { for x in 0..<width { unsafe row(y)[x] = value(x, y) } }
    }

    /// Like ``firstDifference(from:)``, for a kernel that may write beyond the end of its output. It does not compare
    /// the payload of each row from byte `end` on, and clears it in both.
    public func clearedDifference(from other: CheckMemory, beyond end: Int) -> String? {
        for y in 0..<height {
            for x in end..<width {
                unsafe row(y)[x] = 0
                unsafe other.row(y)[x] = 0
            }
        }
        return firstDifference(from: other).map { "byte \($0.x) of row \($0.y)" }
    }

    /// The place of the first byte that differs, canaries included. Nil when all are equal.
    public func firstDifference(from other: CheckMemory) -> (x: Int, y: Int)? {
        for i in unsafe memory.indices where unsafe memory[i] != other.memory[i] {
            let at = i - Self.margin - misalignment
            let y = at < 0 ? 0 : min(at / stride, height - 1)
            return (at - y * stride, y)
        }
        return nil
    }
}

/// The content of a check's input.
public enum CheckContent: CaseIterable, Sendable {
    case random, zero, maximum
    /// Black and white in turn, across and down, which gives the largest sums with signed weights.
    case checkerboard
    /// Random, but each byte is 0 or 255.
    case extremes

    public func byte(x: Int, y: Int, _ random: inout CheckRandom) -> UInt8 {
        switch self {
        case .random: random.byte()
        case .zero: 0
        case .maximum: 255
        case .checkerboard: (x + y) % 2 == 0 ? 0 : 255
        case .extremes: random.byte() & 1 == 0 ? 0 : 255
        }
    }
}

/// A small generator of random numbers (xorshift64*). A failure can be repeated with its seed.
public struct CheckRandom: Sendable {
    private var state: UInt64
    public init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    public mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
    public mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next() >> 56) }
    /// A number in the closed range.
    public mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() >> 33) % (range.upperBound - range.lowerBound + 1)
    }
}
