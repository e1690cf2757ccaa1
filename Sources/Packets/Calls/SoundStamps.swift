import Media

/// Keeps a sound's RTP time stamps in step when its presentation is moved.
///
/// The relay moves a sound's presentation where reports say that it lies beside its picture. A receiver's jitter buffer (NetEq in
/// browsers) takes a step of the time stamps for lost or late packets, and delays all that follows. So the time stamps go on
/// evenly, and the sender reports alone say what they mean now. Times when the sender sent nothing stay: the time stamps step over
/// them.
///
/// A pure value. Times are in ticks of 90 kHz.
struct SoundStamps: Sendable {
    /// The longest and the shortest packet of Opus: 120 and 2.5 ms.
    static let longestPacket: Int64 = 10_800
    static let shortestPacket: Int64 = 225
    /// What conversions between clock rates may add.
    static let rounding: Int64 = 2
    /// How far a packet may leave from its turn and still have no pause before it: 20 ms.
    static let jitter: Int64 = 1800

    private var last: (presentation: Int64, sent: MonotonicTime)?
    /// From one packet to the next.
    private var step: Int64?
    /// What time stamps lie ahead of presentation times.
    private(set) var shift: Int64 = 0

    /// The time stamp's time for a packet.
    /// - Parameter now: when it is sent.
    mutating func time(of presentation: MediaTime, at now: MonotonicTime) -> MediaTime {
        defer { last = (presentation.ticks, now) }
        guard let last else { return presentation }
        let found = presentation.ticks - last.presentation
        if let step, abs(found - step) > Self.rounding {
            let elapsed = MediaTime.ticks(in: now - last.sent)
            if !isTrue(found, step: step, elapsed: elapsed) {
                shift += step - found
                return time(presentation)
            }
        }
        if found > 0, found <= Self.longestPacket, Self.isWhole(found) { step = found }
        return time(presentation)
    }

    /// The time stamp's time for a time of the stream, as reports need it.
    func time(_ presentation: MediaTime) -> MediaTime { MediaTime(ticks: presentation.ticks + shift) }

    /// Whether the sender's own time went on by `found`, and nobody moved it.
    private func isTrue(_ found: Int64, step: Int64, elapsed: Int64) -> Bool {
        found > 0 && abs(elapsed - found) <= abs(elapsed - step)
            && (Self.isWhole(found) || abs(elapsed - step) > Self.jitter)
    }

    /// Whether so many ticks may be packets.
    private static func isWhole(_ ticks: Int64) -> Bool {
        let rest = ticks % shortestPacket
        return min(rest, shortestPacket - rest) <= rounding
    }
}
