import Schedule

/// Divides the machine's processor cores among the streams (``CoreDeal``, ``OptionalPool``). A value, asked once a second.
struct CoreSharing: Sendable {
    /// What a stream needs, in cores.
    struct Demand: Hashable, Sendable {
        /// For all originals on the cheapest rung; 0 before the first picture.
        var least: Double
        /// With what it would synthesise.
        var synthesising: Double
        var isFlowing: Bool
    }

    /// What a stream may count on, in cores.
    struct Share: Hashable, Sendable {
        /// For all originals.
        var dealt: Double
        /// For optional work, on average.
        var spare: Double
    }

    /// What the machine shows of the last second, in cores.
    struct Machine: Hashable, Sendable {
        /// What the service may use.
        var cores: Double
        /// What programs other than the service and its workers kept busy.
        var usedByOthers: Double
        /// What the service could have used beyond what it did; nil where that is not known.
        var idle: Double?
    }

    private var pool = OptionalPool()

    /// The cores for optional work of all streams; nil while nothing is dealt.
    var optional: Double? { pool.size }

    /// - Parameter seconds: since the last call.
    /// - Returns: the shares that streams are to be told. A single stream is told nothing: it measures what is left, as
    ///   `burnish relay` does.
    mutating func shares(of demands: [String: Demand], on machine: Machine, seconds: Double) -> [String: Share] {
        let flowing = demands.filter { $0.value.isFlowing && $0.value.least > 0 }.sorted { $0.key < $1.key }
        guard flowing.count > 1 else {
            pool = OptionalPool()
            return [:]
        }
        let deal = CoreDeal(cores: machine.cores)
        let claims = flowing.map { CoreDeal.Claim(least: $0.value.least) }
        let size = pool.update(
            idle: machine.idle, cores: machine.cores,
            estimate: deal.leftover(claims, usedByOthers: machine.usedByOthers), seconds: seconds)
        let parts = deal.deal(claims, usedByOthers: machine.usedByOthers, pool: size)
        return Dictionary(
            uniqueKeysWithValues: zip(flowing, parts).map { ($0.key, Share(dealt: $1.dealt, spare: $1.optional)) })
    }
}
