import Glibc
import Media
import Packets

/// One accepted TCP connection that carries packets with their lengths (RFC 4571). Any thread sends, one reads.
///
/// The kernel's send buffer is the queue, of the size that the listening socket's owner has set. A slow reader loses packets as by UDP:
/// where the buffer has no room, ``send(_:)`` sends nothing and says so. Of a packet that the kernel has taken in part the rest is kept,
/// at most one packet's.
final class TCPConnection: Sendable {
    let address: PeerAddress
    private let socket: Descriptor
    private let output = Lock(Output())

    private struct Output: ~Copyable {
        let memory = AlignedMemory(byteCount: FrameReader.largest + 2)
        /// Bytes of a packet that are still to be sent.
        var rest = 0..<0
        var isBroken = false
    }

    /// - Parameter number: owned from now on. It does not block.
    init(owning number: Int32, from address: PeerAddress) {
        socket = Descriptor(owning: number)
        self.address = address
    }

    var number: Int32 { socket.number }

    /// Sends a packet, or nothing of it.
    /// - Returns: false when the kernel has no room, or the connection is over.
    func send(_ packet: UnsafeRawBufferPointer) -> Bool {
        guard packet.count <= FrameReader.largest else { return false }
        let lent = unsafe LentBuffer(UnsafeMutableRawBufferPointer(mutating: packet))
        return output.withLock { output in
            guard flush(&output) else { return false }
            let packet = unsafe lent.bytes
            let memory = unsafe output.memory.pointer()
            unsafe memory.storeBytes(of: UInt16(packet.count).bigEndian, as: UInt16.self)
            unsafe (memory + 2).copyMemory(from: packet.baseAddress!, byteCount: packet.count)
            output.rest = 0..<packet.count + 2
            _ = flush(&output)
            // Nothing of it was sent: it is dropped.
            if output.rest.lowerBound == 0, !output.rest.isEmpty {
                output.rest = 0..<0
                return false
            }
            return !output.isBroken
        }
    }

    /// Sends what is left of a packet that the kernel has taken in part. Any thread; never waits.
    func flush() { output.withLock { _ = flush(&$0) } }

    /// - Returns: whether nothing is left.
    private func flush(_ output: inout Output) -> Bool {
        while !output.rest.isEmpty, !output.isBroken {
            let start = unsafe output.memory.pointer(at: output.rest.lowerBound)
            let count = unsafe Glibc.send(number, start, output.rest.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            if count < 0 {
                if errno == EINTR { continue }
                output.isBroken = errno != EAGAIN
                return false
            }
            output.rest = output.rest.lowerBound + count..<output.rest.upperBound
        }
        return !output.isBroken
    }

    /// What has come: the number of bytes; 0 where nothing has, and nil where nothing comes any more.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = unsafe recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { return count }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : nil
    }
}
