import Media

/// What became of a packet that was to be sent.
public enum PacketSent: Hashable, Sendable {
    case sent
    /// The call is not up yet, or is over.
    case notConnected
    /// The kernel has no room: the packet is lost.
    case wouldBlock
    /// It is no packet, or there is no room behind it for the tag.
    case malformed
}

/// One peer of a ``WebRTCPort``: the side that sends. Thread-safe; sending allocates nothing and never waits for the network.
public final class Peer: Sendable {
    public let id: PeerID
    let receiver: any PeerReceiver
    private let output: any DatagramOutput
    private let outbound = Lock(Outbound())

    /// Everything between a packet and the network, under one lock: the protection counts packets, and they leave in its order.
    private struct Outbound: ~Copyable {
        static let scratchSize = 2048
        var session: SRTPSession?
        var address: PeerAddress?
        var statistics = Statistics()
        /// For copies.
        let scratch = AlignedMemory(byteCount: scratchSize)
    }

    /// What was sent.
    public struct Statistics: Hashable, Sendable {
        public var packetsSent: Int64 = 0
        public var bytesSent: Int64 = 0
        /// The kernel had no room for them.
        public var packetsLost: Int64 = 0
        public var packetsMalformed: Int64 = 0
    }

    init(id: PeerID, receiver: any PeerReceiver, output: any DatagramOutput) {
        (self.id, self.receiver, self.output) = (id, receiver, output)
    }

    /// There must be so many bytes behind a packet in the buffer it is sent from.
    public static let trailerRoom = SRTPSession.trailerRoom

    /// Protects the packet in the buffer's first `count` bytes in place, and sends it. The buffer holds no packet afterwards.
    ///
    /// The same source and sequence number may be sent twice only with the same bytes, header extensions too: AES-GCM tells an
    /// observer its key otherwise.
    /// - Parameter buffer: has ``trailerRoom`` bytes more than the packet.
    public func send(_ kind: PacketKind, _ buffer: UnsafeMutableRawBufferPointer, count: Int) -> PacketSent {
        let lent = unsafe LentBuffer(buffer)
        return outbound.withLock { unsafe transmit(kind, lent.bytes, count: count, &$0) }
    }

    /// Sends a copy of a packet, and leaves the packet as it is.
    public func send(_ kind: PacketKind, copying packet: UnsafeRawBufferPointer) -> PacketSent {
        let lent = unsafe LentBuffer(UnsafeMutableRawBufferPointer(mutating: packet))
        return outbound.withLock { outbound in
            let packet = unsafe lent.bytes
            guard packet.count + Self.trailerRoom <= Outbound.scratchSize else {
                outbound.statistics.packetsMalformed += 1
                return .malformed
            }
            let scratch = unsafe UnsafeMutableRawBufferPointer(start: outbound.scratch.pointer(), count: Outbound.scratchSize)
            unsafe scratch.copyMemory(from: UnsafeRawBufferPointer(packet))
            return unsafe transmit(kind, scratch, count: packet.count, &outbound)
        }
    }

    private func transmit(
        _ kind: PacketKind, _ buffer: UnsafeMutableRawBufferPointer, count: Int, _ outbound: inout Outbound
    ) -> PacketSent {
        guard let address = outbound.address, outbound.session != nil else { return .notConnected }
        guard let size = unsafe outbound.session!.protect(kind, buffer, count: count) else {
            outbound.statistics.packetsMalformed += 1
            return .malformed
        }
        let datagram = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<size])
        guard unsafe output.send(datagram, to: address) else {
            outbound.statistics.packetsLost += 1
            return .wouldBlock
        }
        outbound.statistics.packetsSent += 1
        outbound.statistics.bytesSent += Int64(size)
        return .sent
    }

    public func statistics() -> Statistics { outbound.withLock { $0.statistics } }

    /// Whether packets can be sent.
    public var isConnected: Bool { outbound.withLock { $0.address != nil && $0.session != nil } }

    /// Where packets go; nil before the call is up, and after it.
    public var address: PeerAddress? { outbound.withLock { $0.address } }

    // MARK: For the receiving side

    func connect(_ keys: SRTPKeys, at address: PeerAddress?) -> Bool {
        outbound.withLock { outbound in
            outbound.session = SRTPSession(keys.profile, key: keys.local, .outbound)
            outbound.address = address
            return outbound.session != nil
        }
    }

    /// - Parameter address: nil while nothing may be sent anywhere.
    func move(to address: PeerAddress?) { outbound.withLock { $0.address = address } }

    func disconnect() {
        outbound.withLock { outbound in
            outbound.session = nil
            outbound.address = nil
        }
    }
}
