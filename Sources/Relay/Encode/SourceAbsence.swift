import Media

/// How long a source has been lost, and what was sent in its place.
struct SourceAbsence {
    /// An output that repeats pictures for longer than this has lost its source.
    static let threshold = Nanoseconds.milliseconds(300)

    let since: MonotonicTime
    var isReported = false
    var repeats: UInt64 = 0
    var slates: UInt64 = 0
    /// The counter of silent units when it began.
    let silentUnits: UInt64

    init(since: MonotonicTime, silentUnits: UInt64) {
        self.since = since
        self.silentUnits = silentUnits
    }

    static let beginning = "input: no pictures come; the last one is repeated"

    /// One line for the time when pictures come again.
    func ending(now: MonotonicTime, silentUnits total: UInt64) -> String {
        let tenths = (now - since).count / 100_000_000
        var text = "input: pictures come again after \(tenths / 10).\(tenths % 10) s; \(repeats) were repeated"
        if slates > 0 { text += ", \(slates) of them the grey picture" }
        if total > silentUnits { text += "; \(total - silentUnits) units of silence" }
        return text
    }
}
