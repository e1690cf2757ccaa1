/// Writes STUN messages (RFC 8489). It allocates: answers go only to peers that have shown the password, and short errors.
public struct STUNWriter: Sendable {
    private var bytes: [UInt8]
    private let transaction: STUNMessage.TransactionID

    public init(_ kind: STUNMessage.Class, method: UInt16 = STUNMessage.bindingMethod, transaction: STUNMessage.TransactionID) {
        self.transaction = transaction
        let (a, b, c) = (method & 0xf, method & 0x70, method & 0xf80)
        let bits = UInt16(kind.rawValue)
        let type = a | b << 1 | c << 2 | (bits & 1) << 4 | (bits & 2) << 7
        bytes = []
        bytes.reserveCapacity(128)
        append16(type)
        append16(0)
        append32(STUNMessage.magicCookie)
        append32(transaction.first)
        append64(transaction.rest)
    }

    private mutating func append16(_ value: UInt16) {
        for shift in [8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
    private mutating func append32(_ value: UInt32) { for half in [value >> 16, value & 0xffff] { append16(UInt16(half)) } }
    private mutating func append64(_ value: UInt64) {
        for half in [value >> 32, value & 0xffff_ffff] { append32(UInt32(half)) }
    }

    private mutating func begin(_ type: UInt16, size: Int) {
        append16(type)
        append16(UInt16(size))
    }

    public mutating func append(username: String) {
        let text = Array(username.utf8)
        begin(STUNMessage.Attribute.username, size: text.count)
        bytes += text
        // Padding bytes may have any value; RFC 5769's have spaces.
        while bytes.count % 4 != 0 { bytes.append(0x20) }
    }

    public mutating func append(software: String) {
        let text = Array(software.utf8)
        begin(STUNMessage.Attribute.software, size: text.count)
        bytes += text
        while bytes.count % 4 != 0 { bytes.append(0x20) }
    }

    public mutating func append(priority: UInt32) {
        begin(STUNMessage.Attribute.priority, size: 4)
        append32(priority)
    }

    public mutating func appendUseCandidate() { append(flag: STUNMessage.Attribute.useCandidate) }

    /// An attribute that has no value.
    mutating func append(flag type: UInt16) { begin(type, size: 0) }

    public mutating func append(controlling tieBreaker: UInt64) {
        begin(STUNMessage.Attribute.iceControlling, size: 8)
        append64(tieBreaker)
    }

    public mutating func append(controlled tieBreaker: UInt64) {
        begin(STUNMessage.Attribute.iceControlled, size: 8)
        append64(tieBreaker)
    }

    /// The address that a request came from, so that its sender learns it.
    public mutating func append(mapped address: PeerAddress) {
        begin(STUNMessage.Attribute.xorMappedAddress, size: address.ipv4 == nil ? 20 : 8)
        append16(address.ipv4 == nil ? 2 : 1)
        append16(address.port ^ UInt16(STUNMessage.magicCookie >> 16))
        if let ipv4 = address.ipv4 {
            append32(ipv4 ^ STUNMessage.magicCookie)
        } else {
            append64(address.ipv6.high ^ (UInt64(STUNMessage.magicCookie) << 32 | UInt64(transaction.first)))
            append64(address.ipv6.low ^ transaction.rest)
        }
    }

    /// An error's number, without a sentence: answers are to be short.
    public mutating func append(errorCode: Int) {
        begin(STUNMessage.Attribute.errorCode, size: 4)
        append16(0)
        append16(UInt16((errorCode / 100) << 8 | errorCode % 100))
    }

    public mutating func append(unknownAttribute: UInt16) {
        begin(STUNMessage.Attribute.unknownAttributes, size: 2)
        append16(unknownAttribute)
        append16(0)
    }

    private mutating func setLength(_ length: Int) {
        bytes[2] = UInt8(length >> 8)
        bytes[3] = UInt8(length & 0xff)
    }

    /// Protects what is written so far with a password (RFC 8489, 14.5).
    public mutating func appendIntegrity(password: Span<UInt8>) {
        setLength(bytes.count - STUNMessage.headerSize + 24)
        let digest = STUNIntegrity.digest(
            password: password, head: bytes.span.extracting(0..<4), rest: bytes.span.extracting(4..<bytes.count))
        begin(STUNMessage.Attribute.messageIntegrity, size: 20)
        for index in digest.indices { bytes.append(digest[index]) }
    }

    /// The message with its length and its fingerprint. Nothing may be written behind it.
    public consuming func finish() -> [UInt8] {
        setLength(bytes.count - STUNMessage.headerSize + 8)
        let checksum = STUNChecksum.of(bytes.span)
        begin(STUNMessage.Attribute.fingerprint, size: 4)
        append32(checksum ^ STUNChecksum.stunMask)
        return bytes
    }
}
