/// Divides the machine's processor cores among the streams. Called once a second with what each stream's map says.
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
        /// For optional work.
        var spare: Double
    }

    /// - Returns: the shares that streams are to be told. A stream that is not named keeps what it was told before.
    mutating func shares(of demands: [String: Demand]) -> [String: Share] { [:] }
}
