import Media

/// When a sender is to be asked for a keyframe: at once when one is needed, and again until it has come. A pure value.
struct KeyframeNeed: Sendable {
    /// A request may be lost, and a sender may need so long to answer.
    static let retryInterval = Nanoseconds.milliseconds(250)
    /// Losses that follow each other so soon ask once.
    static let leastInterval = Nanoseconds.milliseconds(100)

    private(set) var isNeeded = false
    private var asked: MonotonicTime?
    /// The need is newer than the request.
    private var isNew = false

    mutating func set(_ isNeeded: Bool) {
        if isNeeded, !self.isNeeded { isNew = true }
        self.isNeeded = isNeeded
    }

    /// Another picture was lost, whether or not one was needed before.
    mutating func renew() {
        isNeeded = true
        isNew = true
    }

    var due: MonotonicTime? {
        guard isNeeded else { return nil }
        return asked.map { $0 + (isNew ? Self.leastInterval : Self.retryInterval) } ?? MonotonicTime(nanoseconds: .min)
    }

    mutating func claim(at now: MonotonicTime) -> Bool {
        guard let due, due <= now else { return false }
        asked = now
        isNew = false
        return true
    }
}
