import Media
import WorkerProtocol

/// The clips that workers are cutting, and those that have failed.
struct PendingClips {
    /// What is known of a clip that is being cut.
    struct Clip: Sendable {
        var stream: String
        var worker: Int
        var folder: CaptureFolder
        var begun: CaptureFolder.Begun
    }

    /// How many may be cut at a time, of all streams.
    static let most = 16
    /// How many that failed are remembered.
    private static let mostFailed = 256

    private var clips: [UInt64: Clip] = [:]
    private var failed: [(stream: String, capture: Capture)] = []

    var isFull: Bool { clips.count >= Self.most }

    mutating func add(_ clip: Clip, _ id: UInt64) { clips[id] = clip }

    /// - Returns: nil where the worker cuts no such clip.
    mutating func take(_ id: UInt64, worker: Int) -> Clip? {
        guard clips[id]?.worker == worker else { return nil }
        return clips.removeValue(forKey: id)
    }

    mutating func takeAll(of worker: Int) -> [Clip] {
        let ids = clips.filter { $0.value.worker == worker }.keys
        return ids.compactMap { clips.removeValue(forKey: $0) }
    }

    mutating func fail(_ clip: Clip, _ reason: String) {
        var capture = Capture(.clip, number: clip.begun.number, path: clip.begun.path, state: .failed)
        capture.reason = reason
        failed.append((clip.stream, capture))
        if failed.count > Self.mostFailed { failed.removeFirst(failed.count - Self.mostFailed) }
    }

    /// A clip that is being cut, or has failed.
    func capture(_ number: Int, of stream: String) -> Capture? {
        if let clip = clips.values.first(where: { $0.stream == stream && $0.begun.number == number }) {
            return Capture(.clip, number: number, path: clip.begun.path, state: .pending)
        }
        return failed.last { $0.stream == stream && $0.capture.number == number }?.capture
    }
}
