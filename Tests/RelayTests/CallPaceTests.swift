import Media
import Testing

@testable import Relay

/// Who gets keyframes only, and for how long, in virtual time.
struct CallPaceTests {
    /// A receiver who reports once a second, and is looked at ten times a second.
    private struct Link {
        var pace = CallPace()
        var sample = CallPace.Sample()
        var floor: Int?
        private(set) var milliseconds: Int64 = 0
        /// What changed, and after how many seconds.
        private(set) var changes: [(change: CallPace.Change, second: Double)] = []
        /// When trials began.
        private(set) var trials: [Double] = []

        init(floor: Int? = nil) { self.floor = floor }

        /// Keyframes come at once when one is awaited.
        mutating func run(
            seconds: Double, lost: Double?, asksEvery interval: Int64? = 500, bitRate: (Double) -> UInt64? = { _ in nil }
        ) {
            let end = milliseconds + Int64(seconds * 1_000)
            while milliseconds < end {
                milliseconds += 100
                if let lost, milliseconds % 1_000 == 0 { (sample.reports, sample.fractionLost) = (sample.reports + 1, lost) }
                if let interval, milliseconds % interval == 0 { sample.keyframeRequests += 1 }
                sample.bitRate = bitRate(second)
                let now = MonotonicTime(nanoseconds: milliseconds * 1_000_000)
                if let change = pace.observe(sample, floor: floor, ceiling: 3_000_000, at: now) {
                    changes.append((change, second))
                }
                if pace.awaitsTrial {
                    trials.append(second)
                    pace.keyframeWasSent()
                }
            }
        }

        var second: Double { Double(milliseconds) / 1_000 }
    }

    @Test func aLinkThatStaysBadGetsKeyframesOnlyAndIsTriedLessAndLess() throws {
        var link = Link()
        link.run(seconds: 7.9, lost: 0.2)
        #expect(link.changes.isEmpty && link.pace.frames == .all)
        link.run(seconds: 300, lost: 0.2)
        #expect(link.changes.map(\.change) == [.slowed], "an event for each direction, none for a trial that fails")
        let slowed = try #require(link.changes.first).second
        #expect(slowed == 8)
        // A trial fails when two reports are bad and two seconds have gone by.
        let waits = zip(link.trials, [slowed] + link.trials).map { $0 - $1 }
        #expect(link.trials.count >= 6 && abs(waits[0] - 6) < 0.2)
        for (wait, expected) in zip(waits.dropFirst(), [12.0, 24, 48, 48, 48]) {
            #expect(wait >= expected && wait < expected + 4.5, "\(waits)")
        }
        #expect(link.pace.isHeldBack)
    }

    @Test func aLinkThatHoldsGetsAllFramesAgain() throws {
        var link = Link()
        link.run(seconds: 10, lost: 0.3)
        link.run(seconds: 60, lost: 0.01, asksEvery: nil)
        #expect(link.changes.map(\.change) == [.slowed, .recovered] && link.trials.count == 1)
        #expect(abs(try #require(link.changes.last).second - link.trials[0] - 6) < 0.3)
        #expect(link.pace.frames == .all && !link.pace.isHeldBack)
        // Long after, it begins anew.
        link.run(seconds: 60, lost: 0, asksEvery: nil)
        link.run(seconds: 20, lost: 0.3)
        #expect(abs(link.trials[1] - link.changes[2].second - 6) < 0.2)
    }

    /// It goes on with a longer wait.
    @Test func aRelapseIsNoNewBeginning() {
        var link = Link()
        link.run(seconds: 10, lost: 0.3)
        link.run(seconds: 20, lost: 0, asksEvery: nil)
        link.run(seconds: 40, lost: 0.3)
        #expect(link.changes.map(\.change) == [.slowed, .recovered, .slowed])
        #expect(abs(link.trials[1] - link.changes[2].second - 12) < 0.2)
    }

    @Test func oneLossyReportDoesNothing() {
        var link = Link()
        link.run(seconds: 20, lost: 0, asksEvery: nil)
        link.run(seconds: 1, lost: 0.9)
        // Nothing more is heard of the losses, but the receiver goes on asking.
        link.run(seconds: 60, lost: nil)
        link.run(seconds: 1, lost: 0.9)
        link.run(seconds: 60, lost: 0)
        #expect(link.changes.isEmpty)
    }

