import KernelChecks
import Kernels
import Media
import Testing

@Suite struct KernelsTests {
    /// Every kernel of every instruction set that this machine has, against its scalar reference.
    @Test(arguments: CheckedKernels.all().map(\.name)) func kernelMatchesItsReference(name: String) throws {
        let check = try #require(CheckedKernels.all().first { $0.name == name })
        let comparisons = try check.verify()
        if CPUFeatures.levels.count > 1 { #expect(comparisons > 0, "no SIMD version of \(name) was compared") }
    }

    @Test func namesAreUnique() {
        let names = CheckedKernels.all().map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func aLimitRestrictsTheFeatures() {
        #expect(Kernels(limit: []).features == [])
        #expect(Kernels().features == .detected)
    }
}
