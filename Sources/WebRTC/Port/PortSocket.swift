import CSRTP  // Some of the kernel's names are filed under whichever module includes them first.
import Endpoint
import Glibc
import Media

/// A UDP socket that talks to many peers: one IPv4 address, one IPv6 address, or all of both. Any thread sends; one receives.
struct PortSocket: ~Copyable {
    private let number: Int32
    private let isIPv6: Bool
    /// What it is bound to. `::` stands for IPv4, too.
    let local: PeerAddress
    /// Ends a wait: a pipe that is readable once somebody has written to it.
    private let bell: (read: Int32, write: Int32)

    struct Arrived {
        var byteCount: Int
        /// When the kernel got it, on the monotonic clock.
        var time: MonotonicTime
        var sender: PeerAddress
        /// It had more bytes than the buffer; those are gone.
        var isCut: Bool
    }

    init(boundTo address: PeerAddress) throws(TransportError) {
        let place = "webrtc \(address)"
        isIPv6 = address.ipv4 == nil
        let number = socket(
            isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw TransportError(.system, place: place, "no socket: \(Self.lastError)") }
        func fail(_ code: TransportError.Code, _ text: String) -> TransportError {
            let error = TransportError(code, place: place, "\(text): \(Self.lastError)")
            Glibc.close(number)
            return error
        }
        // A burst of a second at 20 Mb/s each way; the kernel grants what it may.
        Self.set(number, SOL_SOCKET, SO_RCVBUF, 4 << 20)
        Self.set(number, SOL_SOCKET, SO_SNDBUF, 4 << 20)
        Self.set(number, SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if isIPv6 { Self.set(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        var storage = SocketStorage(address, isIPv6: isIPv6)
        guard unsafe storage.withPointer({ unsafe bind(number, $0, $1) }) == 0 else {
            throw fail(.cannotBind, "cannot listen there")
        }
        guard let local = unsafe SocketStorage.filled(isIPv6: isIPv6, by: { unsafe getsockname(number, $0, $1) }) else {
            throw fail(.system, "no local address")
        }
        var ends: (Int32, Int32) = (-1, -1)
        let code = unsafe withUnsafeMutableBytes(of: &ends) {
            unsafe pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self))
        }
        guard code == 0 else { throw fail(.system, "no pipe") }
        for end in [ends.0, ends.1] {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        self.number = number
        self.local = local
        bell = (ends.0, ends.1)
    }

    deinit {
        close(number)
        close(bell.read)
        close(bell.write)
    }

    private static var lastError: String { unsafe String(cString: strerror(errno)) }

    private static func set(_ number: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        _ = unsafe withUnsafePointer(to: value) { unsafe setsockopt(number, level, option, $0, 4) }
    }

    /// Ends the present wait, or the next one. Any thread.
    func interrupt() {
        var byte: UInt8 = 1
        _ = unsafe write(bell.write, &byte, 1)
    }

    /// Waits for a datagram, for ``interrupt()``, or for the time.
    func wait(until limit: MonotonicTime) {
        var descriptors = (
            pollfd(fd: number, events: Int16(POLLIN), revents: 0), pollfd(fd: bell.read, events: Int16(POLLIN), revents: 0)
        )
        let left = max((limit - .now()).count, 0)
        let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
        _ = unsafe withUnsafeMutablePointer(to: &descriptors) {
            unsafe $0.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, milliseconds) }
        }
        if descriptors.1.revents != 0 {
            var bytes: UInt64 = 0
            while unsafe read(bell.read, &bytes, 8) > 0 {}
        }
    }

    /// Reads the next datagram, if one has come.
    /// - Parameter stamps: those of this socket.
    func receive(into buffer: UnsafeMutableRawBufferPointer, _ stamps: inout KernelStamps) -> Arrived? {
        // Room for one control message with a timespec: header 16, payload 16, aligned.
        var control: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
        var count = -1
        var flags: Int32 = 0
        var piece = unsafe iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        let sender = unsafe SocketStorage.filled(isIPv6: isIPv6) { name, length in
            unsafe withUnsafeMutableBytes(of: &control) { control in
                unsafe withUnsafeMutablePointer(to: &piece) { piece in
                    var header = unsafe msghdr()
                    unsafe header.msg_name = UnsafeMutableRawPointer(name)
                    unsafe header.msg_namelen = length.pointee
                    unsafe header.msg_iov = piece
                    unsafe header.msg_iovlen = 1
                    unsafe header.msg_control = control.baseAddress
                    unsafe header.msg_controllen = control.count
                    count = unsafe recvmsg(number, &header, Int32(MSG_DONTWAIT))
                    flags = unsafe header.msg_flags
                }
            }
            return count < 0 ? -1 : 0
        }
        guard let sender else { return nil }
        var time = MonotonicTime.now()
        // cmsghdr: length (8 bytes), level (4), type (4), then the stamp.
        if control.1 == UInt64(SOL_SOCKET) | UInt64(SO_TIMESTAMPNS) << 32 {
            time = stamps.arrival(stamp: Int64(control.2) * 1_000_000_000 + Int64(control.3), .read())
        }
        return Arrived(byteCount: count, time: time, sender: sender, isCut: flags & Int32(MSG_TRUNC) != 0)
    }

    /// Sends a datagram. Any thread.
    func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool {
        var storage = SocketStorage(address, isIPv6: isIPv6)
        return unsafe storage.withPointer { name, length in
            unsafe sendto(number, datagram.baseAddress, datagram.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), name, length)
        } >= 0
    }
}

/// An address in the kernel's form.
struct SocketStorage {
    private var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private var length: socklen_t

    /// - Parameter isIPv6: the socket's family. An IPv4 address has IPv6's form in an IPv6 socket.
    init(_ address: PeerAddress, isIPv6: Bool) {
        if isIPv6 {
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = address.port.bigEndian
            unsafe withUnsafeMutableBytes(of: &name.sin6_addr) {
                unsafe $0.storeBytes(of: address.ipv6.high.bigEndian, as: UInt64.self)
                unsafe $0.storeBytes(of: address.ipv6.low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            unsafe withUnsafeMutableBytes(of: &bytes) { unsafe $0.storeBytes(of: name, as: sockaddr_in6.self) }
        } else {
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = address.port.bigEndian
            name.sin_addr.s_addr = (address.ipv4 ?? 0).bigEndian
            unsafe withUnsafeMutableBytes(of: &bytes) { unsafe $0.storeBytes(of: name, as: sockaddr_in.self) }
        }
    }

    mutating func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        let length = length
        return unsafe withUnsafeMutableBytes(of: &bytes) {
            unsafe body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// The address that a call of the kernel writes; nil when the call fails.
    static func filled(
        isIPv6: Bool, by body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> PeerAddress? {
        var storage = SocketStorage(PeerAddress(ipv4: 0, port: 0), isIPv6: isIPv6)
        var length = socklen_t(MemoryLayout.size(ofValue: storage.bytes))
        return unsafe withUnsafeMutableBytes(of: &storage.bytes) { bytes in
            guard unsafe body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length) >= 0 else { return nil }
            let port = unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            guard isIPv6 else {
                return PeerAddress(
                    ipv4: unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)), port: port)
            }
            // Family, port, flow, then the address.
            return PeerAddress(
                ipv6: unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)), port: port)
        }
    }
}
