/// The CRC-32 of MPEG-2 sections (ISO/IEC 13818-1, annex A): polynomial 0x04C11DB7, most significant bit first.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index) << 24) { value, _ in value << 1 ^ (value >> 31 == 1 ? 0x04C1_1DB7 : 0) }
    }

    /// The checksum of `bytes`; zero over a section that ends with its own checksum.
    static func mpeg(_ bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.reduce(0xFFFF_FFFF) { $0 << 8 ^ table[Int($0 >> 24) ^ Int($1)] }
    }
}
