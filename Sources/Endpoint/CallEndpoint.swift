import Glibc
import Media

/// A WebRTC leg as a URL describes it: `whip:NAME` receives what a browser or another publisher sends (WHIP, RFC 9725), and
/// `whep:NAME` sends to viewers (WHEP). Peers come by the service's HTTP interface: `/whip/NAME` and `/whep/NAME`.
public struct CallEndpoint: Hashable, Sendable {
    /// Which way the pictures go.
    public enum Side: String, Hashable, Sendable, CaseIterable {
        /// A peer publishes: an input.
        case whip
        /// Peers watch: an output.
        case whep
    }

    public var side: Side
    /// 1 to 64 letters, digits, `.`, `_` and `-`. It begins with a letter or a digit.
    public var name: String
    /// The UDP port for all calls of the stream; 0 for any free one.
    public var port: UInt16
    /// The TCP port for peers whose network carries no UDP, 0 for any free one; nil where there is none.
    public var tcp: UInt16?
    /// The addresses that peers are told to send to, where they are others than this machine's own (behind NAT).
    public var addresses: [String]
    /// How many viewers a `whep:` leg serves at a time; nil for ``usualViewers``.
    public var viewers: Int?
    /// The most bits a second that the publisher of a `whip:` leg is to send; nil for the usual.
    public var bitRate: Int?

    /// The smaller encode of a `whep:` leg, for viewers whose link carries no other pictures; nil for none.
    public var small: SmallEncode?

    public static let usualViewers = 16
    public static let mostViewers = 256
    private static let mostAddresses = 4

    public init(
        _ side: Side, name: String, port: UInt16 = 0, tcp: UInt16? = nil, addresses: [String] = [], viewers: Int? = nil
    ) {
        self.side = side
        self.name = name
        self.port = port
        self.tcp = tcp
        self.addresses = addresses
        self.viewers = viewers
    }

    init(_ side: Side, parsing text: Substring) throws(TransportError) {
        let (name, query) = text.splitOnce(at: "?")
        self.init(side, name: String(name))
        guard Self.isName(name) else {
            let rule = "1 to 64 letters, digits, dots, _ and -, and begins with one of the first two"
            throw TransportError(.badURL, place: "\(side.rawValue):", "\(quoted(name)) is no name: it has \(rule)")
        }
        var given: Set<Substring> = []
        for pair in query?.split(separator: "&", omittingEmptySubsequences: true) ?? [] {
            let (key, value) = pair.splitOnce(at: "=")
            guard key == "address" || given.insert(key).inserted else { throw fault("key \(quotedKey(key)) is given twice") }
            try read(key, value ?? "")
        }
    }

    private mutating func read(_ key: Substring, _ value: Substring) throws(TransportError) {
        switch key {
        case "port", "tcp":
            guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(value) else {
                throw fault("\(key) is 0 to 65535, not \(quoted(value))")
            }
            if key == "port" { port = number } else { tcp = number }
        case "address":
            guard Self.isAddress(value) else {
                throw fault("address is an IP address, not \(quoted(value))")
            }
            guard addresses.count < Self.mostAddresses else {
                throw fault("address is given more than \(Self.mostAddresses) times")
            }
            addresses.append(String(value))
        case "viewers" where side == .whep:
            guard let number = Int(value), (1...Self.mostViewers).contains(number) else {
                throw fault("viewers is 1 to \(Self.mostViewers), not \(quoted(value))")
            }
            viewers = number
        case "small" where side == .whep:
            guard let wanted = SmallEncode(parsing: value) else {
                throw fault("small is a size and bits a second, as 320x180@200k, not \(quoted(value))")
            }
            small = wanted
        case "bitrate" where side == .whip:
            guard let rate = Endpoint.bitRate(value) else {
                throw fault("bitrate is bits a second, as 2M or 800k, not \(quoted(value))")
            }
            bitRate = rate
        default:
            let known = side == .whep ? "port, tcp, address, viewers and small" : "port, tcp, address and bitrate"
            throw fault("unknown key \(quotedKey(key)); known are \(known)")
        }
    }

    private static func isAddress(_ text: Substring) -> Bool {
        // inet_pton ends at a NUL byte.
        guard !text.utf8.contains(0) else { return false }
        var bytes = in6_addr()
        return [AF_INET, AF_INET6].contains { inet_pton($0, String(text), &bytes) == 1 }
    }

    /// Whether `name` can name a place for calls.
    public static func isName(_ name: some StringProtocol) -> Bool {
        func isAlphanumeric(_ character: Character) -> Bool { character.isASCII && (character.isLetter || character.isNumber) }
        guard (1...64).contains(name.utf8.count), let first = name.first, isAlphanumeric(first) else { return false }
        return name.allSatisfy { isAlphanumeric($0) || $0 == "." || $0 == "_" || $0 == "-" }
    }

    private func fault(_ message: String) -> TransportError {
        TransportError(.badURL, place: "\(side.rawValue):\(name)", message)
    }
}

extension CallEndpoint: CustomStringConvertible {
    public var description: String {
        var pairs = (port == 0 ? [] : ["port=\(port)"]) + (tcp.map { ["tcp=\($0)"] } ?? []) + addresses.map { "address=\($0)" }
        if let viewers { pairs.append("viewers=\(viewers)") }
        if let small { pairs.append("small=\(small)") }
        if let bitRate { pairs.append("bitrate=\(bitRateText(bitRate))") }
        return "\(side.rawValue):\(name)" + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}
