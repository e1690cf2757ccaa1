import Glibc

/// Addresses as text.
enum LocalAddress {
    /// Whether `text` is an IPv4 or IPv6 address, without brackets.
    static func isAddress(_ text: String) -> Bool { bytes(of: text) != nil }

    /// Whether only this machine can reach it: 127.0.0.0/8, also as an IPv6 address, ::1 and the name `localhost`.
    static func isLoopback(_ text: String) -> Bool {
        guard let bytes = bytes(of: text) else { return text == "localhost" }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.count == 4 { return bytes[0] == 127 }
        if bytes.starts(with: mapped) { return bytes[12] == 127 }
        return bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// The address that an input binds for a session description's address: that one on this machine's loopback and for a
    /// group, and else any.
    static func bound(for host: String) -> String {
        if isLoopback(host) { return host }
        guard let bytes = bytes(of: host) else { return "" }
        let isGroup = bytes.count == 4 ? bytes[0] >> 4 == 14 : bytes[0] == 0xFF
        return isGroup ? host : ""
    }

    /// The 4 or 16 bytes of an address.
    private static func bytes(of text: String) -> [UInt8]? {
        // inet_pton ends at a NUL byte.
        guard !text.utf8.contains(0) else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Whether sockets bound to both addresses would meet: they are the same, or one is any address.
    static func overlap(_ a: String, _ b: String) -> Bool {
        let any = ["", "0.0.0.0", "::"]
        return a == b || any.contains(a) || any.contains(b)
    }
}
