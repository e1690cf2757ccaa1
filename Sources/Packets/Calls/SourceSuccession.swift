import Media

/// Whether another source takes the place of a track's present one although that has been heard lately: it sends from the same address,
/// as a sender does that has begun anew.
///
/// Anybody can forge one packet, so two have to come in sequence, and nothing of the present source between them. The first one is kept
/// meanwhile, because it may be a keyframe's. Where the former source is heard again, both send from one address. Then the present one
/// stays for as long as it is heard.
///
/// A pure value. Allocates when the first such packet comes.
struct SourceSuccession: Sendable {
    /// The network may deliver a source's last packets for so long after the next one's first.
    private static let overlap = Nanoseconds.milliseconds(100)

    private struct Candidate {
        var source: UInt32
        var sequence: UInt16
        var arrival: MonotonicTime
    }

    private var candidate: Candidate?
    /// The candidate's datagram.
    private var bytes: [UInt8] = []
    private var former: (source: UInt32, replaced: MonotonicTime)?
    private var isShared = false

    /// What becomes of a packet.
    enum Verdict: Equatable {
        /// It is kept, as the first of what may take the place. One that was kept before may be lost for it.
        case kept(instead: Bool)
        /// It takes the place, behind the packet that was kept.
        case takesOver
        /// It is one of the former source's last packets.
        case isLate
        case refused
    }

    /// Judges a packet of another source than the present one, from the same address.
    /// - Parameters:
    ///   - datagram: it lies in there.
    ///   - lastHeard: when the present source was.
    mutating func judge(
        _ packet: RTPPacket, _ datagram: Span<UInt8>, at now: MonotonicTime, lastHeard: MonotonicTime
    ) -> Verdict {
        if let former, former.source == packet.source {
            guard now - former.replaced > Self.overlap else { return .isLate }
            isShared = true
        }
        guard !isShared, datagram.count <= RTPFeed.largest else { return .refused }
        if let candidate, candidate.source == packet.source, candidate.sequence &+ 1 == packet.sequence,
            lastHeard <= candidate.arrival
        {
            return .takesOver
        }
        let hadOne = candidate != nil
        candidate = Candidate(source: packet.source, sequence: packet.sequence, arrival: now)
        bytes.removeAll(keepingCapacity: true)
        for at in 0..<datagram.count { bytes.append(datagram[at]) }
        return .kept(instead: hadOne)
    }

    /// Removes the packet that was kept: its source takes the place of another one.
    mutating func takeOver(from source: UInt32?, at now: MonotonicTime) -> (datagram: [UInt8], arrival: MonotonicTime)? {
        guard let candidate = candidate.take() else { return nil }
        former = source.map { ($0, now) }
        return (bytes, candidate.arrival)
    }
}
