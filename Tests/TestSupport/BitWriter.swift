/// Writes bits and Exp-Golomb codes as H.264 headers have them (ITU-T H.264, 7.2, 9.1).
public struct BitWriter {
    public private(set) var all: [Bool] = []

    public init() {}

    public mutating func bits(_ value: Int, _ n: Int) { for i in (0..<n).reversed() { all.append(value >> i & 1 == 1) } }

    public mutating func unsigned(_ value: Int) {
        let length = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
        bits(value + 1, 2 * length - 1)
    }

    public mutating func signed(_ value: Int) { unsigned(value > 0 ? 2 * value - 1 : -2 * value) }

    /// With the trailing bits and emulation prevention.
    public var finished: [UInt8] {
        var copy = self
        copy.bits(1, 1)
        return copy.escaped
    }

    /// Filled with ones to a whole byte.
    public var padded: [UInt8] {
        var copy = self
        while copy.all.count % 8 != 0 { copy.bits(1, 1) }
        return copy.escaped
    }

    private var escaped: [UInt8] {
        var out: [UInt8] = []
        for at in stride(from: 0, to: all.count, by: 8) {
            let byte = (at..<(at + 8)).reduce(UInt8(0)) { $0 << 1 | ($1 < all.count && all[$1] ? 1 : 0) }
            if byte <= 3, out.count >= 2, out.suffix(2).allSatisfy({ $0 == 0 }) { out.append(3) }
            out.append(byte)
        }
        return out
    }
}
