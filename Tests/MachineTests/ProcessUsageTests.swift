import Glibc
import Media
import Testing

@testable import Machine

@Suite struct ProcessUsageTests {
    @Test func theProgramsNameMayHoldAnything() {
        let text = "42 (a ) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100"
        #expect(ProcessUsage.seconds(in: text) == 300 / Double(sysconf(Int32(_SC_CLK_TCK))))
        #expect(ProcessUsage.seconds(in: "") == nil && ProcessUsage.seconds(in: "42 (a) S") == nil)
    }

    @Test func coresAreTimeOverTime() {
        var usage = ProcessUsage()
        let start = MonotonicTime(nanoseconds: 0)
        usage.observe(10, at: start)
        #expect(usage.cores == 0)
        usage.observe(11, at: start + .seconds(2))
        #expect(usage.cores == 0.5)
        usage.observe(nil, at: start + .seconds(3))
        #expect(usage.cores == 0)
        #expect(ProcessUsage.seconds(of: getpid()) != nil)
    }
}
