import Endpoint
import Glibc
import Media
import Synchronization

/// A UDP socket that is bound to an address (and joined to it, when it is a multicast group) or sends to one. Waits only in
/// ``wait(or:until:)``.
package struct DatagramSocket: ~Copyable {
    private let socket: Descriptor
    /// The port that it is bound to; 0 where it only sends.
    let localPort: UInt16
    /// When it was last found empty, or made, in monotonic nanoseconds: what is read later came later.
    private let emptyAt = Atomic<Int64>(MonotonicTime.now().nanoseconds)
    /// Belongs to the thread that reads.
    private let stamps = ThreadConfined(KernelStamps())

    /// A datagram that has come.
    package struct Arrived {
        package var byteCount: Int
        /// When the kernel got it, on the monotonic clock.
        package var time: MonotonicTime
        package var sender: SocketAddress
        /// It had more bytes than there was room for; those are gone.
        package var isCut: Bool
    }

    /// Receives what is sent to this address.
    /// - Parameter interface: where a multicast group is joined; nil for the one that the system chooses.
    package init(boundTo address: SocketAddress, interface: String? = nil, place: String) throws(TransportError) {
        let socket = try openUDP(address, place: place)
        // A burst of a second at 20 Mb/s each way; the kernel grants what it may.
        setInteger(socket.number, SOL_SOCKET, SO_RCVBUF, 4 << 20)
        setInteger(socket.number, SOL_SOCKET, SO_SNDBUF, 4 << 20)
        setInteger(socket.number, SOL_SOCKET, SO_TIMESTAMPNS, 1)
        // `::` stands for IPv4, too, whatever the machine's default is.
        if address.isAnyIPv6 { setInteger(socket.number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        if address.isMulticast { setInteger(socket.number, SOL_SOCKET, SO_REUSEADDR, 1) }
        guard unsafe address.withSockaddr({ unsafe bind(socket.number, $0, $1) }) == 0 else {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(Descriptor.lastError)")
        }
        let joined = try MulticastInterface(interface, for: address, place: place)
        if address.isMulticast && !joined.join(address, on: socket.number) {
            throw TransportError(.cannotBind, place: place, "cannot join the group: \(Descriptor.lastError)")
        }
        localPort = unsafe SocketAddress.filled { unsafe getsockname(socket.number, $0, $1) }?.port ?? 0
        self.socket = socket
    }

    /// Sends to this address.
    package init(
        sendingTo address: SocketAddress, _ multicast: MulticastOptions = MulticastOptions(), place: String
    ) throws(TransportError) {
        let socket = try openUDP(address, place: place)
        if multicast != MulticastOptions() {
            let interface = try MulticastInterface(multicast.interface, for: address, place: place)
            guard interface.choose(on: socket.number, ttl: multicast.ttl, for: address) else {
                throw TransportError(.unreachable, place: place, "cannot send that way: \(Descriptor.lastError)")
            }
        }
        // A keyframe goes out at once, and the kernel's default has room for about 90 datagrams. It gives as much as it may.
        setInteger(socket.number, SOL_SOCKET, SO_SNDBUF, 4 << 20)
        guard unsafe address.withSockaddr({ unsafe connect(socket.number, $0, $1) }) == 0 else {
            throw TransportError(.unreachable, place: place, "no way there: \(Descriptor.lastError)")
        }
        localPort = 0
        self.socket = socket
    }

    /// What it is bound to, or would send from.
    package var local: SocketAddress? { unsafe SocketAddress.filled { unsafe getsockname(socket.number, $0, $1) } }

    /// Where it receives.
    package func place(_ scheme: String) -> ListeningPlace {
        ListeningPlace(scheme: scheme, host: local?.host ?? "?", port: localPort)
    }

    /// For waiting on several sockets.
    package var number: Int32 { socket.number }

    /// Sends a datagram from a bound socket.
    package static func send(_ bytes: UnsafeRawBufferPointer, from number: Int32, to address: SocketAddress) -> Sent {
        for _ in 0..<2 {
            let count = unsafe address.withSockaddr {
                unsafe sendto(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, $1)
            }
            if count >= 0 { return .sent }
        }
        return errno == EAGAIN || errno == ENOBUFS ? .wouldBlock : .notConnected
    }

    /// Waits for a datagram.
    package func wait(or bell: Bell, until limit: MonotonicTime) -> Descriptor.Readiness {
        socket.wait(for: POLLIN, or: bell, until: limit)
    }

    /// Whether a reader that has not waited is to return: the bell was rung, or the time has come.
    func mustReturn(for bell: Bell, at limit: MonotonicTime) -> Bool {
        wait(or: bell, until: MonotonicTime(nanoseconds: 0)) == .interrupted || .now() >= limit
    }

    /// Reads the next datagram, if one has come: its first bytes into `head`, the others into `body`.
    package func receive(_ head: UnsafeMutableRawBufferPointer, _ body: UnsafeMutableRawBufferPointer) -> Arrived? {
        // Room for one control message with a timespec: header 16, payload 16, aligned.
        var control: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        var pieces = unsafe (
            iovec(iov_base: head.baseAddress, iov_len: head.count), iovec(iov_base: body.baseAddress, iov_len: body.count)
        )
        var count = -1
        var flags: Int32 = 0
        let asked = MonotonicTime.now()
        let sender = unsafe SocketAddress.filled { name, length in
            unsafe withUnsafeMutableBytes(of: &control) { control in
                unsafe withUnsafeMutableBytes(of: &pieces) { pieces in
                    var header = unsafe msghdr()
                    unsafe header.msg_name = UnsafeMutableRawPointer(name)
                    unsafe header.msg_namelen = length.pointee
                    unsafe header.msg_iov = pieces.baseAddress?.assumingMemoryBound(to: iovec.self)
                    unsafe header.msg_iovlen = 2
                    unsafe header.msg_control = control.baseAddress
                    unsafe header.msg_controllen = control.count
                    count = unsafe recvmsg(socket.number, &header, Int32(MSG_DONTWAIT))
                    flags = unsafe header.msg_flags
                    unsafe length.pointee = header.msg_namelen
                }
            }
            return count < 0 ? -1 : 0
        }
        guard let sender else {
            emptyAt.store(asked.nanoseconds, ordering: .relaxed)
            return nil
        }
        let wasCut = flags & Int32(MSG_TRUNC) != 0
        var arrived = Arrived(byteCount: count, time: .now(), sender: sender, isCut: wasCut)
        // cmsghdr: length (8 bytes), level (4), type (4), then the stamp.
        guard control.1 == UInt64(SOL_SOCKET) | UInt64(SO_TIMESTAMPNS) << 32 else { return arrived }
        let stamp = Int64(control.2) * 1_000_000_000 + Int64(control.3)
        let stamped = stamps.use { $0.arrival(stamp: stamp, .read()) }
        arrived.time = Self.arrival(
            age: (arrived.time - stamped).count, now: arrived.time,
            earliest: MonotonicTime(nanoseconds: emptyAt.load(ordering: .relaxed)))
        return arrived
    }

    /// When something came that seems to have this age. Never later than now, and never before the socket was last empty.
    static func arrival(age: Int64, now: MonotonicTime, earliest: MonotonicTime) -> MonotonicTime {
        now - min(max(.zero, Nanoseconds(age)), max(.zero, now - earliest))
    }

    /// Sends a datagram made of two pieces.
    func send(_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> Sent {
        var pieces = unsafe (
            iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count),
            iovec(iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress), iov_len: body.count)
        )
        return unsafe withUnsafeMutableBytes(of: &pieces) { pieces in
            var header = unsafe msghdr()
            unsafe header.msg_iov = pieces.baseAddress?.assumingMemoryBound(to: iovec.self)
            unsafe header.msg_iovlen = 2
            // A connected socket first reports that nobody listened to an earlier datagram; this one can still go.
            for _ in 0..<2 where unsafe sendmsg(socket.number, &header, Int32(MSG_NOSIGNAL)) >= 0 { return .sent }
            return errno == EAGAIN || errno == ENOBUFS ? .wouldBlock : .notConnected
        }
    }
}

/// An unbound, non-blocking UDP socket of the address's family.
package func openUDP(_ address: SocketAddress, place: String) throws(TransportError) -> Descriptor {
    let number = socket(
        address.family, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw TransportError(.system, place: place, "no socket: \(Descriptor.lastError)") }
    return Descriptor(owning: number)
}

@discardableResult
func setInteger(_ number: Int32, _ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
    unsafe withUnsafePointer(to: value) { unsafe setsockopt(number, level, option, $0, 4) } == 0
}
