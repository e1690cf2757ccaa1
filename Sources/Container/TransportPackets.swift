import Media

/// Transport packets that pass as they are: one to seven of 188 bytes, in the order in which they came.
@safe public struct TransportPackets {
    /// Valid only until the handler returns.
    @unsafe public let bytes: UnsafeRawBufferPointer
    /// When the message with them arrived.
    public let arrival: MonotonicTime
    /// When the sender sent it, on this machine's clock; nil where that is not known.
    public let sourceTime: MonotonicTime?

    public var count: Int { unsafe bytes.count / TransportPacket.size }
}
