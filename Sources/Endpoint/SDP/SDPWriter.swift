extension SessionDescription {
    /// The description as text, with lines that end in CR LF. What was read and written again says the same.
    public var text: String {
        var lines = ["v=0"]
        let origin = origin
        lines.append(
            "o=\(origin.user) \(origin.session) \(origin.version) IN \(Self.kind(of: origin.address)) \(origin.address)")
        lines.append("s=\(name.isEmpty ? "-" : name)")
        if let connection { lines.append(Self.line(connection: connection)) }
        lines.append("t=0 0")
        lines += attributes.map(\.line)
        for section in media {
            lines.append(
                "m=\(section.kind) \(section.port) \(section.transport) \(section.formats.joined(separator: " "))")
            if let connection = section.connection { lines.append(Self.line(connection: connection)) }
            lines += section.attributes.map(\.line)
        }
        // Nothing of a value begins another line.
        return lines.map { oneLine($0) + "\r\n" }.joined()
    }

    private static func line(connection: String) -> String { "c=IN \(kind(of: connection)) \(connection)" }
    private static func kind(of address: String) -> String { address.contains(":") ? "IP6" : "IP4" }
}

extension SDPAttribute {
    fileprivate var line: String { value.map { "a=\(name):\($0)" } ?? "a=\(name)" }
}
