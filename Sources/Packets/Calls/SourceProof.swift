/// Shows which sources of a track really send: two of their packets came in sequence (RFC 3550, A.1). Anybody can forge one.
///
/// A pure value. Fixed memory, allocated by `init`.
struct SourceProof {
    /// More sources at a time are no call.
    private static let most = 8
    private var newest: [(source: UInt32, sequence: UInt16)] = []
    private var oldest = 0

    init() { newest.reserveCapacity(Self.most) }

    /// Records a packet.
    /// - Returns: whether it follows the one before of its source.
    mutating func observe(_ source: UInt32, _ sequence: UInt16) -> Bool {
        if let place = newest.firstIndex(where: { $0.source == source }) {
            defer { newest[place].sequence = sequence }
            return sequence == newest[place].sequence &+ 1
        }
        if newest.count < Self.most {
            newest.append((source, sequence))
        } else {
            newest[oldest] = (source, sequence)
            oldest = (oldest + 1) % Self.most
        }
        return false
    }

    mutating func removeAll() {
        newest.removeAll(keepingCapacity: true)
        oldest = 0
    }
}
