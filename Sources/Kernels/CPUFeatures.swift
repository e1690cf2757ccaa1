import CKernels

/// Instruction sets that kernels are written for. An option stands for a generation of processors: `avx512` means F,
/// BW, DQ, VL and VNNI.
public struct CPUFeatures: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let avx2 = CPUFeatures(rawValue: UInt32(BURNISH_CPU_AVX2))
    public static let avx512 = CPUFeatures(rawValue: UInt32(BURNISH_CPU_AVX512))
    public static let neon = CPUFeatures(rawValue: UInt32(BURNISH_CPU_NEON))
    /// AMX's tiles with 8-bit products, beside `avx512`.
    public static let amx = CPUFeatures(rawValue: UInt32(BURNISH_CPU_AMX))

    /// The features that this processor and operating system support.
    public static let detected = CPUFeatures(rawValue: burnish_cpu_detect())

    /// The levels that a test or a benchmark goes through, from the scalar references to all detected features. Each
    /// has one instruction set more than the last.
    public static let levels: [CPUFeatures] = {
        var levels: [CPUFeatures] = [[]]
        for feature in [avx2, avx512, amx, neon] where detected.contains(feature) {
            levels.append(levels.last!.union(feature))
        }
        return levels
    }()

    /// The name of the highest instruction set among the features.
    public var name: String {
        if contains(.amx) { return "amx" }
        if contains(.avx512) { return "avx512" }
        if contains(.avx2) { return "avx2" }
        if contains(.neon) { return "neon" }
        return "scalar"
    }
}
