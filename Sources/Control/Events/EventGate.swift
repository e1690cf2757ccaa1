import Media

/// Bounds what the events of one stream's worker put into the log and the event list: an event that comes again is counted and
/// not repeated, and more than a few a second are left out. Both are said, so that nothing is lost silently.
///
/// A pure value.
struct EventGate: Sendable {
    /// Events that may come at once, and events a second after that.
    static let burst = 50.0
    static let eventsPerSecond = 2.0
    /// Within this time an equal event is only counted.
    static let repeatInterval = Nanoseconds.seconds(10)
    /// How many different events are compared.
    static let mostKinds = 8

    struct Event: Hashable, Sendable {
        var kind: EventKind
        var text: String
        /// ``StreamEvent/isUsual``
        var isUsual = false

        /// Each end of a connection is news, however soon it follows another.
        fileprivate var mayRepeat: Bool {
            switch kind {
            case .inputUp, .inputDown, .outputUp, .outputDown: true
            default: false
            }
        }
    }

    private struct Seen {
        var event: Event
        var since: MonotonicTime
        var repeats = 0
    }

    private var tokens = burst
    private var last: MonotonicTime?
    private var seen: [Seen] = []
    private var leftOut = 0

    /// - Returns: the events to record now, oldest first.
    mutating func receive(_ event: Event, at now: MonotonicTime) -> [Event] {
        var events = expire(now)
        if let index = seen.firstIndex(where: { $0.event == event }) {
            seen[index].repeats += 1
            return events
        }
        guard tokens >= 1 else {
            leftOut += 1
            return events
        }
        tokens -= 1
        if event.mayRepeat { return events + [event] }
        if seen.count == Self.mostKinds { events += Self.summary(of: seen.removeFirst(), at: now) }
        seen.append(Seen(event: event, since: now))
        return events + [event]
    }

    /// Call it about once a second.
    /// - Returns: what is to be said of events that were not recorded.
    mutating func expire(_ now: MonotonicTime) -> [Event] {
        let passed = last.map { max((now - $0).seconds, 0) } ?? 0
        tokens = min(tokens + passed * Self.eventsPerSecond, Self.burst)
        last = now
        var events: [Event] = []
        while let first = seen.first, now - first.since >= Self.repeatInterval {
            events += Self.summary(of: seen.removeFirst(), at: now)
        }
        if leftOut > 0, tokens >= 1 {
            tokens -= 1
            events.append(Event(kind: .message, text: "\(leftOut) events were left out: they came too fast"))
            leftOut = 0
        }
        return events
    }

    private static func summary(of seen: Seen, at now: MonotonicTime) -> [Event] {
        guard seen.repeats > 0 else { return [] }
        let times = seen.repeats == 1 ? "once more" : "\(seen.repeats) times more"
        let seconds = max(Int((now - seen.since).seconds.rounded()), 1)
        return [
            Event(
                kind: seen.event.kind, text: "\(seen.event.text) (\(times) within \(seconds) s)", isUsual: seen.event.isUsual)
        ]
    }
}
