import Media
import Telemetry

/// The latency of the last seconds, by copies of a histogram that grows for as long as the stream lives. A value of the observer
/// thread, asked once a second.
struct RecentLatency {
    /// How far back it looks.
    static let seconds = 5

    /// One for each second, and the present one. They have memory of their own: the frame path must not have to copy its own
    /// because somebody else holds it.
    private var copies = (0...seconds).map { _ in Histogram() }
    private var next = 0
    private var recent = Histogram()

    /// - Parameter copy: makes a histogram like the one of the stream's whole life (``Histogram/copy(_:)``).
    /// - Returns: nil where nothing was recorded meanwhile.
    mutating func median(_ copy: (inout Histogram) -> Void) -> Nanoseconds? {
        copy(&copies[next])
        let present = next
        next = (next + 1) % copies.count
        recent.become(copies[present], since: copies[next])
        return recent.count > 0 ? recent.quantile(0.5) : nil
    }
}
