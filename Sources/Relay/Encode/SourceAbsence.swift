import Media

/// How long a source has been lost, and what was sent in its place.
struct SourceAbsence {
    /// An output that repeats pictures for longer than this has lost its source.
    static let threshold = Nanoseconds.milliseconds(300)

    let since: MonotonicTime
    /// It is longer than ``threshold``.
    var isCounted = false
    var isReported = false
    var repeats: UInt64 = 0
    var slates: UInt64 = 0
    /// The counter of silent units when it began.
    let silentUnits: UInt64

    init(since: MonotonicTime, silentUnits: UInt64) {
        self.since = since
        self.silentUnits = silentUnits
    }

    /// One line for the time when pictures come again.
    func ending(now: MonotonicTime, silentUnits total: UInt64) -> String {
        let tenths = (now - since).count / 100_000_000
        var text = "input: pictures come again after \(tenths / 10).\(tenths % 10) s; \(repeats) were repeated"
        if slates > 0 { text += ", \(slates) of them the grey picture" }
        if total > silentUnits { text += "; \(total - silentUnits) units of silence" }
        return text
    }
}

/// Which absences of a source's pictures are reported: each one while the source is gone, else one a minute, because a shared
/// screen sends a picture a second, or one in many.
///
/// An absence that goes on when the minute is over is reported then. A pure value.
struct AbsenceReports {
    static let interval = Nanoseconds.seconds(60)
    /// A source of which nothing has come for so long is gone. Reports come at least so often.
    static let silence = Nanoseconds.seconds(2)

    private var last: MonotonicTime?
    /// Absences since the last report that were not reported.
    private var skipped = 0

    /// An absence that was not reported is over.
    mutating func skip() { skipped += 1 }

    /// The line that says that no pictures come; nil where it was said within the minute.
    /// - Parameter heard: when the newest packet of the source came.
    mutating func claim(at now: MonotonicTime, heard: MonotonicTime) -> String? {
        if let last, now - last < Self.interval, now - heard < Self.silence { return nil }
        last = now
        defer { skipped = 0 }
        let text = "input: no pictures come; the last one is repeated"
        return skipped == 0 ? text : text + ", as \(skipped) times in the minute before"
    }
}
