import Enhance

// The trained weights that come with Burnish. They are a product of their own: who brings other networks, or needs none, links
// `Enhance` alone.

extension SuperResolutionNetwork {
    /// The weights that come with this library; docs/design/networks.md says what they were trained on. Read at the
    /// first call, in some milliseconds.
    /// - Returns: nil for `base`, which has none.
    public static func shipped(_ tier: SuperResolutionTier) -> SuperResolutionNetwork? {
        switch tier {
        case .base: nil
        case .neuralSmall: Shipped.small
        case .neuralMedium: Shipped.medium
        }
    }

    /// Reads all of them now, so that no later call takes that time.
    public static func readShipped() { for tier in SuperResolutionTier.allCases { _ = shipped(tier) } }
}

extension SuperResolutionConfiguration {
    /// Uses the networks that come with this library, for all neural tiers.
    public mutating func useShippedNetworks() {
        for tier in SuperResolutionTier.allCases { networks[tier] = SuperResolutionNetwork.shipped(tier) }
    }
}

private enum Shipped {
    static let small = mustLoad(PackageResources.neural_s_bnw)
    static let medium = mustLoad(PackageResources.neural_m_bnw)

    private static func mustLoad(_ bytes: [UInt8]) -> SuperResolutionNetwork {
        do throws(EnhanceError) {
            return try SuperResolutionNetwork(bytes)
        } catch {
            preconditionFailure("the library was built with unusable weights: \(error)")
        }
    }
}
