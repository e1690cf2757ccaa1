import Media

/// Channel: when the pictures of a call were taken, as their sender says (abs-capture-time).
///
/// A sender says it with some pictures. The times of the others follow from their distance on the timeline, so pictures between
/// two originals have one, too.
///
/// - Writer: ingest.
/// - Reader: send, for receivers that have agreed on the header extension.
/// - Read together: a time and the picture that it belongs to.
///
/// Thread-safe; each call holds a lock for well under a microsecond.
final class CaptureClock: Sendable {
    private struct Reading {
        /// NTP's 32.32 bits, by the sender's clock.
        var time: UInt64
        var presentation: MediaTime
    }

    private let newest = Lock<Reading?>(nil)

    /// Records when a picture was taken.
    /// - Parameters:
    ///   - time: by the sender's clock, in NTP's 32.32 bits.
    ///   - presentation: the picture's time on the output's timeline.
    func record(_ time: UInt64, at presentation: MediaTime) {
        newest.withLock { $0 = Reading(time: time, presentation: presentation) }
    }

    /// Another sender may come, with another clock.
    func forget() { newest.withLock { $0 = nil } }

    /// When the picture of this time was taken; nil where the sender does not say.
    func time(of presentation: MediaTime) -> UInt64? {
        guard let reading = newest.withLock({ $0 }) else { return nil }
        let (seconds, rest) = (presentation - reading.presentation).quotientAndRemainder(
            dividingBy: MediaTime.ticksPerSecond)
        return reading.time &+ UInt64(bitPattern: seconds << 32 + (rest << 32) / MediaTime.ticksPerSecond)
    }
}
