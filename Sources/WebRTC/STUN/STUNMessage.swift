import CDTLS

/// A STUN message as it was received (RFC 8489), with the attributes that ICE needs (RFC 8445). It refers to bytes of the
/// datagram by their places, and copies none.
///
/// Reading allocates nothing, so a flood of messages costs only the time to read them.
public struct STUNMessage: Sendable {
    public enum Class: UInt8, Sendable { case request, indication, success, error }

    /// The twelve bytes by which an answer is told from another.
    public struct TransactionID: Hashable, Sendable {
        public var first: UInt32
        public var rest: UInt64
        public init(first: UInt32, rest: UInt64) { (self.first, self.rest) = (first, rest) }
    }

    public static let bindingMethod: UInt16 = 1
    static let magicCookie: UInt32 = 0x2112_a442
    static let headerSize = 20
    /// No attribute that ICE needs is longer, and no message with all of them is: longer ones are not read.
    static let largest = 1024

    public var kind: Class
    public var method: UInt16
    public var transaction: TransactionID
    /// Where the user name's bytes lie.
    public var username: Range<Int>?
    public var priority: UInt32?
    public var usesCandidate = false
    /// The tie-breaker of an agent that says it controls, or that it is controlled.
    public var controlling: UInt64?
    public var controlled: UInt64?
    public var mappedAddress: PeerAddress?
    public var errorCode: Int?
    /// Where the MESSAGE-INTEGRITY attribute begins.
    public var integrityOffset: Int?
    /// The message ends with a FINGERPRINT, and it is right.
    public var hasFingerprint = false
    /// The first attribute that we would have to understand and do not.
    public var unknownAttribute: UInt16?

    /// Reads a datagram.
    /// - Returns: nil when it is no STUN message: wrong cookie or length, an attribute that does not fit, a wrong fingerprint.
    public init?(reading bytes: Span<UInt8>) {
        guard bytes.count >= Self.headerSize, bytes.count <= Self.largest, bytes.count % 4 == 0, bytes[0] < 0x40,
            bytes.uint32(at: 4) == Self.magicCookie, Int(bytes.uint16(at: 2)) == bytes.count - Self.headerSize
        else { return nil }
        let type = bytes.uint16(at: 0)
        // The two bits of the class lie between those of the method.
        kind = Class(rawValue: UInt8(type >> 4 & 1 | type >> 7 & 2))!
        method = type & 0xf | type >> 1 & 0x70 | type >> 2 & 0xf80
        transaction = TransactionID(first: bytes.uint32(at: 8), rest: bytes.uint64(at: 12))
        var at = Self.headerSize
        while at < bytes.count {
            let size = Int(bytes.uint16(at: at + 2))
            guard size <= bytes.count - at - 4 else { return nil }
            guard readAttribute(bytes.uint16(at: at), at + 4..<at + 4 + size, in: bytes) else { return nil }
            at += 4 + (size + 3) & ~3
        }
    }

    enum Attribute {
        static let mappedAddress: UInt16 = 0x0001
        static let username: UInt16 = 0x0006
        static let messageIntegrity: UInt16 = 0x0008
        static let errorCode: UInt16 = 0x0009
        static let unknownAttributes: UInt16 = 0x000a
        static let messageIntegritySHA256: UInt16 = 0x001c
        static let xorMappedAddress: UInt16 = 0x0020
        static let priority: UInt16 = 0x0024
        static let useCandidate: UInt16 = 0x0025
        static let software: UInt16 = 0x8022
        static let fingerprint: UInt16 = 0x8028
        static let iceControlled: UInt16 = 0x8029
        static let iceControlling: UInt16 = 0x802a
    }

