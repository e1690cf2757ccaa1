import CSRT  // Some of the kernel's names are filed under whichever module includes them first.
import Endpoint
import Glibc

/// An IPv4 or IPv6 address with a port, in the kernel's form.
package struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private(set) var length: socklen_t = 0

    private init() {}

    /// Looks up a host's first address; blocks for as long as the resolver does.
    /// - Parameter host: a name, an address, or empty for any local IPv4 address.
    package static func resolve(host: String, port: UInt16, place: String) throws(TransportError) -> SocketAddress {
        try lookUp(host: host, port: port, place: place, flags: AI_NUMERICSERV)
    }

    /// The address of a host that is written as one; nil when it is a name. Never blocks.
    static func numeric(host: String, port: UInt16) -> SocketAddress? {
        try? lookUp(host: host, port: port, place: host, flags: AI_NUMERICSERV | AI_NUMERICHOST)
    }

    private static func lookUp(
        host: String, port: UInt16, place: String, flags: Int32
    ) throws(TransportError) -> SocketAddress {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        unsafe hints.ai_flags = flags
        var found: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host.isEmpty ? "0.0.0.0" : host, String(port), &hints, &found)
        guard code == 0, let first = unsafe found else {
            let reason = unsafe String(cString: gai_strerror(code))
            throw TransportError(.unresolvable, place: place, "no address for host \(quoted(host)): \(reason)")
        }
        defer { unsafe freeaddrinfo(first) }
        return unsafe SocketAddress(copying: first.pointee.ai_addr, length: first.pointee.ai_addrlen)
    }

    /// Copies an address that the kernel or a library handed out.
    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
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
    var isAnyIPv6: Bool {
        family == AF_INET6 && withIPv6 { unsafe withUnsafeBytes(of: $0.sin6_addr) { unsafe $0.allSatisfy { $0 == 0 } } }
    }

    /// Every local address of this address's family, with the given port.
    func anyAddress(port: UInt16) -> SocketAddress {
        var any = SocketAddress()
        any.length = length
        any.storage.ss_family = storage.ss_family
        return any.with(port: port)
    }

    /// This address with another port.
    func with(port: UInt16) -> SocketAddress {
        var other = self
        // The port lies at the same place in both families.
        unsafe withUnsafeMutableBytes(of: &other.storage) {
            unsafe $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
        }
        return other
    }

    var isMulticast: Bool {
        switch family {
        case AF_INET: withIPv4 { UInt32(bigEndian: $0.sin_addr.s_addr) >> 28 == 0xe }
        case AF_INET6: withIPv6 { unsafe withUnsafeBytes(of: $0.sin6_addr) { unsafe $0[0] == 0xff } }
        default: false
        }
    }

    /// Joins this multicast group, on the interface that the kernel chooses.
    func join(on socket: Int32) -> Bool {
        if family == AF_INET {
            var request = ip_mreq(imr_multiaddr: withIPv4 { $0.sin_addr }, imr_interface: in_addr(s_addr: 0))
            return unsafe setsockopt(
                socket, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, socklen_t(MemoryLayout<ip_mreq>.size)) == 0
        }
        var request = ipv6_mreq(ipv6mr_multiaddr: withIPv6 { $0.sin6_addr }, ipv6mr_interface: 0)
        return unsafe setsockopt(
            socket, Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, &request, socklen_t(MemoryLayout<ipv6_mreq>.size)) == 0
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
    package var description: String {
        var text: [CChar] = Array(repeating: 0, count: Int(NI_MAXHOST))
        let code = unsafe withSockaddr {
            unsafe getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        }
        guard code == 0 else { return "unknown address" }
        let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(bracketed(host)):\(port)"
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
