import Media
import Testing
import Transport
@testable import Measure

struct ImpairmentTests {
    private func run(_ settings: ImpairmentSettings, count: Int = 10_000, direction: UInt64 = 0) -> [Impairment.Verdict] {
        var path = Impairment(settings, direction: direction)
        return (0..<count).map { path.judge(at: .milliseconds(Double($0)), byteCount: 1360) }
    }

    @Test func theSameSeedGivesTheSameFates() {
        var settings = ImpairmentSettings()
        settings.loss = 0.1
        settings.jitter = .milliseconds(5)
        settings.reorder = 0.02
        #expect(run(settings) == run(settings))
        #expect(run(settings) != run(settings, direction: 1))
        settings.seed = 2
        #expect(run(settings) != run(ImpairmentSettings()))
    }

    @Test func lossIsAsAsked() {
        var settings = ImpairmentSettings()
        settings.loss = 0.1
        let lost = run(settings).count { $0 == .lose }
        #expect((900...1100).contains(lost))
    }

    @Test func delayAndJitterStayWithinBoundsAndInOrder() {
        var settings = ImpairmentSettings()
        settings.delay = .milliseconds(20)
        settings.jitter = .milliseconds(5)
        var last = Nanoseconds.zero
        for (i, verdict) in run(settings).enumerated() {
            guard case .deliver(let time) = verdict else {
                Issue.record("lost")
                return
            }
            let way = time - .milliseconds(Double(i))
            #expect(way >= .milliseconds(20) && way <= .milliseconds(25))
            #expect(time >= last)
            last = time
        }
    }

    @Test func someAreOvertaken() {
        var settings = ImpairmentSettings()
        settings.reorder = 0.1
        let times = run(settings).compactMap { if case .deliver(let time) = $0 { time } else { nil } }
        let overtaken = zip(times, times.dropFirst()).count { $0 > $1 }
        #expect((800...1200).contains(overtaken))
    }

    @Test func aSlowLinkQueuesAndThenLoses() {
        var settings = ImpairmentSettings()
        settings.rate = 1360 * 8 * 500  // half of what comes
        settings.queue = .milliseconds(100)
        let verdicts = run(settings, count: 2000)
        #expect(verdicts.prefix(100).allSatisfy { $0 != .lose })
        let share = Double(verdicts.suffix(1000).count { $0 == .lose }) / 1000
        #expect(share > 0.45 && share < 0.55)
    }

    @Test func nothingPassesABlackout() {
        var settings = ImpairmentSettings()
        settings.blackouts = [Nanoseconds.seconds(1)..<Nanoseconds.seconds(3)]
        for (i, verdict) in run(settings).enumerated() { #expect((verdict == .lose) == (1000..<3000).contains(i)) }
    }
}
