/// Reads the bits of a NAL unit's payload (ITU-T H.264, 7.2 and 9.1) and skips emulation prevention bytes, or the plain bits
/// of a format that has none.
///
/// Reading past the end returns zeros and sets ``isExhausted``, so that callers check once, at the end.
@safe struct RBSPReader {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int
    private var zeros = 0
    private var current: UInt8 = 0
    private var bitsLeft = 0
    private(set) var isExhausted = false
    private let hasPrevention: Bool

    /// - Parameters:
    ///   - bytes: the unit with its header, without its start code; must outlive the reader.
    ///   - headerBytes: how many bytes to skip.
    ///   - hasPrevention: whether emulation prevention bytes are skipped.
    init(_ bytes: UnsafeRawBufferPointer, headerBytes: Int = 1, hasPrevention: Bool = true) {
        unsafe self.bytes = bytes
        position = headerBytes
        self.hasPrevention = hasPrevention
    }

    /// The next byte without emulation prevention.
    private mutating func load() {
        if zeros >= 2, hasPrevention, unsafe position < bytes.count && bytes[position] == 3 {
            position += 1
            zeros = 0
        }
        guard unsafe position < bytes.count else {
            isExhausted = true
            current = 0
            bitsLeft = 8
            return
        }
        current = unsafe bytes[position]
        position += 1
        zeros = current == 0 ? zeros + 1 : 0
        bitsLeft = 8
    }

    mutating func bit() -> Int {
        if bitsLeft == 0 { load() }
        bitsLeft -= 1
        return Int(current >> UInt8(bitsLeft) & 1)
    }

    mutating func flag() -> Bool { bit() == 1 }

    mutating func skip(_ n: Int) { for _ in 0..<n { _ = bit() } }

    /// `u(n)`, at most 32 bits.
    mutating func bits(_ n: Int) -> Int {
        var value = 0
        for _ in 0..<n { value = value << 1 | bit() }
        return value
    }

    /// `ue(v)`: at most 2³² − 2. An impossible prefix exhausts the reader.
    mutating func unsigned() -> Int {
        var leading = 0
        while bit() == 0 {
            leading += 1
            if leading > 31 || isExhausted {
                isExhausted = true
                return 0
            }
        }
        return (1 << leading) - 1 + bits(leading)
    }

    /// `se(v)`.
    mutating func signed() -> Int {
        let code = unsigned()
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }

    /// The next whole byte. What is left of a byte that was begun is skipped.
    mutating func alignedByte() -> UInt8 {
        load()
        bitsLeft = 0
        return current
    }

    /// Skips whole bytes, not counting emulation prevention.
    mutating func skipBytes(_ count: Int) {
        var left = count
        while left > 0, !isExhausted {
            _ = alignedByte()
            left -= 1
        }
    }
}
