import Media

/// Audio against video. Both carry their capture times, so the differences to their presentation times can be compared.
struct SyncStatistics: Sendable {
    /// Presentation time less capture time of the newest picture, in microseconds.
    private var videoOrigin: Int64?
    private var offsets: [Int64] = []

    mutating func recordVideo(_ timestamp: MediaTime, captured: WallTime) {
        videoOrigin = timestamp.nanoseconds.count / 1000 - captured.microseconds
    }

    mutating func recordAudio(_ timestamp: MediaTime, captured: WallTime) {
        guard let videoOrigin else { return }
        offsets.append(timestamp.nanoseconds.count / 1000 - captured.microseconds - videoOrigin)
    }

    /// How much later the audio is presented than the video that belongs to it, in milliseconds; nil without audio.
    var offset: Distribution? { offsets.isEmpty ? nil : Distribution(offsets, scale: 1e-3) }
}