    /// The receiver follows, as the packets come again in time or the decoder hides the losses.
    @Test func lossesWithoutRequestsDoNothing() {
        var link = Link()
        link.run(seconds: 120, lost: 0.3, asksEvery: nil)
        link.run(seconds: 120, lost: 0.3, asksEvery: 4_000)
        link.run(seconds: 120, lost: 0.09)
        #expect(link.changes.isEmpty)
    }

    /// Losses come and go before six seconds are over.
    @Test func shortSpellsDoNothing() {
        var link = Link()
        for _ in 0..<20 {
            link.run(seconds: 5, lost: 0.4)
            link.run(seconds: 5, lost: 0.01, asksEvery: nil)
        }
        #expect(link.changes.isEmpty)
    }

    /// No reports come any more, so nobody knows whether the link holds.
    @Test func whoeverFallsSilentKeepsWhatHeGets() {
        var link = Link()
        link.run(seconds: 10, lost: 0.3)
        link.run(seconds: 100, lost: nil, asksEvery: nil)
        #expect(link.changes.map(\.change) == [.slowed] && link.trials.count > 2)
    }

    @Test func aStatedRateBelowTheFloorHoldsHimBack() {
        var link = Link(floor: 500_000)
        link.run(seconds: 5, lost: 0, asksEvery: nil) { _ in 400_000 }
        link.run(seconds: 5, lost: 0, asksEvery: nil) { _ in 600_000 }
        #expect(link.changes.isEmpty)
        link.run(seconds: 20, lost: 0, asksEvery: nil) { _ in 400_000 }
        #expect(link.changes.map(\.change) == [.slowed])
        link.run(seconds: 60, lost: 0, asksEvery: nil) { _ in 600_000 }
        #expect(link.changes.map(\.change) == [.slowed, .recovered])
        // Without a floor the operator does not want the rate to follow anybody.
        var other = Link()
        other.run(seconds: 60, lost: 0, asksEvery: nil) { _ in 400_000 }
        #expect(other.changes.isEmpty)
    }

    /// A browser states 100 kb/s at first and 8 % more each second.
    @Test func aRateThatStillRisesIsNoVerdict() {
        var link = Link(floor: 500_000)
        link.run(seconds: 60, lost: 0, asksEvery: nil) { second in
            var rate = 100_000.0
            for _ in 0..<Int(second) { rate = min(rate * 1.08, 2_000_000) }
            return UInt64(rate)
        }
        #expect(link.changes.isEmpty)
    }

    /// With a floor, losses without requests count as soon as they would have the rate below it.
    @Test func lossesThatWouldHaveTheRateBelowTheFloorHoldHimBack() {
        var link = Link(floor: 1_000_000)
        link.run(seconds: 12, lost: 0.2, asksEvery: nil)
        #expect(link.changes.isEmpty)
        link.run(seconds: 120, lost: 0.2, asksEvery: nil)
        #expect(link.changes.map(\.change) == [.slowed])
        link.run(seconds: 120, lost: 0.01, asksEvery: nil)
        #expect(link.changes.map(\.change) == [.slowed, .recovered])
    }

    /// All slow receivers together cost the others a keyframe in six seconds at most, beside those of trials.
    @Test func keyframesForTheSlowAreRare() {
        var slow = SlowReceivers()
        var asked: [Int64] = []
        for milliseconds in stride(from: Int64(0), through: 30_000, by: 20) {
            let now = MonotonicTime(nanoseconds: milliseconds * 1_000_000)
            _ = slow.claimTurn(at: now)
            // One goes out for another reason. It is seen at the next look.
            if milliseconds == 8_000 { slow.keyframeWasSent() }
            guard slow.mayAsk(isTrial: milliseconds == 22_000, at: now) else { continue }
            asked.append(milliseconds)
            slow.asked(at: now)
        }
        #expect(asked == [0, 6_000, 14_100, 20_100, 22_000, 28_000])
    }
}
