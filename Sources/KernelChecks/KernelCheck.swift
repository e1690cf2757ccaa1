import Kernels

/// One kernel under test: how to make its input, how to call it, and how much work one call is. Every version of a
/// kernel is compared with its scalar reference, as in dav1d's checkasm.
public protocol KernelCheck: AnyObject {
    /// Family and kernel, for example `scale.vertical8`.
    var name: String { get }
    /// The sizes to compare: every remainder of a vector, and some large ones.
    var sizes: [CheckSize] { get }
    /// The size that the benchmark runs.
    var benchmarkSize: CheckSize { get }
    /// The work of one call at this size, in ``unit``.
    func work(_ size: CheckSize) -> Double
    var unit: WorkUnit { get }

    /// The function in the table. Of two levels with the same function only one needs to run.
    @unsafe func implementation(_ kernels: Kernels) -> UnsafeRawPointer
    /// Makes the input and both destinations for a size. Called before ``run(_:into:)``.
    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64)
    /// Calls the kernel once. Its output goes to destination 0 or 1, which had equal contents before.
    func run(_ kernels: Kernels, into destination: Int)
    /// The first difference between the two destinations, canaries included.
    func difference() -> String?
}

public struct CheckSize: Hashable, Sendable {
    public var width: Int
    public var height: Int
    public init(_ width: Int, _ height: Int = 1) {
        self.width = width
        self.height = height
    }
}

public enum WorkUnit: String, Sendable {
    case samples = "samples"
    case multiplications = "MAC"
}

/// A kernel whose output differs from its reference's.
public struct KernelMismatch: Error, CustomStringConvertible {
    public let kernel: String
    public let features: CPUFeatures
    public let size: CheckSize
    public let content: CheckContent
    public let seed: UInt64
    public let difference: String

    public var description: String {
        "\(kernel) for \(features.name) differs from its scalar reference at \(size.width)x\(size.height), "
            + "\(content) input, seed \(seed): \(difference)"
    }
}

extension KernelCheck {
    /// Compares the kernel of every level in `levels` with the scalar reference.
    /// - Returns: the number of comparisons. 0 means that this machine has no other version.
    public func verify(levels: [CPUFeatures] = CPUFeatures.levels, seed: UInt64 = 1) throws(KernelMismatch) -> Int {
        let reference = Kernels(limit: [])
        var seen = unsafe [implementation(reference)]
        var comparisons = 0
        for level in levels {
            let kernels = Kernels(limit: level)
            let function = unsafe implementation(kernels)
            if unsafe seen.contains(function) { continue }
            unsafe seen.append(function)
            for size in sizes {
                for content in CheckContent.allCases {
                    let seed = seed &+ UInt64(comparisons)
                    prepare(size, content: content, seed: seed)
                    run(reference, into: 0)
                    run(kernels, into: 1)
                    if let difference = difference() {
                        throw KernelMismatch(
                            kernel: name, features: level, size: size, content: content, seed: seed,
                            difference: difference)
                    }
                    comparisons += 1
                }
            }
        }
        return comparisons
    }
}
