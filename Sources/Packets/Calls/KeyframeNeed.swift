import Media

/// When a sender is to be asked for a keyframe: at once when one is needed, and again until it has come.
///
/// It has two users. The session *needs* a keyframe because packets are missing. Those behind it *want* one for other reasons: a
/// receiver has come, or a picture cannot be decoded. One request serves both. A pure value.
struct KeyframeNeed: Sendable {
    /// A request may be lost, and a sender may need so long to answer.
    static let retryInterval = Nanoseconds.milliseconds(250)
    /// Losses that follow each other so soon ask once.
    static let leastInterval = Nanoseconds.milliseconds(100)
    /// Receivers want keyframes as often as they like, and each costs all others bits. So a new wish waits for so long after the
    /// request before.
    static let wishInterval = Nanoseconds.milliseconds(500)

    private(set) var isNeeded = false
    /// How often a request for the wish is repeated; nil where nobody wants a keyframe.
    private(set) var wish: Nanoseconds?
    private var asked: MonotonicTime?
    /// When the present need was asked for first.
    private var firstAsked: MonotonicTime?
    private var hasReported = false
    /// The need is newer than the request, and the wish.
    private var isNew = false
    private var isNewWish = false

    mutating func set(_ isNeeded: Bool) {
        if isNeeded, !self.isNeeded { isNew = true }
        if !isNeeded { firstAsked = nil }
        self.isNeeded = isNeeded
    }

    /// Another picture was lost, whether or not one was needed before.
    mutating func renew() {
        isNeeded = true
        isNew = true
    }

    /// - Parameter interval: how often the request is repeated; nil where nobody wants a keyframe any more.
    mutating func want(every interval: Nanoseconds?) {
        if interval != nil, wish == nil { isNewWish = true }
        wish = interval
    }

    /// Whoever has not answered for so long may not get the requests.
    static let answerTimeout = Nanoseconds.seconds(5)

    /// Whether it is to be said that requests go unanswered. Said once for a source.
    mutating func claimReport(at now: MonotonicTime) -> Bool {
        guard !hasReported, isNeeded, let firstAsked, now - firstAsked >= Self.answerTimeout else { return false }
        hasReported = true
        return true
    }

    var due: MonotonicTime? {
        guard isNeeded || wish != nil else { return nil }
        guard let asked else { return MonotonicTime(nanoseconds: .min) }
        let need = isNeeded ? asked + (isNew ? Self.leastInterval : Self.retryInterval) : nil
        let wish = wish.map { asked + (isNewWish ? Self.wishInterval : $0) }
        guard let need, let wish else { return need ?? wish }
        return min(need, wish)
    }

    mutating func claim(at now: MonotonicTime) -> Bool {
        guard let due, due <= now else { return false }
        asked = now
        if isNeeded, firstAsked == nil { firstAsked = now }
        isNew = false
        isNewWish = false
        return true
    }
}