    /// Reads one attribute. The first of a kind counts, as RFC 8489 (14) asks.
    /// - Returns: false when the message is to be dropped.
    private mutating func readAttribute(_ type: UInt16, _ range: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        let start = range.lowerBound
        if type == Attribute.fingerprint {
            guard range.count == 4, range.upperBound == bytes.count else { return false }
            hasFingerprint = bytes.uint32(at: start) == STUNChecksum.of(bytes.extracting(0..<start - 4)) ^ STUNChecksum.stunMask
            return hasFingerprint
        }
        // What stands behind the integrity is not protected by it.
        guard integrityOffset == nil else { return true }
        switch type {
        case Attribute.messageIntegrity:
            guard range.count == 20 else { return false }
            integrityOffset = start - 4
        case Attribute.username:
            guard range.count <= 513 else { return false }
            username = username ?? range
        case Attribute.priority:
            guard range.count == 4 else { return false }
            priority = priority ?? bytes.uint32(at: start)
        case Attribute.useCandidate: usesCandidate = true
        case Attribute.iceControlling:
            guard range.count == 8 else { return false }
            controlling = controlling ?? bytes.uint64(at: start)
        case Attribute.iceControlled:
            guard range.count == 8 else { return false }
            controlled = controlled ?? bytes.uint64(at: start)
        case Attribute.xorMappedAddress:
            guard let address = readXORAddress(range, in: bytes) else { return false }
            mappedAddress = mappedAddress ?? address
        case Attribute.errorCode:
            guard range.count >= 4 else { return false }
            errorCode = errorCode ?? Int(bytes[start + 2] & 7) * 100 + Int(bytes[start + 3])
        case Attribute.mappedAddress, Attribute.unknownAttributes, Attribute.messageIntegritySHA256: break
        case ..<0x8000: unknownAttribute = unknownAttribute ?? type
        default: break
        }
        return true
    }

    private func readXORAddress(_ range: Range<Int>, in bytes: Span<UInt8>) -> PeerAddress? {
        guard range.count >= 8 else { return nil }
        let start = range.lowerBound
        let port = bytes.uint16(at: start + 2) ^ UInt16(Self.magicCookie >> 16)
        switch (bytes[start + 1], range.count) {
        case (1, 8): return PeerAddress(ipv4: bytes.uint32(at: start + 4) ^ Self.magicCookie, port: port)
        case (2, 20):
            return PeerAddress(
                ipv6: bytes.uint64(at: start + 4) ^ (UInt64(Self.magicCookie) << 32 | UInt64(transaction.first)),
                bytes.uint64(at: start + 12) ^ transaction.rest, port: port)
        default: return nil
        }
    }

    /// Whether the message's integrity was made with this password (RFC 8489, 14.5). False where it has none.
    public func hasIntegrity(of password: Span<UInt8>, in bytes: Span<UInt8>) -> Bool {
        guard let offset = integrityOffset else { return false }
        // The length counts up to the end of the integrity, whatever follows it.
        let length = UInt16(offset + 24 - Self.headerSize)
        let head: [4 of UInt8] = [bytes[0], bytes[1], UInt8(length >> 8), UInt8(length & 0xff)]
        let digest = STUNIntegrity.digest(
            password: password, head: head.span, rest: bytes.extracting(4..<offset))
        return unsafe digest.span.withUnsafeBufferPointer { mine in
            unsafe bytes.extracting(offset + 4..<offset + 24).withUnsafeBufferPointer { theirs in
                unsafe burnish_bytes_equal(mine.baseAddress!, theirs.baseAddress!, 20)
            }
        }
    }
}

enum STUNIntegrity {
    static func digest(password: Span<UInt8>, head: Span<UInt8>, rest: Span<UInt8>) -> [20 of UInt8] {
        var digest: [20 of UInt8] = .init(repeating: 0)
        var output = digest.mutableSpan
        unsafe password.withUnsafeBufferPointer { password in
            unsafe head.withUnsafeBufferPointer { head in
                unsafe rest.withUnsafeBufferPointer { rest in
                    unsafe output.withUnsafeMutableBufferPointer { output in
                        unsafe burnish_hmac_sha1(
                            password.baseAddress, password.count, head.baseAddress, head.count, rest.baseAddress, rest.count,
                            output.baseAddress!)
                    }
                }
            }
        }
        return digest
    }
}

/// The checksum of ISO 3309 (also zlib's), with a table of 256 entries.
enum STUNChecksum {
    static let stunMask: UInt32 = 0x5354_554e

    private static let table: [256 of UInt32] = {
        var table: [256 of UInt32] = .init(repeating: 0)
        for index in 0..<256 {
            var value = UInt32(index)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1 }
            table[index] = value
        }
        return table
    }()

    static func of(_ bytes: Span<UInt8>) -> UInt32 {
        var value = UInt32.max
        for index in bytes.indices { value = value >> 8 ^ table[Int((value ^ UInt32(bytes[index])) & 0xff)] }
        return ~value
    }
}

extension Span<UInt8> {
    func uint16(at offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }
    func uint32(at offset: Int) -> UInt32 { UInt32(uint16(at: offset)) << 16 | UInt32(uint16(at: offset + 2)) }
    func uint64(at offset: Int) -> UInt64 { UInt64(uint32(at: offset)) << 32 | UInt64(uint32(at: offset + 4)) }
}
