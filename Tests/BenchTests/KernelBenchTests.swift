import Bench
import KernelChecks
import Media
import Testing

@Suite struct KernelBenchTests {
    @Test func theBenchCoversEveryLevelAndTimesSomething() throws {
        let rows = KernelBench(
            checks: Array(CheckedKernels.all().prefix(1)), rounds: 3, burst: .microseconds(1)
        ).run()
        #expect(!rows.isEmpty && rows.allSatisfy { $0.nanoseconds > 0 && $0.rate > 0 })
        #expect(try #require(rows.first).speedup == 1)
    }
}
