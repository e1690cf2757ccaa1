import Kernels

/// The trained weights of the network that fuses predictions of a new picture. Immutable; sessions may share it. `EnhanceNetworks`
/// has those that come with Burnish.
public struct FusionNetwork: Sendable {
    let weights: FusionWeights

    /// The phases that the network improves, in 1/256. It learnt the middle. At the quarters it is worse than nothing on some clips
    /// (docs/measurements/interpolation.md).
    static let phases = 80...176

    /// Reads a weights file (.bnf); tools/train/README.md states the format.
    /// - Throws: `badWeights` when it is truncated, damaged, of another version, or of a shape that is not supported.
    public init(_ bytes: [UInt8]) throws(EnhanceError) {
        do throws(NetworkFileError) {
            weights = try FusionWeights(bytes)
        } catch {
            throw EnhanceError(.badWeights, error.message)
        }
    }

    /// Multiplications for one sample of a new picture.
    public var multiplicationsPerSample: Int { weights.multiplicationsPerSample }
}
