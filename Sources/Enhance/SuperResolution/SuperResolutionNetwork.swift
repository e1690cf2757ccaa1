import Kernels

/// The trained weights of one neural tier. Immutable; sessions may share it.
public struct SuperResolutionNetwork: Sendable {
    let network: Network

    /// Reads a weights file (.bnw) as tools/train/export writes it.
    /// - Throws: `badWeights` when it is truncated, damaged, of another version, or of a shape that is not supported.
    public init(_ bytes: [UInt8]) throws(EnhanceError) {
        do throws(NetworkFileError) {
            network = try Network(bytes)
        } catch {
            throw EnhanceError(.badWeights, error.message)
        }
    }

    /// The weights that come with this library; docs/design/networks.md says what they were trained on. Read at the
    /// first call, in some milliseconds.
    /// - Returns: nil for `base`, which has none.
    public static func shipped(_ tier: SuperResolutionTier) -> SuperResolutionNetwork? {
        switch tier {
        case .base: nil
        case .neuralSmall: shippedSmall
        case .neuralMedium: shippedMedium
        }
    }

    /// Reads all of them now, so that no later call takes that time.
    public static func readShipped() { for tier in SuperResolutionTier.allCases { _ = shipped(tier) } }

    private static let shippedSmall = mustLoad(PackageResources.neural_s_bnw)
    private static let shippedMedium = mustLoad(PackageResources.neural_m_bnw)

    private static func mustLoad(_ bytes: [UInt8]) -> SuperResolutionNetwork {
        do throws(EnhanceError) {
            return try SuperResolutionNetwork(bytes)
        } catch {
            preconditionFailure("the library was built with unusable weights: \(error)")
        }
    }

    /// Multiplications for one input sample.
    public var multiplicationsPerSample: Int { network.multiplicationsPerSample }
    /// How many input samples around it an output sample depends on.
    public var radius: Int { network.radius }
}
