import Kernels

/// The trained weights of one neural tier. Immutable; sessions may share it. `EnhanceNetworks` has those that come with Burnish.
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

    /// Multiplications for one input sample.
    public var multiplicationsPerSample: Int { network.multiplicationsPerSample }
    /// How many input samples around it an output sample depends on.
    public var radius: Int { isRestoring ? 2 * network.radius + 1 : network.radius }
    /// Whether it takes coding artefacts out of pictures and keeps their size, in place of doubling them.
    public var isRestoring: Bool { network.scale == 1 }
}
