import NIOCore

/// What the text of a host says about itself.
enum IPAddress {
    /// An address as it stands in a URL or a configuration: `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`.
    static func isAddress(_ host: some StringProtocol) -> Bool { parse(host) != nil }

    /// `localhost`, 127.0.0.0/8 or ::1.
    static func isLoopback(_ host: some StringProtocol) -> Bool {
        if host.lowercased() == "localhost" { return true }
        guard let address = parse(host) else { return false }
        return address == "::1" || address.hasPrefix("127.")
    }

    /// The address in its usual form.
    private static func parse(_ host: some StringProtocol) -> String? {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : String(host)
        return try? SocketAddress(ipAddress: bare, port: 0).ipAddress
    }
}
