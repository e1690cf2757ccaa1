import Media

/// The wall clock of a session's reports: read once, then counted by the monotonic clock. So all tracks of a session have the same
/// one, and round trips do not jump when somebody sets the machine's clock. A pure value.
struct WallClock: Sendable {
    /// NTP's 32.32 bits.
    let wall: UInt64
    /// When that was.
    let time: MonotonicTime

    /// Reads both clocks.
    static func read() -> WallClock { WallClock(wall: wallClockNow(), time: .now()) }

    func reading(at now: MonotonicTime) -> UInt64 {
        let (seconds, rest) = (now - time).count.quotientAndRemainder(dividingBy: 1_000_000_000)
        return wall &+ UInt64(bitPattern: (seconds << 32) &+ (rest << 32) / 1_000_000_000)
    }
}
