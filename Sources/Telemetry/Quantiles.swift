import Media

/// The figures of a histogram in a report. Times are in milliseconds.
public struct Quantiles: Codable, Sendable {
    public var count: UInt64
    public var p50, p95, p99, max: Double

    public init(_ histogram: borrowing Histogram) {
        count = histogram.count
        p50 = histogram.quantile(0.5).milliseconds
        p95 = histogram.quantile(0.95).milliseconds
        p99 = histogram.quantile(0.99).milliseconds
        max = histogram.largest.milliseconds
    }
}
