import CKernels

/// The SIMD kernels as chosen for one set of CPU features: the safe Swift face of the dispatch table.
///
/// A value without shared state: two sessions in one process may use different instruction sets. Tests compare them
/// that way. Kernels keep nothing between calls, and any number of threads may call them.
public struct Kernels: Sendable {
    /// The features that the table was made for.
    public let features: CPUFeatures
    /// The checks call its functions one by one.
    package let table: burnish_kernels

    /// Chooses kernels for the features that both this processor and `limit` have.
    public init(limit: CPUFeatures = .detected) {
        features = limit.intersection(.detected)
        var table = burnish_kernels()
        unsafe burnish_kernels_init(&table, features.rawValue)
        self.table = table
    }

    /// The best kernels for this processor.
    public static let best = Kernels()
}
