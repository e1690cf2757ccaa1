import Media

/// Audio against video: the time codes say which presentation time belongs to which capture time, and a beep begins on
/// every whole second of the capture clock.
struct SyncStatistics: Sendable {
    private var videoOrigins: [Int64] = []
    private var beeps: [MediaTime] = []

    mutating func video(_ timestamp: MediaTime, captured: WallTime) {
        videoOrigins.append(timestamp.nanoseconds.count / 1000 - captured.microseconds)
    }

    mutating func beep(_ timestamp: MediaTime) { beeps.append(timestamp) }

    /// How much later the audio is presented than the video that belongs to it, in milliseconds; nil without beeps.
    /// Offsets beyond half a second cannot be told from shorter ones.
    var offset: Distribution? {
        guard !videoOrigins.isEmpty, !beeps.isEmpty else { return nil }
        let sorted = videoOrigins.sorted()
        let origin = sorted[sorted.count / 2]
        let offsets = beeps.map { beep in
            let captured = beep.nanoseconds.count / 1000 - origin
            let intoSecond = captured - captured / 1_000_000 * 1_000_000
            return intoSecond > 500_000 ? intoSecond - 1_000_000 : intoSecond
        }
        return Distribution(offsets, scale: 1e-3)
    }
}
