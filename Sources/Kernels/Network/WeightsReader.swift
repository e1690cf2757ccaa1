/// Why a weights file cannot be used.
public struct NetworkFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    public var description: String { message }

    init(_ message: String) { self.message = message }
}

/// Reads the fields of a weights file, which begins with four letters and a version and ends with the CRC-32 of all before.
struct WeightsReader {
    private let bytes: [UInt8]
    private let end: Int
    private var position = 4

    /// - Parameter leastSize: the bytes that every such file has.
    init(_ bytes: [UInt8], letters: String, version: Int, leastSize: Int) throws(NetworkFileError) {
        self.bytes = bytes
        end = max(0, bytes.count - 4)
        guard bytes.count >= leastSize, Array(bytes[0..<4]) == Array(letters.utf8) else {
            throw NetworkFileError("not a weights file: it does not begin with \(letters)")
        }
        let found = try number("version")
        guard found == version else {
            throw NetworkFileError("weights of version \(found); this program reads version \(version)")
        }
        let stated = bytes[end...].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard crc32(bytes[..<end]) == stated else {
            throw NetworkFileError("the weights' checksum is wrong: the file is damaged or cut short")
        }
    }

    /// The next `count` bytes.
    mutating func bytes(_ what: String, _ count: Int) throws(NetworkFileError) -> ArraySlice<UInt8> {
        guard count <= end - position else { throw NetworkFileError("the weights end inside of \(what)") }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// The next number of 32 bits without a sign.
    mutating func number(
        _ what: String, in range: ClosedRange<Int> = 0...Int(UInt32.max)
    ) throws(NetworkFileError) -> Int {
        let value = try bytes(what, 4).reversed().reduce(0) { $0 << 8 | Int($1) }
        guard range.contains(value) else {
            throw NetworkFileError("the weights' \(what) is \(value), not in \(range)")
        }
        return value
    }

    /// The next numbers of 16 bits.
    mutating func shortNumbers(_ what: String, _ count: Int) throws(NetworkFileError) -> [Int16] {
        let bytes = try bytes(what, 2 * count)
        let first = bytes.startIndex
        return (0..<count).map { Int16(bitPattern: UInt16(bytes[first + 2 * $0]) | UInt16(bytes[first + 2 * $0 + 1]) << 8) }
    }

    /// The next numbers of 32 bits.
    mutating func longNumbers(_ what: String, _ count: Int) throws(NetworkFileError) -> [Int32] {
        var numbers: [Int32] = []
        for _ in 0..<count { numbers.append(Int32(bitPattern: UInt32(try number(what)))) }
        return numbers
    }

    /// - Throws: where anything is left.
    func finish() throws(NetworkFileError) {
        guard position == end else { throw NetworkFileError("\(end - position) bytes too many after the last layer") }
    }
}

/// CRC-32 as in zlib and IEEE 802.3.
private func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var register: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        register ^= UInt32(byte)
        for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xEDB8_8320) }
    }
    return ~register
}
