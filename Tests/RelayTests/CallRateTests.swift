import Media
import Testing
@testable import Packets
@testable import Relay

struct CallRateTests {
    /// A rule that is asked every half second, as the relay does.
    private final class Asked {
        private var rate = CallRate(ceiling: 3_000_000)
        private var now = MonotonicTime(nanoseconds: 0)

        func callAsFunction(_ samples: CallRate.Sample...) -> Int { ask(samples) }

        func ask(_ samples: [CallRate.Sample]) -> Int {
            now = now + .milliseconds(500)
            return rate.observe(samples, within: 300_000...3_000_000, at: now)
        }
    }

    private func sample(_ reports: Int64, lost: Double?, bitRate: UInt64? = nil, id: UInt64 = 1) -> CallRate.Sample {
        CallRate.Sample(id: id, reports: reports, fractionLost: lost, bitRate: bitRate)
    }

    /// What a link carries has its losses and its sound in it, and counts before what a receiver states.
    @Test func anEstimateTakesThePlaceOfReports() {
        var report = RTPViewers.Report(id: 1, feedback: .init())
        (report.feedback.fractionLost, report.feedback.bitRate, report.feedback.reports) = (0.3, 700_000, 5)
        let told = CallRate.Sample(report)
        #expect(told.fractionLost == 0.3 && told.bitRate == 700_000)
        report.feedback.estimate = 1_064_000
        let estimated = CallRate.Sample(report)
        #expect(estimated.fractionLost == nil && estimated.bitRate == 1_000_000)
        report.feedback.estimate = 60_000
        #expect(CallRate.Sample(report).bitRate == 30_000)
    }

    @Test func lossesLowerItAndQuietRaisesIt() {
        let rate = Asked()
        #expect(rate(sample(0, lost: nil)) == 3_000_000)
        #expect(rate(sample(1, lost: 0.2)) == 2_700_000)
        // The same report counts once, and a few lost packets change nothing.
        for _ in 0..<4 { #expect(rate(sample(1, lost: 0.2)) == 2_700_000) }
        #expect(rate(sample(2, lost: 0.05)) == 2_700_000)
        #expect(rate(sample(2, lost: 0.05)) == 2_700_000)
        #expect(rate(sample(3, lost: 0)) == 2_835_000)
        for number in 4..<200 { _ = rate(sample(Int64(number), lost: 0.5)) }
        #expect(rate() == 300_000)
        #expect(rate(sample(1, lost: 0, id: 2)) == 3_000_000)
    }

    @Test func theWorstReceiverDecidesDownToTheFloor() {
        let rate = Asked()
        #expect(rate(sample(1, lost: 0, bitRate: 2_000_000), sample(1, lost: 0, bitRate: 1_000_000, id: 2)) == 1_000_000)
        #expect(rate(sample(2, lost: 0, bitRate: 1)) == 300_000)
        #expect(rate(sample(3, lost: 0)) == 3_000_000)
    }

    /// Eight receivers report in turn, each once in two seconds. One of them loses a part, the others nothing.
    @Test(arguments: [(0.3, 300_000), (0.05, 2_700_000), (0, 3_000_000)])
    func theOthersDoNotOutvoteTheWorst(lost: Double, expected: Int) {
        let rate = Asked()
        // Where it begins.
        #expect(rate(sample(1, lost: 0.2)) == 2_700_000)
        var result = 0
        for turn in 0..<200 {
            result = rate.ask(
                (0..<8).map { id in
                    // Two of them in each turn.
                    sample(2 + Int64((turn + 4 - id % 4) / 4), lost: id == 0 ? lost : 0, id: UInt64(id + 1))
                })
        }
        #expect(result == expected)
    }

    /// It falls as for one when all of them lose the same, and rises as for one.
    @Test func manyReceiversChangeItNoFasterThanOne() {
        let (one, many) = (Asked(), Asked())
        for turn in 0..<20 {
            let lost = turn < 6 ? 0.2 : 0
            let single = one(sample(Int64(turn), lost: lost))
            #expect(many.ask((1...8).map { sample(Int64(turn), lost: lost, id: $0) }) == single)
            // Three seconds of falling, a change in each.
            if turn == 5 { #expect(abs(single - 2_187_000) < 2) }
        }
    }

    /// A receiver that has fallen silent, in the middle of a loss.
    @Test func theSilentDoNotHoldItDown() {
        let rate = Asked()
        #expect(rate(sample(1, lost: 0.2), sample(1, lost: 0, id: 2)) == 2_700_000)
        var result = 0
        for turn in 0..<40 { result = rate(sample(1, lost: 0.2), sample(2 + Int64(turn), lost: 0, id: 2)) }
        #expect(result == 3_000_000)
    }
}
