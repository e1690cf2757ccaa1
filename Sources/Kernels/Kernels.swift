import CKernels

/// The SIMD kernels as chosen for one set of CPU features: the safe Swift face of the dispatch table.
///
/// A value without shared state: two processors may run on different instruction sets in one process, which is how
/// tests compare them. Kernels keep nothing between calls and may be called from any number of threads.
public struct Kernels: Sendable {
    /// What the table was made for.
    public let features: CPUFeatures
    /// For the checks, too, which call kernels one by one.
    package let table: burnish_kernels

    /// Chooses kernels for what both this processor and `limit` have.
    public init(limit: CPUFeatures = .detected) {
        features = limit.intersection(.detected)
        var table = burnish_kernels()
        unsafe burnish_kernels_init(&table, features.rawValue)
        self.table = table
    }

    /// The best that this processor can do.
    public static let best = Kernels()
}
