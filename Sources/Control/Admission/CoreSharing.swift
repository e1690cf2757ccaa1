import Schedule

/// Divides the machine's processor cores among the streams (``CoreDeal``). A pure value, asked once a second.
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

    /// - Parameters:
    ///   - cores: what the service may use.
    ///   - usedByOthers: what programs other than the workers keep busy.
    /// - Returns: the shares that streams are to be told. A single stream is told nothing: it measures what is left, as
    ///   `burnish relay` does.
    func shares(of demands: [String: Demand], cores: Double, usedByOthers: Double) -> [String: Share] {
        let flowing = demands.filter { $0.value.isFlowing && $0.value.least > 0 }.sorted { $0.key < $1.key }
        guard flowing.count > 1 else { return [:] }
        let deal = CoreDeal(cores: cores).deal(
            flowing.map { CoreDeal.Claim(least: $0.value.least) }, usedByOthers: usedByOthers)
        return Dictionary(
            uniqueKeysWithValues: zip(flowing, deal).map { ($0.key, Share(dealt: $1.dealt, spare: $1.optional)) })
    }
}
