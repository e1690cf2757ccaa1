/// How much optional work the streams of one supervisor may do together.
///
/// Streams report what work costs them in time, and time under contention overstates the cores that the work uses. A sum of
/// such costs would leave nothing to divide on a machine that is half idle. So the pool follows what the machine shows: it grows
/// while there is idle time beyond the reserve, and shrinks while there is less. Its unit is the streams' own: it finds by
/// itself how many of their cores fill the machine.
///
/// A value; no call allocates. docs/design/costs.md has the formulas.
public struct OptionalPool: Sendable, BitwiseCopyable {
    /// Growth in cores a second, for each idle core beyond the reserve.
    static let rise = 1.0
    /// The share of the pool that is lost each second while the machine has no idle time at all.
    static let fall = 0.25
    /// The largest pool, in machines. Streams that do not spend their parts leave the machine idle, so the pool grows for the
    /// others.
    static let largest = 4.0

    /// Cores, in the streams' own unit; nil before the first call of ``update(idle:cores:estimate:seconds:)``.
    public private(set) var size: Double?

    public init() {}

    /// - Parameters:
    ///   - idle: the cores that nothing used since the last call, of those that the streams may use. Nil where that is not
    ///     known: the estimate holds then.
    ///   - cores: that the streams may use.
    ///   - estimate: the pool by the costs that the streams report, which is the least (``CoreDeal/leftover(_:usedByOthers:)``).
    ///   - seconds: since the last call.
    public mutating func update(idle: Double?, cores: Double, estimate: Double, seconds: Double) -> Double {
        guard let idle, let last = size else {
            size = estimate
            return estimate
        }
        let reserve = (1 - CoreDeal.usable) * cores
        let excess = idle - reserve
        let seconds = min(max(seconds, 0), 2)
        let next =
            excess >= 0
            ? last + Self.rise * excess * seconds : last * max(0, 1 + Self.fall * max(excess / reserve, -1) * seconds)
        let new = max(estimate, min(next, Self.largest * cores))
        size = new
        return new
    }
}
