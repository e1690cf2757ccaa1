import Media

/// Maps the sender's count of microseconds, which runs at its own pace, to our monotonic clock. ``WrappingCount`` makes
/// counts that do not wrap.
///
/// Every message took at least the network's least delay, so the points (source time, arrival − source time) lie on
/// or above a line whose slope is the clocks' difference in pace; jitter, queueing, retransmission and outages only
/// lift points off it. The clock keeps the lowest point of each second for the last ``span`` seconds and takes the
/// edge of their lower convex hull below the middle of the span: of all lines below the points, the one nearest to them
/// (Moon, Skelly, Towsley: "Estimation and removal of clock skew from network delay measurements", INFOCOM 1999, as a
/// hull by Zhang, Liu, Xia, INFOCOM 2002). A mapped time is thus "when this message would have come, had the network
/// been as quick as it ever is". Never allocates.
package struct SourceClock: Sendable {
    /// How many one-second minima are remembered.
    static let span = 32
    /// Clocks that differ by more are not believed: the slope is clamped.
    static let largestSkew = 1500e-6
    /// Until the points cover this much, the slope counts as zero, because jitter would swamp it.
    static let leastBaseline = 8_000_000.0  // µs
    /// A message this much earlier than the fit allows means that the sender started anew.
    static let jump: Int64 = 1_000_000  // µs
    /// When every message has been late against the fit for long, the fit is out of date.
    package struct LateTolerance: Sendable {
        /// From how much on a message counts as late, and for how long all may be; µs.
        var lateness: Int64
        var timeout: Int64

        /// Senders that send again what was lost have a backlog after an outage.
        static let forBacklogs = LateTolerance(lateness: 1_000_000, timeout: 10_000_000)
    }

    /// The lowest point of one second, in microseconds relative to the first message.
    private struct Point {
        var source: Double
        var delay: Double
    }

    private var points = InlineArray<32, Point>(repeating: Point(source: 0, delay: 0))
    private var filled = 0
    private var bucket: Int64 = 0

    private let lateTolerance: LateTolerance
    private var originSource: Int64 = 0
    private var originArrival: Int64 = 0  // ns
    private var started = false
    private var lateSince: Int64?

    /// The fit: delay = level + slope · source, both relative to the origin.
    private var level = 0.0
    /// The difference in pace, as a fraction: positive when the sender's clock is slow against ours.
    private(set) var slope = 0.0

    package init(lateTolerance: LateTolerance = .forBacklogs) { self.lateTolerance = lateTolerance }

    /// Maps one message's source time and improves the fit by it.
    /// - Parameter source: in microseconds.
    /// - Returns: the source time on our clock, and whether the sender's count has started anew.
    package mutating func map(source: Int64, arrival: MonotonicTime) -> (time: MonotonicTime, restarted: Bool) {
        guard started else {
            start(source, arrival)
            return (arrival, false)
        }
        let x = Double(source - originSource)
        let y = Double(arrival.nanoseconds - originArrival) / 1e3 - x
        let excess = y - (level + slope * x)

        if excess < -Double(Self.jump) {
            start(source, arrival)
            return (arrival, true)
        }
        if excess > Double(lateTolerance.lateness) {
            // A backlog after an outage looks like this for as long as it lasts; a restarted count stays.
            let since = lateSince ?? arrival.nanoseconds
            lateSince = since
            if arrival.nanoseconds - since > lateTolerance.timeout * 1_000 {
                start(source, arrival)
                return (arrival, true)
            }
        } else {
            lateSince = nil
        }

        insert(Point(source: x, delay: y), second: Int64(x / 1e6))
        // The fit may have moved. No message may lie below it.
        level = min(level, y - slope * x)
        return (originTime + Nanoseconds(Int64((x + level + slope * x) * 1e3)), false)
    }

    /// The sender's count turns out to run `ratio` times as fast as assumed. What is remembered is recounted as though it had
    /// run so all along. The time that belongs to `source` stays where it is.
    mutating func stretch(by ratio: Double, about source: Int64) {
        guard started else { return }
        let pivot = Double(source - originSource)
        for i in 0..<filled {
            let point = points[i]
            let stretched = pivot + (point.source - pivot) * ratio
            points[i] = Point(source: stretched, delay: point.delay + point.source - stretched)
        }
        level += (1 + slope) * pivot * (1 - 1 / ratio)
        slope = (1 + slope) / ratio - 1
    }

    private var originTime: MonotonicTime { MonotonicTime(nanoseconds: originArrival) }

    private mutating func start(_ source: Int64, _ arrival: MonotonicTime) {
        started = true
        originSource = source
        originArrival = arrival.nanoseconds
        points[0] = Point(source: 0, delay: 0)
        filled = 1
        bucket = 0
        level = 0
        slope = 0
        lateSince = nil
    }

    private mutating func insert(_ point: Point, second: Int64) {
        if second > bucket {
            // One second is complete: its lowest point joins the hull's candidates.
            bucket = second
            if filled == Self.span {
                for i in 1..<filled { points[i - 1] = points[i] }
                filled -= 1
            }
            fit()
            points[filled] = point
            filled += 1
        } else if second == bucket, point.delay - slope * point.source < newest.delay - slope * newest.source {
            points[filled - 1] = point
        }
    }

    private var newest: Point { points[filled - 1] }

    /// The hull's edge below the middle of the points, by gift wrapping from the left: at most `span` steps, once a
    /// second.
    private mutating func fit() {
        guard filled >= 2 else { return }
        let first = points[0]
        let last = points[filled - 1]
        let middle = (first.source + last.source) / 2
        guard last.source - first.source >= Self.leastBaseline else {
            slope = 0
            level = first.delay
            for i in 1..<filled { level = min(level, points[i].delay) }
            return
        }
        var left = 0
        while true {
            var right = left + 1
            var best = gradient(left, right)
            for candidate in right + 1..<max(filled, right + 1) where gradient(left, candidate) <= best {
                best = gradient(left, candidate)
                right = candidate
            }
            if points[right].source >= middle || right == filled - 1 {
                slope = min(max(best, -Self.largestSkew), Self.largestSkew)
                break
            }
            left = right
        }
        // A clamped slope must still lie below every point.
        level = points[0].delay - slope * points[0].source
        for i in 1..<filled { level = min(level, points[i].delay - slope * points[i].source) }
    }

    private func gradient(_ a: Int, _ b: Int) -> Double {
        (points[b].delay - points[a].delay) / max(points[b].source - points[a].source, 1)
    }
}
