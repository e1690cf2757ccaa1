import Bench
import Media
import Testing

@Suite struct PlanBenchTests {
    @Test func eachKindOfQuestionIsTimed() {
        var bench = PlanBench()
        bench.frames = 50
        bench.seconds = 2
        let rows = bench.run()
        #expect(rows.map(\.count) == [50, 50, 50, 3])
        #expect(rows.allSatisfy { $0.median <= $0.p99 && $0.p99 <= $0.largest && $0.largest > .zero })
    }
}
