/// Rows of bytes with room around each of them. Everything that is not the payload is a canary: two kernels must
/// leave the same bytes there, those that were there before.
@safe public final class CheckMemory {
    public let width: Int
    public let height: Int
    public let stride: Int
    /// Bytes in front of and behind the rows, and at least as many between them.
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

    /// Fills everything, canaries too, with bytes from the generator: the same sequence gives the same memory.
    public func fill(_ random: inout CheckRandom) {
        for i in unsafe memory.indices { unsafe memory[i] = random.byte() }
    }

    /// Fills the payload row by row.
    public func fill(_ value: (_ x: Int, _ y: Int) -> UInt8) {
        for y in 0..<height { for x in 0..<width { unsafe row(y)[x] = value(x, y) } }
    }

    /// As ``firstDifference(from:)``, for a kernel that may write beyond what it was asked for: in each row the
    /// payload from byte `end` on is not compared. It is wiped in both.
    public func clearedDifference(from other: CheckMemory, beyond end: Int) -> String? {
        for y in 0..<height {
            for x in end..<width {
                unsafe row(y)[x] = 0
                unsafe other.row(y)[x] = 0
            }
        }
        return firstDifference(from: other).map { "byte \($0.x) of row \($0.y)" }
    }

    /// The place of the first byte that differs, canaries included; nil when there is none.
    public func firstDifference(from other: CheckMemory) -> (x: Int, y: Int)? {
        for i in unsafe memory.indices where unsafe memory[i] != other.memory[i] {
            let at = i - Self.margin - misalignment
            let y = at < 0 ? 0 : min(at / stride, height - 1)
            return (at - y * stride, y)
        }
        return nil
    }
}

/// What a check puts into its input.
public enum CheckContent: CaseIterable, Sendable {
    case random, zero, maximum
    /// Black and white in turn, both ways: the largest sums that signed weights can meet.
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

/// A small repeatable generator (xorshift64*), so that a failure can be had again by its seed.
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
