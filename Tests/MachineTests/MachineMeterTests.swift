import Media
import Schedule
import Testing

@testable import Machine

@Suite struct MachineMeterTests {
    @Test func whatTheMachineDoesIsRead() {
        func idle(_ text: String) -> Nanoseconds? { MachineMeter.idle(in: Array(text.utf8).span) }
        #expect(idle("cpu  1 2 3 40 5 6 7 8 9 10\ncpu0 1 2 3 4 5\n") == .milliseconds(450))
        #expect(idle("cpu  1 2 3 40 5") == .milliseconds(450))
        #expect(idle("cpu  1 2 3") == nil && idle("") == nil && idle("cpu  1 2 x 40 5") == nil)
        func running(_ text: String) -> Int? { MachineMeter.running(in: Array(text.utf8).span) }
        #expect(running("0.20 0.18 0.12 1/80 11206\n") == 1 && running("10.25 3.00 2.12 12/1080 1") == 12)
        #expect(running("0.20 0.18 0.12") == nil && running("") == nil && running("/") == nil)
        // What there is on the machine at hand, whatever that is.
        var meter = MachineMeter(limit: ProcessorLimit(processors: 2, quota: 1.5), threads: 2)
        _ = meter.measureCores()
        meter.sampleLoad()
        if let cores = meter.measureCores() { #expect(cores.spare >= 0 && cores.spare <= cores.dealt && cores.dealt <= 1.5) }
    }

    @Test func busyCoresAreMeasuredBetweenTwoCalls() {
        var usage = MachineUsage()
        let now = MonotonicTime.now()
        #expect(usage.busyCores(at: now) == nil)
        if let busy = usage.busyCores(at: now + .seconds(1)) { #expect(busy >= 0) }
    }
}
