/// Divides a machine between the streams of one supervisor.
///
/// Streams that only watch what the others use come to uneven shares: the first to climb keeps its place, and the others see no
/// spare core. So the supervisor, which sees all of them, deals. Each stream gets what its originals need. What is left is
/// optional work's, and every stream gets an equal part of it; what one does not use goes to the others.
///
/// A pure value; docs/design/costs.md has the formulas.
public struct CoreDeal: Sendable {
    /// What one stream has and needs, in cores.
    public struct Claim: Sendable, Hashable {
        /// What its originals need.
        public var least: Double
        /// The most that its optional work would use; infinite where that is not known.
        public var optional: Double

        public init(least: Double, optional: Double = .infinity) {
            self.least = least
            self.optional = optional
        }
    }

    /// The share of the machine that is dealt. The rest absorbs what varies from frame to frame.
    static let usable = 0.92

    /// The cores that the service may use.
    public var cores: Double

    public init(cores: Double) { self.cores = cores }

    /// What is left for optional work, by the costs that the streams report.
    /// - Parameter usedByOthers: cores that programs other than these streams keep busy.
    public func leftover(_ claims: [Claim], usedByOthers: Double) -> Double {
        max(0, left(usedByOthers) * Self.usable - claims.reduce(0) { $0 + $1.least })
    }

    /// What each stream may count on, in the order of the claims.
    /// - Parameters:
    ///   - usedByOthers: cores that programs other than these streams keep busy.
    ///   - pool: what all streams together may use for optional work; nil for ``leftover(_:usedByOthers:)``.
    public func deal(_ claims: [Claim], usedByOthers: Double, pool: Double? = nil) -> [Cores] {
        let left = left(usedByOthers)
        let needed = claims.reduce(0) { $0 + $1.least }
        let optional = Self.divide(pool ?? leftover(claims, usedByOthers: usedByOthers), claims.map(\.optional))
        return zip(claims, optional).map { claim, optional in
            // A stream whose originals need more than its even share gets what the others' originals leave. Its part of the pool
            // is added: the pool is the only bound for optional work, and while the machine has idle time, no original must be
            // dropped for costs that overstate.
            let originals = max(left - (needed - claim.least), left / Double(claims.count))
            let room = min(originals, claim.least + max(0, left - needed) / Double(claims.count))
            return Cores(dealt: originals + optional, spare: originals + optional, optional: optional, room: room)
        }
    }

    /// What a stream may count on that is about to have its first pictures.
    /// - Parameters:
    ///   - claims: of the streams that have pictures.
    ///   - newcomers: how many streams are about to have their first, this one included.
    public func dealForNewcomer(beside claims: [Claim], newcomers: Int, usedByOthers: Double) -> Cores {
        let left = left(usedByOthers)
        let needed = claims.reduce(0) { $0 + $1.least }
        let count = Double(max(1, newcomers))
        let cores = max(max(0, left - needed) / count, left / (Double(claims.count) + count))
        return Cores(dealt: cores, spare: cores, optional: 0)
    }

    private func left(_ usedByOthers: Double) -> Double { max(0, cores - max(0, usedByOthers)) }

    /// Equal parts, none larger than is wanted; what is not wanted goes to the others (max-min fairness).
    static func divide(_ whole: Double, _ wanted: [Double]) -> [Double] {
        var parts = [Double](repeating: 0, count: wanted.count)
        var rest = whole
        var open = wanted.indices.sorted { wanted[$0] < wanted[$1] }[...]
        while let index = open.first {
            parts[index] = min(wanted[index], rest / Double(open.count))
            rest -= parts[index]
            open.removeFirst()
        }
        return parts
    }
}
