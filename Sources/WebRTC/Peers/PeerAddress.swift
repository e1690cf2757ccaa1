import Endpoint

/// An IPv4 or IPv6 address with a port of UDP or TCP: a value that needs no memory of its own. An IPv4 address in IPv6's form
/// (`::ffff:192.0.2.1`) becomes the IPv4 address, because a browser sees itself so.
public struct PeerAddress: Hashable, Sendable {
    /// The address's bytes in network order, IPv4 in the last four with `::ffff:` before them.
    private var high: UInt64
    private var low: UInt64
    public var port: UInt16
    /// A connection from there carries the packets, not datagrams.
    public var isTCP = false

    private static let mappedPrefix: UInt64 = 0xffff

    /// - Parameter ipv4: the address as a number: 0x7f000001 is 127.0.0.1.
    public init(ipv4: UInt32, port: UInt16) {
        high = 0
        low = Self.mappedPrefix << 32 | UInt64(ipv4)
        self.port = port
    }

    /// - Parameters:
    ///   - high: the first eight bytes as a number, big-endian.
    ///   - low: the last eight.
    public init(ipv6 high: UInt64, _ low: UInt64, port: UInt16) {
        (self.high, self.low, self.port) = (high, low, port)
    }

    /// The address as a number; nil where it is IPv6.
    public var ipv4: UInt32? { high == 0 && low >> 32 == Self.mappedPrefix ? UInt32(truncatingIfNeeded: low) : nil }

    /// Whether it stands for all addresses of its family, or of both.
    public var isAny: Bool { high == 0 && (low == 0 || ipv4 == 0) }

    /// Both halves as numbers. An IPv4 address has IPv6's form here.
    public var ipv6: (high: UInt64, low: UInt64) { (high, low) }
}

extension PeerAddress: CustomStringConvertible {
    /// The address without the port: `192.0.2.1` or `2001:db8:0:0:0:0:0:1`.
    public var host: String {
        if let ipv4 {
            return (0..<4).map { String(ipv4 >> (24 - 8 * UInt32($0)) & 0xff) }.joined(separator: ".")
        }
        return [high, low].flatMap { half in (0..<4).map { String(half >> (48 - 16 * UInt64($0)) & 0xffff, radix: 16) } }
            .joined(separator: ":")
    }

    /// `192.0.2.1:9000`, `[2001:db8:0:0:0:0:0:1]:9000` or `192.0.2.1:9000/tcp`.
    public var description: String { (ipv4 == nil ? "[\(host)]:\(port)" : "\(host):\(port)") + (isTCP ? "/tcp" : "") }

    /// Reads an address as people write it; nil where it is a name or malformed.
    public init?(host: String, port: UInt16) {
        if let ipv4 = Self.ipv4(host[...]) {
            self.init(ipv4: ipv4, port: port)
        } else if let (high, low) = Self.ipv6(host[...]) {
            self.init(ipv6: high, low, port: port)
        } else {
            return nil
        }
    }

    private static func ipv4(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard part.utf8.count <= 3, part.utf8.allSatisfy({ 48...57 ~= $0 }), let byte = UInt8(part) else { return nil }
            address = address << 8 | UInt32(byte)
        }
        return address
    }

    private static func ipv6(_ text: Substring) -> (UInt64, UInt64)? {
        guard text.utf8.count <= 45 else { return nil }
        var text = text
        // The last 32 bits may be written as an IPv4 address.
        if let dot = text.firstIndex(of: "."), let colon = text[..<dot].lastIndex(of: ":") {
            guard let ipv4 = ipv4(text[text.index(after: colon)...]) else { return nil }
            text = text[...colon] + String(ipv4 >> 16, radix: 16) + ":" + String(ipv4 & 0xffff, radix: 16)
        }
        func groups(_ part: Substring) -> [UInt64]? {
            if part.isEmpty { return [] }
            let groups = part.split(separator: ":", omittingEmptySubsequences: false)
            let values = groups.compactMap { group in
                (1...4).contains(group.utf8.count) && group.utf8.first != 43 && group.utf8.first != 45
                    ? UInt64(group, radix: 16) : nil
            }
            return values.count == groups.count ? values : nil
        }
        var words: [UInt64]
        if let gap = text.firstRange(of: "::") {
            guard let before = groups(text[..<gap.lowerBound]), let after = groups(text[gap.upperBound...]),
                before.count + after.count <= 7
            else { return nil }
            words = before + Array(repeating: 0, count: 8 - before.count - after.count) + after
        } else {
            guard let all = groups(text), all.count == 8 else { return nil }
            words = all
        }
        let high = words[..<4].reduce(0) { $0 << 16 | $1 }
        return (high, words[4...].reduce(0) { $0 << 16 | $1 })
    }
}
