/// What attributes of one level say. A session and a section have the same way of asking for them.
public protocol SDPAttributeHolder {
    var attributes: [SDPAttribute] { get set }
}

extension SessionDescription: SDPAttributeHolder {}
extension MediaSection: SDPAttributeHolder {}

extension SDPAttributeHolder {
    /// The first value of a name; empty for a flag, nil where there is none.
    public func value(of name: String) -> String? {
        attributes.first { $0.name == name }.map { $0.value ?? "" }
    }

    /// All values of a name.
    public func values(of name: String) -> [String] { attributes.compactMap { $0.name == name ? $0.value : nil } }

    public func has(_ name: String) -> Bool { attributes.contains { $0.name == name } }

    public mutating func add(_ name: String, _ value: String? = nil) { attributes.append(SDPAttribute(name, value)) }

    /// The values of `a=name:KEY rest` by key, the first of each key. Some devices write more than one space.
    func keyed(_ name: String) -> [(key: Substring, rest: Substring)] {
        values(of: name).map { value in
            let (key, rest) = value.drop { $0 == " " }.splitOnce(at: " ")
            return (key, rest?.drop { $0 == " " } ?? "")
        }
    }

    // What stands at either level.

    public var iceUser: String? { value(of: "ice-ufrag") }
    public var icePassword: String? { value(of: "ice-pwd") }
    public var setup: SDPSetup? { value(of: "setup").flatMap(SDPSetup.init) }

    /// The certificates' fingerprints (RFC 8122).
    public var fingerprints: [SDPFingerprint] { keyed("fingerprint").compactMap { SDPFingerprint($0.key, $0.rest) } }

    /// The addresses at which the other side may be reached.
    public var candidates: [ICECandidate] { values(of: "candidate").compactMap { ICECandidate(parsing: $0) } }

    public var direction: SDPDirection? {
        attributes.lazy.compactMap { $0.value == nil ? SDPDirection(rawValue: $0.name) : nil }.first
    }

    /// Header extensions by their numbers (RFC 8285).
    public var headerExtensions: [SDPHeaderExtension] {
        keyed("extmap").compactMap { key, rest in
            let (number, direction) = key.splitOnce(at: "/")
            guard let id = Int(number), (1...255).contains(id), !rest.isEmpty else { return nil }
            let uri = rest.splitOnce(at: " ").0
            return SDPHeaderExtension(
                id: id, uri: String(uri), direction: direction.flatMap { SDPDirection(rawValue: String($0)) })
        }
    }
}

/// Which way media goes, seen from the one who writes the description.
public enum SDPDirection: String, CaseIterable, Sendable {
    case sendAndReceive = "sendrecv"
    case sendOnly = "sendonly"
    case receiveOnly = "recvonly"
    case inactive

    /// What an answer says to an offer of this direction, at most.
    public var answered: SDPDirection {
        switch self {
        case .sendAndReceive, .inactive: self
        case .sendOnly: .receiveOnly
        case .receiveOnly: .sendOnly
        }
    }
}

/// Who begins the DTLS handshake (RFC 5763).
public enum SDPSetup: String, CaseIterable, Sendable {
    case active, passive
    /// The answerer chooses.
    case either = "actpass"
    case holdConnection = "holdconn"
}

/// A certificate's fingerprint (RFC 8122): `sha-256 AB:CD:…`.
public struct SDPFingerprint: Hashable, Sendable {
    /// In lower case.
    public var algorithm: String
    public var bytes: [UInt8]

    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    init?(_ algorithm: Substring, _ text: Substring) {
        var bytes: [UInt8] = []
        for pair in text.split(separator: ":", omittingEmptySubsequences: false) {
            // A sign is no digit.
            guard pair.utf8.count == 2, pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16), bytes.count < 64
            else { return nil }
            bytes.append(byte)
        }
        guard !algorithm.isEmpty, !bytes.isEmpty else { return nil }
        self.init(algorithm: algorithm.lowercased(), bytes: bytes)
    }

    /// As the attribute `fingerprint` has it.
    public var text: String {
        let digits = Array("0123456789ABCDEF")
        let pairs = bytes.map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
        return "\(algorithm) \(pairs.joined(separator: ":"))"
    }
}

/// A header extension that is agreed on: its number in the packets, and what it means.
public struct SDPHeaderExtension: Hashable, Sendable {
    public var id: Int
    public var uri: String
    /// Nil for both ways.
    public var direction: SDPDirection?

    public init(id: Int, uri: String, direction: SDPDirection? = nil) {
        self.id = id
        self.uri = uri
        self.direction = direction
    }

    /// As the attribute `extmap` has it.
    public var text: String { "\(id)\(direction.map { "/\($0.rawValue)" } ?? "") \(uri)" }
}

/// An address at which a side may be reached (RFC 8839, 5.1). Candidates of TCP and host names of mDNS are read, too.
public struct ICECandidate: Hashable, Sendable {
    public var foundation: String
    /// 1 for RTP, 2 for RTCP where they are apart.
    public var component: Int
    /// In lower case: `udp` or `tcp`.
    public var transport: String
    public var priority: UInt32
    public var address: String
    public var port: UInt16
    /// `host`, `srflx`, `prflx` or `relay`.
    public var kind: String
    /// Of TCP: `active`, `passive` or `so` (RFC 6544, 4.5).
    public var tcpType: String?

    public init(
        foundation: String, component: Int = 1, transport: String = "udp", priority: UInt32, address: String, port: UInt16,
        kind: String = "host", tcpType: String? = nil
    ) {
        self.tcpType = tcpType
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.port = port
        self.kind = kind
    }

    /// Reads an attribute's value, or a line of trickle ICE that still has `candidate:` or `a=candidate:` before it.
    public init?(parsing text: String) {
        var rest = text[...]
        for prefix in ["a=", "candidate:"] where rest.hasPrefix(prefix) { rest = rest.dropFirst(prefix.count) }
        let words = rest.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count >= 8, words[6] == "typ", let component = Int(words[1]), (1...256).contains(component),
            let priority = UInt32(words[3]), let port = UInt16(words[5])
        else { return nil }
        self.init(
            foundation: String(words[0]), component: component, transport: words[2].lowercased(), priority: priority,
            address: String(words[4]), port: port, kind: String(words[7]))
        // Pairs of a name and a value follow.
        for at in stride(from: 8, to: words.count - 1, by: 2) where words[at] == "tcptype" { tcpType = String(words[at + 1]) }
    }

    /// As the attribute `candidate` has it.
    public var text: String {
        "\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(kind)"
            + (tcpType.map { " tcptype \($0)" } ?? "")
    }
}
