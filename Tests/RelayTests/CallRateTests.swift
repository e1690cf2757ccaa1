import Testing

@testable import Relay

struct CallRateTests {
    private let range = 300_000...3_000_000

    private func sample(_ reports: Int64, lost: Double?, bitRate: UInt64? = nil, id: UInt64 = 1) -> CallRate.Sample {
        CallRate.Sample(id: id, reports: reports, fractionLost: lost, bitRate: bitRate)
    }

    @Test func lossesLowerItAndQuietRaisesIt() {
        var rate = CallRate(ceiling: 3_000_000)
        #expect(rate.observe([sample(0, lost: nil)], within: range) == 3_000_000)
        #expect(rate.observe([sample(1, lost: 0.2)], within: range) == 2_700_000)
        // The same report counts once, and a few lost packets change nothing.
        #expect(rate.observe([sample(1, lost: 0.2)], within: range) == 2_700_000)
        #expect(rate.observe([sample(2, lost: 0.05)], within: range) == 2_700_000)
        #expect(rate.observe([sample(3, lost: 0)], within: range) == 2_835_000)
        for number in 4..<200 { _ = rate.observe([sample(Int64(number), lost: 0.5)], within: range) }
        #expect(rate.observe([], within: range) == 300_000)
        #expect(rate.observe([sample(1, lost: 0, id: 2)], within: range) == 3_000_000)
    }

    @Test func theWorstReceiverDecidesDownToTheFloor() {
        var rate = CallRate(ceiling: 3_000_000)
        let others = [sample(1, lost: 0, bitRate: 2_000_000), sample(1, lost: 0, bitRate: 1_000_000, id: 2)]
        #expect(rate.observe(others, within: range) == 1_000_000)
        #expect(rate.observe([sample(2, lost: 0, bitRate: 1)], within: range) == 300_000)
        #expect(rate.observe([sample(3, lost: 0)], within: range) == 3_000_000)
    }
}
