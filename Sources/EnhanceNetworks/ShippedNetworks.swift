import CWeights
import Enhance

// The trained weights that come with Burnish. They are a product of their own: who brings other networks, or needs none, links
// `Enhance` alone.

/// What networks were trained for.
public enum NetworkContent: String, CaseIterable, Sendable {
    /// Any live video, clean or coded at any rate.
    case general
    /// Video calls: pictures that were coded in real time at 100 to 500 kbit/s. Each tier has weights of its own. Those of
    /// `neuralMedium` take a third more time.
    case calls
}

extension SuperResolutionNetwork {
    /// The weights that come with this library; docs/design/networks.md says what they were trained on. Read at the
    /// first call, in some milliseconds.
    /// - Returns: nil for `base`, which has none.
    public static func shipped(
        _ tier: SuperResolutionTier, for content: NetworkContent = .general
    ) -> SuperResolutionNetwork? {
        switch (tier, content) {
        case (.base, _): nil
        case (.neuralSmall, .general): Shipped.small
        case (.neuralSmall, .calls): Shipped.smallForCalls
        case (.neuralMedium, .general): Shipped.medium
        case (.neuralMedium, .calls): Shipped.mediumForCalls
        case (.quality, .general): Shipped.quality
        case (.quality, .calls): Shipped.qualityForCalls
        }
    }

    /// The weights that take coding artefacts out of pictures that keep their size: `restore-s` for `neuralSmall`,
    /// `restore-m` for `neuralMedium`. Use them in sessions of the scale factor 1.
    /// - Returns: nil for the other tiers.
    public static func shippedRestoration(_ tier: SuperResolutionTier) -> SuperResolutionNetwork? {
        switch tier {
        case .base, .quality: nil
        case .neuralSmall: Shipped.restoreSmall
        case .neuralMedium: Shipped.restoreMedium
        }
    }

    /// Reads all that serve this content in live streams now, so that no later call takes that time.
    public static func readShipped(for content: NetworkContent = .general) {
        for tier in SuperResolutionTier.live { _ = shipped(tier, for: content) }
    }
}

extension SuperResolutionConfiguration {
    /// Uses the networks that come with this library, for all neural tiers of live streams. `quality` is added as
    /// `networks[.quality] = .shipped(.quality, for: content)`.
    public mutating func useShippedNetworks(for content: NetworkContent = .general) {
        for tier in SuperResolutionTier.live { networks[tier] = SuperResolutionNetwork.shipped(tier, for: content) }
    }

    /// Uses the networks that come with this library and keep the size, for sessions of the scale factor 1.
    public mutating func useShippedRestoration() {
        for tier in SuperResolutionTier.live { networks[tier] = SuperResolutionNetwork.shippedRestoration(tier) }
    }
}

extension FusionNetwork {
    /// The weights that come with this library; docs/design/interpolation.md says what they do. Read at the first call.
    public static var shipped: FusionNetwork { Shipped.fusion }
}

private enum Shipped {
    static let small = unsafe mustLoad(burnish_neural_s, SuperResolutionNetwork.init)
    static let smallForCalls = unsafe mustLoad(burnish_neural_s_calls, SuperResolutionNetwork.init)
    static let medium = unsafe mustLoad(burnish_neural_m, SuperResolutionNetwork.init)
    static let mediumForCalls = unsafe mustLoad(burnish_neural_m_calls, SuperResolutionNetwork.init)
    static let quality = unsafe mustLoad(burnish_quality, SuperResolutionNetwork.init)
    static let qualityForCalls = unsafe mustLoad(burnish_quality_calls, SuperResolutionNetwork.init)
    static let restoreSmall = unsafe mustLoad(burnish_restore_s, SuperResolutionNetwork.init)
    static let restoreMedium = unsafe mustLoad(burnish_restore_m, SuperResolutionNetwork.init)
    static let fusion = unsafe mustLoad(burnish_fusion, FusionNetwork.init)

    @unsafe private static func mustLoad<Network>(
        _ weights: burnish_weights, _ read: ([UInt8]) throws(EnhanceError) -> Network
    ) -> Network {
        do throws(EnhanceError) {
            return unsafe try read([UInt8](UnsafeBufferPointer(start: weights.bytes, count: weights.count)))
        } catch {
            preconditionFailure("the library was built with unusable weights: \(error)")
        }
    }
}
