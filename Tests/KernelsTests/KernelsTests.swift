import Kernels
import Media
import Testing

@Suite struct KernelsTests {
    /// Every kernel of every instruction set that this machine has, against its scalar reference.
    @Test(arguments: KernelChecks.all().map(\.name)) func kernelMatchesItsReference(name: String) throws {
        let check = try #require(KernelChecks.all().first { $0.name == name })
        let comparisons = try check.verify()
        if CPUFeatures.levels.count > 1 { #expect(comparisons > 0, "no SIMD version of \(name) was compared") }
    }

    @Test func namesAreUnique() {
        let names = KernelChecks.all().map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func aLimitNamesALevel() {
        #expect(CPUFeatures(limit: "scalar") == [])
        #expect(CPUFeatures(limit: "avx512") == [.avx2, .avx512])
        #expect(CPUFeatures(limit: "avx3") == nil)
        #expect(Kernels(limit: []).features == [])
        #expect(Kernels().features == .detected)
    }

    @Test func theBenchCoversEveryLevelAndTimesSomething() throws {
        let rows = KernelBench(
            checks: Array(KernelChecks.all().prefix(1)), rounds: 3, burst: .microseconds(1)).run()
        #expect(!rows.isEmpty && rows.allSatisfy { $0.nanoseconds > 0 && $0.rate > 0 })
        #expect(try #require(rows.first).speedup == 1)
    }
}
