/// Percentiles of a set of figures, by nearest rank. All zero when the set is empty.
public struct Distribution: Hashable, Sendable, Encodable {
    public var count = 0
    public var least = 0.0
    public var p50 = 0.0
    public var p95 = 0.0
    public var p99 = 0.0
    public var greatest = 0.0

    /// - Parameter scale: each figure is multiplied by this.
    public init(_ figures: some Sequence<Int64>, scale: Double = 1) {
        let sorted = figures.sorted()
        guard !sorted.isEmpty else { return }
        func rank(_ share: Double) -> Double {
            Double(sorted[max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1)]) * scale
        }
        count = sorted.count
        least = Double(sorted[0]) * scale
        p50 = rank(0.5)
        p95 = rank(0.95)
        p99 = rank(0.99)
        greatest = Double(sorted[sorted.count - 1]) * scale
    }

    private enum CodingKeys: String, CodingKey {
        case count, p50, p95, p99
        case least = "min"
        case greatest = "max"
    }
}
