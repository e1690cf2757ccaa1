extension SessionDescription {
    /// Reads a description. Lines may end in CR LF or in LF, with spaces before it, as devices and editors write them.
    /// - Throws: ``SDPFault``, which names the line.
    public init(parsing text: String) throws(SDPFault) {
        self.init()
        guard text.utf8.count <= Limit.bytes else {
            throw SDPFault(line: 0, "a session description has at most \(Limit.bytes) bytes")
        }
        var reader = SDPReader(self)
        for line in text.utf8.trimmingPrefix("\u{FEFF}".utf8).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            try reader.read(line[..<(line.lastIndex { !$0.isBlank }.map(line.index(after:)) ?? line.startIndex)])
        }
        guard reader.hasVersion else { throw SDPFault(line: 0, "it is empty; a session description begins with v=0") }
        self = reader.description
    }
}

/// Reads a description line by line.
private struct SDPReader {
    var description: SessionDescription
    var hasVersion = false
    private var number = 0
    private var attributes = 0

    init(_ description: SessionDescription) { self.description = description }

    mutating func read(_ line: Substring.UTF8View) throws(SDPFault) {
        number += 1
        if line.isEmpty { return }
        guard line.count <= SessionDescription.Limit.lineBytes else {
            throw fault("it has more than \(SessionDescription.Limit.lineBytes) bytes")
        }
        guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else {
            throw fault("it has a control character")
        }
        guard line.count >= 2, line[line.index(after: line.startIndex)] == UInt8(ascii: "=") else {
            throw fault("a line has a letter, = and a value, as in v=0")
        }
        let value = Substring(line.dropFirst(2))
        guard hasVersion || line.first == UInt8(ascii: "v") else { throw fault("a session description begins with v=0") }
        switch line.first {
        case UInt8(ascii: "v"):
            guard value == "0" else { throw fault("v=0 is the only version") }
            hasVersion = true
        case UInt8(ascii: "o"): description.origin = try origin(value)
        case UInt8(ascii: "s"): description.name = String(value)
        case UInt8(ascii: "c"): try setConnection(value)
        case UInt8(ascii: "m"): try beginSection(value)
        case UInt8(ascii: "a"): try add(value)
        // Lines that nobody here needs.
        default: break
        }
    }

    private func fault(_ message: String) -> SDPFault { SDPFault(line: number, message) }

    private func words(_ text: Substring) -> [Substring] {
        text.utf8.split(omittingEmptySubsequences: true, whereSeparator: \.isBlank).map { Substring($0) }
    }

    private func origin(_ value: Substring) throws(SDPFault) -> SessionDescription.Origin {
        var parts = words(value)
        guard parts.count >= 6 else { throw fault("o= has six words: o=- 1 1 IN IP4 127.0.0.1") }
        // Some users have names of several words.
        let user = parts.prefix(parts.count - 5).joined(separator: "-")
        parts.removeFirst(parts.count - 5)
        return .init(user: user, session: String(parts[0]), version: String(parts[1]), address: String(parts[4]))
    }

    /// `IN IP4 224.2.1.1/127/3`: behind a slash stand the reach and the number of multicast groups.
    private mutating func setConnection(_ value: Substring) throws(SDPFault) {
        let parts = words(value)
        guard parts.count == 3, parts[0] == "IN", parts[1] == "IP4" || parts[1] == "IP6" else {
            throw fault("c= names an address: c=IN IP4 127.0.0.1")
        }
        let address = String(parts[2].splitOnce(at: "/").0)
        guard !address.isEmpty else { throw fault("c= names no address") }
        if description.media.isEmpty {
            description.connection = address
        } else {
            description.media[description.media.count - 1].connection = address
        }
    }

    private mutating func beginSection(_ value: Substring) throws(SDPFault) {
        let parts = words(value)
        guard parts.count >= 4 else { throw fault("m= has a kind, a port, a transport and formats: m=video 5004 RTP/AVP 96") }
        guard description.media.count < SessionDescription.Limit.sections else {
            throw fault("a description has at most \(SessionDescription.Limit.sections) sections")
        }
        guard parts.count - 3 <= SessionDescription.Limit.formats else {
            throw fault("a section has at most \(SessionDescription.Limit.formats) formats")
        }
        let (port, _) = parts[1].splitOnce(at: "/")
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(port) else {
            throw fault("\(quoted(parts[1])) is not a port; give 0 to 65535")
        }
        description.media.append(
            MediaSection(
                kind: String(parts[0]), port: port, transport: String(parts[2]), formats: parts[3...].map(String.init)))
    }

    private mutating func add(_ value: Substring) throws(SDPFault) {
        attributes += 1
        guard attributes <= SessionDescription.Limit.attributes else {
            throw fault("a description has at most \(SessionDescription.Limit.attributes) attributes")
        }
        let (name, rest) = value.splitOnce(at: ":")
        guard !name.isEmpty else { throw fault("a= names no attribute") }
        let attribute = SDPAttribute(String(name), rest.map(String.init))
        if description.media.isEmpty {
            description.attributes.append(attribute)
        } else {
            description.media[description.media.count - 1].attributes.append(attribute)
        }
    }
}

extension UInt8 {
    /// A space or a tab.
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
