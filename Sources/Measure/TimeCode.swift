import Glibc

/// A point on the wall clock (`CLOCK_REALTIME`) in whole microseconds since 1970: the clock that two processes, or two
/// synchronised machines, share.
public struct WallTime: Hashable, Comparable, Sendable, BitwiseCopyable {
    public var microseconds: Int64

    @inlinable public init(microseconds: Int64) { self.microseconds = microseconds }

    public static func now() -> WallTime {
        var t = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &t)
        return WallTime(microseconds: Int64(t.tv_sec) * 1_000_000 + Int64(t.tv_nsec) / 1000)
    }

    @inlinable public static func < (a: Self, b: Self) -> Bool { a.microseconds < b.microseconds }
    /// `a - b` in microseconds.
    @inlinable public static func - (a: Self, b: Self) -> Int64 { a.microseconds - b.microseconds }
    @inlinable public static func + (a: Self, microseconds: Int64) -> Self {
        Self(microseconds: a.microseconds + microseconds)
    }
}

/// What every test frame carries in its pixels: when it was captured, its number, and its source. 96 bits: 48 of time, 16 of number, 8 of source, 24 of CRC.
public struct TimeCode: Hashable, Sendable, BitwiseCopyable {
    /// Capture time on the sender's wall clock.
    public var captured: WallTime
    /// Number of the frame, modulo 65536.
    public var number: UInt16
    /// Distinguishes several sources.
    public var source: UInt8

    public init(captured: WallTime, number: UInt16, source: UInt8 = 0) {
        self.captured = captured
        self.number = number
        self.source = source
    }

    /// The coded bits, most significant first.
    public struct Word: Hashable, Sendable, BitwiseCopyable {
        /// 48 bits of time, 16 of number.
        public var high: UInt64 = 0
        /// 8 bits of source, 24 of CRC.
        public var low: UInt32 = 0

        public init() {}

        public subscript(bit: Int) -> Bool {
            get { bit < 64 ? high >> UInt64(63 - bit) & 1 == 1 : low >> UInt32(95 - bit) & 1 == 1 }
            set {
                if bit < 64 {
                    let mask = UInt64(1) << UInt64(63 - bit)
                    high = newValue ? high | mask : high & ~mask
                } else {
                    let mask = UInt32(1) << UInt32(95 - bit)
                    low = newValue ? low | mask : low & ~mask
                }
            }
        }

        var checksum: UInt32 { crc24(high: high, source: UInt8(truncatingIfNeeded: low >> 24)) }
    }

    public var word: Word {
        var word = Word()
        word.high = UInt64(bitPattern: captured.microseconds) << 16 | UInt64(number)
        word.low = UInt32(source) << 24
        word.low |= word.checksum
        return word
    }

    /// Reads a word back; nil when its CRC is wrong.
    /// - Parameter near: any time within 4 years of the capture: the 48 bits wrap after 8.9 years.
    public init?(_ word: Word, near: WallTime) {
        guard word.checksum == word.low & 0xFF_FFFF else { return nil }
        let wire = Int64(word.high >> 16)
        let behind = ((near.microseconds - wire) << 16) >> 16
        self.init(
            captured: WallTime(microseconds: near.microseconds - behind),
            number: UInt16(truncatingIfNeeded: word.high), source: UInt8(truncatingIfNeeded: word.low >> 24))
    }
}

/// CRC-24 of RFC 4880 (OpenPGP), section 6.1, over the 64 bits of `high` and the 8 of `source`. Its start value is not
/// zero, so neither an all-black nor an all-white block of cells is a valid code.
private func crc24(high: UInt64, source: UInt8) -> UInt32 {
    var crc: UInt32 = 0xB704CE
    func feed(_ byte: UInt8, _ crc: inout UInt32) {
        crc ^= UInt32(byte) << 16
        for _ in 0..<8 {
            crc <<= 1
            if crc & 0x100_0000 != 0 { crc ^= 0x186_4CFB }
        }
    }
    for shift in stride(from: 56, through: 0, by: -8) { feed(UInt8(truncatingIfNeeded: high >> UInt64(shift)), &crc) }
    feed(source, &crc)
    return crc & 0xFF_FFFF
}
