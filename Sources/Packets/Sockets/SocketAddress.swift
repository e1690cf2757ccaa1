import Endpoint
import Glibc

/// An IPv4 or IPv6 address with a port, in the kernel's form.
package struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private(set) var length: socklen_t = 0

    private init() {}

    /// Looks up a host's first address; blocks for as long as the system's resolver does.
    /// - Parameter host: a name, an address, or empty for any local IPv4 address.
    package static func resolve(host: String, port: UInt16, place: String) throws(TransportError) -> SocketAddress {
        if let address = numeric(host: host, port: port) { return address }
        var reason = "not an address"
        switch lookUp(host) {
        case .success(let found):
            if let address = numeric(host: found[0], port: port) { return address }
        case .failure(let fault): reason = fault.text
        }
        throw TransportError(.unresolvable, place: place, "no address for host \(quoted(host)): \(reason)")
    }

    /// The address of a host that is written as one; nil when it is a name. Never blocks.
    package static func numeric(host: String, port: UInt16) -> SocketAddress? {
        var found: SocketAddress?
        _ = each(of: host, port: port, flags: AI_NUMERICSERV | AI_NUMERICHOST) { if found == nil { found = $0 } }
        return found
    }

    /// Asks the system's resolver, and blocks until it answers.
    /// - Returns: one address at least, as text.
    package static func lookUp(_ host: String) -> Result<[String], NameFault> {
        var found: [String] = []
        let code = each(of: host, port: 0, flags: AI_NUMERICSERV) { found.append($0.host) }
        if code == 0 && !found.isEmpty { return .success(found) }
        return .failure(NameFault(unsafe String(cString: gai_strerror(code))))
    }

    private static func each(of host: String, port: UInt16, flags: Int32, _ body: (SocketAddress) -> Void) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        unsafe hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host.isEmpty ? "0.0.0.0" : host, String(port), &hints, &list)
        guard code == 0, let first = unsafe list else { return code }
        defer { unsafe freeaddrinfo(first) }
        var next: UnsafeMutablePointer<addrinfo>? = unsafe first
        while let entry = unsafe next {
            unsafe body(SocketAddress(copying: entry.pointee.ai_addr, length: entry.pointee.ai_addrlen))
            unsafe next = entry.pointee.ai_next
        }
        return code
    }

    /// An IPv4 address as a number: 0x7f000001 is 127.0.0.1.
    package init(ipv4: UInt32, port: UInt16) {
        length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = ipv4.bigEndian
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: name, as: sockaddr_in.self) }
    }

    /// An IPv6 address as two numbers: ::1 is (0, 1).
    package init(ipv6: (high: UInt64, low: UInt64), port: UInt16) {
        length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &name.sin6_addr) {
            unsafe $0.storeBytes(of: ipv6.high.bigEndian, as: UInt64.self)
            unsafe $0.storeBytes(of: ipv6.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: name, as: sockaddr_in6.self) }
    }

    /// The address as a number; nil where it is not IPv4.
    package var ipv4: UInt32? { family == AF_INET ? withIPv4 { UInt32(bigEndian: $0.sin_addr.s_addr) } : nil }

    /// The address as two numbers; nil where it is not IPv6.
    package var ipv6: (high: UInt64, low: UInt64)? {
        guard family == AF_INET6 else { return nil }
        return withIPv6 { name in
            unsafe withUnsafeBytes(of: name.sin6_addr) {
                (
                    unsafe UInt64(bigEndian: $0.load(as: UInt64.self)),
                    unsafe UInt64(bigEndian: $0.load(fromByteOffset: 8, as: UInt64.self))
                )
            }
        }
    }

    /// Copies an address that the kernel or a library handed out.
    package init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
        unsafe withUnsafeMutableBytes(of: &storage) {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
        }
    }

    /// Lets a C function read the address.
    package func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }

    /// Lets a C function write an address.
    package static func filled(
        by body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var address = SocketAddress()
        address.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var length = address.length
        let code = unsafe withUnsafeMutablePointer(to: &address.storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, &length) }
        }
        guard code >= 0 else { return nil }
        address.length = length
        return address
    }

    package var family: Int32 { Int32(storage.ss_family) }

    /// The IPv6 address `::`, which stands for IPv4 as well.
    package var isAnyIPv6: Bool {
        family == AF_INET6 && withIPv6 { unsafe withUnsafeBytes(of: $0.sin6_addr) { unsafe $0.allSatisfy { $0 == 0 } } }
    }

    /// Every local address of this address's family, with the given port.
    package func anyAddress(port: UInt16) -> SocketAddress {
        var any = SocketAddress()
        any.length = length
        any.storage.ss_family = storage.ss_family
        return any.with(port: port)
    }

    /// This address with another port.
    package func with(port: UInt16) -> SocketAddress {
        var other = self
        // The port lies at the same place in both families.
        unsafe withUnsafeMutableBytes(of: &other.storage) {
            unsafe $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
        }
        return other
    }

    /// Whether it is of this machine only: in 127.0.0.0/8, or ::1.
    package var isLoopback: Bool {
        switch family {
        case AF_INET: withIPv4 { UInt32(bigEndian: $0.sin_addr.s_addr) >> 24 == 127 }
        case AF_INET6:
            withIPv6 {
                unsafe withUnsafeBytes(of: $0.sin6_addr) { unsafe $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
            }
        default: false
        }
    }

    var isMulticast: Bool {
        switch family {
        case AF_INET: withIPv4 { UInt32(bigEndian: $0.sin_addr.s_addr) >> 28 == 0xe }
        case AF_INET6: withIPv6 { unsafe withUnsafeBytes(of: $0.sin6_addr) { unsafe $0[0] == 0xff } }
        default: false
        }
    }

    package var port: UInt16 {
        switch family {
        case AF_INET: withIPv4 { UInt16(bigEndian: $0.sin_port) }
        case AF_INET6: withIPv6 { UInt16(bigEndian: $0.sin6_port) }
        default: 0
        }
    }

    func withIPv4<Result>(_ body: (inout sockaddr_in) -> Result) -> Result {
        var copy = storage
        return unsafe withUnsafeMutablePointer(to: &copy) {
            unsafe $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe body(&$0.pointee) }
        }
    }

    func withIPv6<Result>(_ body: (inout sockaddr_in6) -> Result) -> Result {
        var copy = storage
        return unsafe withUnsafeMutablePointer(to: &copy) {
            unsafe $0.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { unsafe body(&$0.pointee) }
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `127.0.0.1:9000` or `[::1]:9000`.
    package var description: String { "\(bracketed(host)):\(port)" }

    /// The address without the port: `127.0.0.1` or `::1`.
    package var host: String {
        var text: [CChar] = Array(repeating: 0, count: Int(NI_MAXHOST))
        let code = unsafe withSockaddr {
            unsafe getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        }
        guard code == 0 else { return "unknown address" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension SocketAddress: Equatable {
    package static func == (a: Self, b: Self) -> Bool {
        guard a.family == b.family, a.port == b.port else { return false }
        switch a.family {
        case AF_INET: return a.withIPv4 { $0.sin_addr.s_addr } == b.withIPv4 { $0.sin_addr.s_addr }
        case AF_INET6:
            let left = a.withIPv6 { $0.sin6_addr }
            let right = b.withIPv6 { $0.sin6_addr }
            return unsafe withUnsafeBytes(of: left) { left in
                unsafe withUnsafeBytes(of: right) { unsafe left.elementsEqual($0) }
            }
        default: return false
        }
    }
}
