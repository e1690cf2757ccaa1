import Glibc

/// One end of a `SOCK_SEQPACKET` pair: packets with descriptors beside them (`SCM_RIGHTS`, unix(7)). Never waits.
///
/// Thread-safe: the kernel keeps packets whole.
struct PacketSocket: ~Copyable, Sendable {
    let number: Int32

    /// The size of a `cmsghdr`: length (8 bytes), level (4), type (4).
    private static let headerSize = 16
    private static let controlSize = headerSize + 4 * MessageCoding.mostDescriptors

    enum Outcome: Equatable { case sent, full, closed }

    enum Incoming {
        case packet([UInt8], [PassedDescriptor])
        /// It has more bytes or descriptors than a message may have. What came of it is closed.
        case oversized
        case closed
    }

    /// - Parameter number: owned from now on.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Both ends. They are closed in programs that this process starts, unless it passes them on by intent.
    static func pair() throws(MessageFault) -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw MessageFault("no socket pair for a worker: \(unsafe String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    /// - Parameter descriptors: stay the caller's. At most ``MessageCoding/mostDescriptors``.
    func send(_ bytes: [UInt8], _ descriptors: [Int32]) -> Outcome {
        precondition(descriptors.count <= MessageCoding.mostDescriptors, "too many descriptors for one message")
        let used = descriptors.isEmpty ? 0 : Self.headerSize + 4 * descriptors.count
        return unsafe withUnsafeTemporaryAllocation(byteCount: Self.controlSize, alignment: 8) { control in
            unsafe control.initializeMemory(as: UInt8.self, repeating: 0)
            unsafe control.storeBytes(of: UInt64(used), as: UInt64.self)
            unsafe control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
            unsafe control.storeBytes(of: Self.rights, toByteOffset: 12, as: Int32.self)
            for (index, descriptor) in descriptors.enumerated() {
                unsafe control.storeBytes(of: descriptor, toByteOffset: Self.headerSize + 4 * index, as: Int32.self)
            }
            return unsafe bytes.withUnsafeBytes { bytes in
                var piece = unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                return unsafe withUnsafeMutablePointer(to: &piece) { piece in
                    var header = unsafe msghdr()
                    unsafe header.msg_iov = piece
                    unsafe header.msg_iovlen = 1
                    if used > 0 {
                        unsafe header.msg_control = control.baseAddress
                        // The last cmsghdr is padded to eight bytes.
                        unsafe header.msg_controllen = (used + 7) & ~7
                    }
                    while true {
                        if unsafe sendmsg(number, &header, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) >= 0 { return .sent }
                        if errno == EINTR { continue }
                        return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? .full : .closed
                    }
                }
            }
        }
    }

    /// The next packet; nil while there is none.
    func receive() -> Incoming? {
        let size = MessageCoding.largestMessage
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            unsafe withUnsafeTemporaryAllocation(byteCount: Self.controlSize, alignment: 8) { control in
                var piece = unsafe iovec(iov_base: buffer.baseAddress, iov_len: size)
                var header = unsafe msghdr()
                let count = unsafe withUnsafeMutablePointer(to: &piece) { piece in
                    unsafe header.msg_iov = piece
                    unsafe header.msg_iovlen = 1
                    unsafe header.msg_control = control.baseAddress
                    unsafe header.msg_controllen = control.count
                    while true {
                        let count = unsafe recvmsg(number, &header, Int32(MSG_DONTWAIT) | Int32(MSG_CMSG_CLOEXEC))
                        // The other end closed before it had read everything: what it sent before comes after this error.
                        if count >= 0 || errno != EINTR && errno != ECONNRESET { return count }
                    }
                }
                if count < 0 { return errno == EAGAIN ? nil : .closed }
                let descriptors = unsafe Self.descriptors(
                    in: UnsafeRawBufferPointer(rebasing: control[..<min(header.msg_controllen, control.count)]))
                // A packet of no bytes is no message, and the end looks the same.
                if count == 0 { return .closed }
                let cut = unsafe header.msg_flags & (Int32(MSG_TRUNC) | Int32(MSG_CTRUNC))
                if cut != 0 { return .oversized }
                return .packet(unsafe Array(buffer[..<count]), descriptors)
            }
        }
    }

    /// `SCM_RIGHTS`.
    private static let rights: Int32 = 1

    private static func descriptors(in control: UnsafeRawBufferPointer) -> [PassedDescriptor] {
        var result: [PassedDescriptor] = []
        var start = 0
        while start + headerSize <= control.count {
            let length = Int(unsafe control.load(fromByteOffset: start, as: UInt64.self))
            guard length >= headerSize, start + length <= control.count else { break }
            let kind = unsafe (
                control.load(fromByteOffset: start + 8, as: Int32.self),
                control.load(fromByteOffset: start + 12, as: Int32.self)
            )
            if kind == (SOL_SOCKET, rights) {
                for at in stride(from: start + headerSize, to: start + length - 3, by: 4) {
                    result.append(PassedDescriptor(owning: unsafe control.load(fromByteOffset: at, as: Int32.self)))
                }
            }
            start += (length + 7) & ~7
        }
        return result
    }
}
