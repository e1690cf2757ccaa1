import Bench
import Media
import Testing

@Suite struct LedgerBenchTests {
    @Test func closingIsTimedWithAndWithoutAMap() throws {
        var bench = LedgerBench()
        bench.frames = 40
        bench.evictedBytes = 1 << 12
        let rows = try #require(bench.run())
        #expect(rows.map(\.count) == [40, 40, 2, 2])
        #expect(rows.allSatisfy { $0.median <= $0.p99 && $0.p99 <= $0.largest })
    }
}
