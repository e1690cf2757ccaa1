/// A set of packet identifiers (PIDs, 13 bits: ISO/IEC 13818-1, 2.4.3.3). It takes 1,024 bytes, whatever it holds.
public struct PacketIdentifiers: Hashable, Sendable {
    private var words = [UInt64](repeating: 0, count: 128)
    public private(set) var count = 0

    public init() {}

    public func contains(_ pid: Int) -> Bool { words[pid >> 6 & 127] >> UInt64(pid & 63) & 1 == 1 }

    /// Adds an identifier. Those of the association (0) and of null packets (0x1FFF), and what is none, are left out.
    public mutating func insert(_ pid: Int) {
        guard pid > 0, pid < TransportPacket.nullPID, !contains(pid) else { return }
        words[pid >> 6] |= 1 << UInt64(pid & 63)
        count += 1
    }
}
