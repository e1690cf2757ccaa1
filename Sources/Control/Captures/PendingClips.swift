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
        /// In seconds: how much later than asked it begins.
        var late: Double?
        /// What a better clip is made of later; nil where the clip itself is being cut.
        var source: Source?
        /// Who waits until it is no longer being cut.
        var waiters: [CheckedContinuation<Void, Never>] = []

        func end() { for waiter in waiters { waiter.resume() } }
    }

    /// The file that a worker writes in place of a clip.
    struct Source: Sendable {
        var folder: DeferredFolder
        var units: DeferredFolder.Begun
        var job: DeferredJob
    }

    /// How many may be cut at a time, of all streams.
    static let most = 16
    /// How many that failed are remembered.
    private static let mostFailed = 256

    private var clips: [UInt64: Clip] = [:]
    private var failed: [(stream: String, capture: Capture)] = []

    var isFull: Bool { clips.count >= Self.most }

    mutating func add(_ clip: Clip, _ id: UInt64) { clips[id] = clip }

    /// A worker says how much later than asked a clip begins.
    mutating func begin(_ id: UInt64, worker: Int, late: Double) {
        guard clips[id]?.worker == worker, late.isFinite, late > 0 else { return }
        clips[id]?.late = min(late, 1e6)
    }

    /// - Returns: nil where the worker cuts no such clip.
    mutating func take(_ id: UInt64, worker: Int) -> Clip? {
        guard clips[id]?.worker == worker else { return nil }
        return clips.removeValue(forKey: id)
    }

    mutating func take(_ id: UInt64) -> Clip? { clips.removeValue(forKey: id) }

    /// Waits until a clip is no longer being cut.
    mutating func awaitEnd(of number: Int, of stream: String, _ waiter: CheckedContinuation<Void, Never>) {
        guard let id = clips.first(where: { $0.value.stream == stream && $0.value.begun.number == number })?.key else {
            return waiter.resume()
        }
        clips[id]?.waiters.append(waiter)
    }

    mutating func takeAll(of worker: Int) -> [Clip] {
        let ids = clips.filter { $0.value.worker == worker }.keys
        return ids.compactMap { clips.removeValue(forKey: $0) }
    }

    mutating func fail(_ clip: Clip, _ reason: String) {
        var capture = Capture(.clip, number: clip.begun.number, path: clip.begun.path, state: .failed)
        capture.reason = reason
        fail(capture, of: clip.stream)
    }

    /// One that was to be made later.
    mutating func fail(_ number: Int, of stream: String, _ reason: String) {
        var capture = Capture(.clip, number: number, path: "", state: .failed)
        capture.reason = reason
        fail(capture, of: stream)
    }

    private mutating func fail(_ capture: Capture, of stream: String) {
        failed.append((stream, capture))
        if failed.count > Self.mostFailed { failed.removeFirst(failed.count - Self.mostFailed) }
    }

    /// A clip that is being cut, or has failed.
    func capture(_ number: Int, of stream: String) -> Capture? {
        if let clip = clips.values.first(where: { $0.stream == stream && $0.begun.number == number }) {
            var capture = Capture(.clip, number: number, path: clip.begun.path, state: .pending)
            capture.late = clip.late
            return capture
        }
        return failed.last { $0.stream == stream && $0.capture.number == number }?.capture
    }
}
