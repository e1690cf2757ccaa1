import Media
import Testing

@testable import WebRTC

/// Spans do not pass through the macros of a test.
extension STUNMessage {
    static func read(_ bytes: [UInt8]) -> STUNMessage? { STUNMessage(reading: bytes.span) }
    func isSigned(_ password: [UInt8], in bytes: [UInt8]) -> Bool { hasIntegrity(of: password.span, in: bytes.span) }
}

/// RFC 5769's messages, and what must be refused.
struct STUNTests {
    static let password = Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.filter { !$0.isWhitespace })
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16)! }
    }

    /// 2.1: a request with SOFTWARE, PRIORITY, ICE-CONTROLLED, USERNAME, MESSAGE-INTEGRITY and FINGERPRINT.
    static let request = bytes(
        """
        00010058 2112a442 b7e7a701bc34d686fa87dfae
        80220010 5354554e207465737420636c69656e74 00240004 6e0001ff 80290008 932ff9b151263b36
        00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2 80280004 e57a3bcf
        """)
    /// 2.2: a response with an IPv4 address.
    static let response4 = bytes(
        """
        0101003c 2112a442 b7e7a701bc34d686fa87dfae
        8022000b 7465737420766563746f7220 00200008 0001a147e112a643
        00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96
        """)
    /// 2.3: a response with an IPv6 address.
    static let response6 = bytes(
        """
        01010048 2112a442 b7e7a701bc34d686fa87dfae
        8022000b 7465737420766563746f7220 00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9
        00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c
        """)
    static let mapped4 = PeerAddress(host: "192.0.2.1", port: 32853)!
    static let mapped6 = PeerAddress(host: "2001:db8:1234:5678:11:2233:4455:6677", port: 32853)!

    @Test func requestIsRead() throws {
        let message = try #require(STUNMessage.read(Self.request))
        #expect(message.kind == .request && message.method == STUNMessage.bindingMethod)
        #expect(message.transaction == .init(first: 0xb7e7_a701, rest: 0xbc34_d686_fa87_dfae))
        #expect(message.priority == 0x6e00_01ff && message.controlled == 0x932f_f9b1_5126_3b36)
        #expect(message.username.map { String(decoding: Self.request[$0], as: UTF8.self) } == "evtj:h6vY")
        #expect(message.hasFingerprint && message.unknownAttribute == nil && !message.usesCandidate)
        #expect(message.isSigned(Self.password, in: Self.request))
        #expect(!message.isSigned(Array("another password".utf8), in: Self.request))
    }

    @Test(arguments: [(response4, mapped4), (response6, mapped6)])
    func responseIsReadAndWritten(bytes: [UInt8], address: PeerAddress) throws {
        let message = try #require(STUNMessage.read(bytes))
        #expect(message.kind == .success && message.mappedAddress == address && message.hasFingerprint)
        #expect(message.isSigned(Self.password, in: bytes))
        var writer = STUNWriter(.success, transaction: message.transaction)
        writer.append(software: "test vector")
        writer.append(mapped: address)
        writer.appendIntegrity(password: Self.password.span)
        #expect(writer.finish() == bytes)
    }

    /// Whatever single byte is changed: the fingerprint shows it.
    @Test func aChangedByteIsSeen() {
        for index in Self.request.indices {
            var bytes = Self.request
            bytes[index] ^= 0x10
            let message = STUNMessage.read(bytes)
            #expect(message?.hasFingerprint != true, "byte \(index)")
        }
    }

    /// A shorter or longer message is none, wherever it ends.
    @Test func aCutMessageIsNone() {
        for count in 0..<Self.request.count { #expect(STUNMessage.read(Array(Self.request[..<count])) == nil) }
        #expect(STUNMessage.read(Self.request + [0, 0, 0, 0]) == nil)
    }

    /// What stands behind the integrity is not protected, so it does not count.
    @Test func attributesBehindTheIntegrityAreIgnored() throws {
        var writer = STUNWriter(.request, transaction: .init(first: 1, rest: 2))
        writer.append(username: "abcdefgh:x")
        writer.appendIntegrity(password: Self.password.span)
        writer.appendUseCandidate()
        writer.append(priority: 7)
        let bytes = writer.finish()
        let message = try #require(STUNMessage.read(bytes))
        #expect(!message.usesCandidate && message.priority == nil)
        #expect(message.isSigned(Self.password, in: bytes))
    }

    @Test func theFirstAttributeCounts() throws {
        var writer = STUNWriter(.request, transaction: .init(first: 1, rest: 2))
        writer.append(priority: 1)
        writer.append(priority: 2)
        let bytes = writer.finish()
        #expect(STUNMessage.read(bytes)?.priority == 1)
    }

    @Test(arguments: [
        ("192.0.2.1", true), ("::1", true), ("2001:db8::1", true), ("::ffff:192.0.2.1", true), ("1:2:3:4:5:6:7:8", true),
        ("::", true),
        ("1.2.3", false), ("1.2.3.256", false), ("1:2:3:4:5:6:7", false), ("1::2::3", false), ("example.org", false),
        ("", false),
        ("12345::", false), ("+1::", false), ("1:2:3:4:5:6:7:8:9", false), ("a.local", false),
    ]) func addressesAreRead(text: String, isAddress: Bool) throws {
        let address = PeerAddress(host: text, port: 9)
        #expect((address != nil) == isAddress)
        // What is written is read as the same.
        if let address { #expect(PeerAddress(host: address.host, port: 9) == address) }
    }

    @Test func anIPv4AddressInIPv6sFormIsTheIPv4Address() {
        #expect(PeerAddress(host: "::ffff:192.0.2.1", port: 5) == PeerAddress(ipv4: 0xc000_0201, port: 5))
        #expect(PeerAddress(host: "::1", port: 5)!.description == "[0:0:0:0:0:0:0:1]:5")
    }
}
