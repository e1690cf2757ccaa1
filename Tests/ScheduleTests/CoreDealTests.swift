import Media
import Testing

@testable import Schedule

@Suite struct CoreDealTests {
    @Test func eachStreamGetsWhatItsOriginalsNeedAndAnEqualPartOfTheRest() {
        let deal = CoreDeal(cores: 2).deal(
            [.init(least: 0.5), .init(least: 0.3), .init(least: 0.2)], usedByOthers: 0.5)
        let each = (0.92 * 1.5 - 1.0) / 3
        #expect(deal.map(\.dealt).elementsEqual([1 + each, 0.8 + each, 0.7 + each], by: Self.isNear))
        #expect(deal.map(\.spare) == deal.map(\.dealt))
        #expect(deal.map(\.optional).elementsEqual([each, each, each], by: Self.isNear))
    }

    @Test func whatOneStreamDoesNotUseGoesToTheOthers() {
        let deal = CoreDeal(cores: 4).deal(
            [.init(least: 0.1, optional: 0.08), .init(least: 0.1), .init(least: 0.1, optional: 5)], usedByOthers: 0)
        let rest = (0.92 * 4 - 0.3 - 0.08) / 2
        #expect(deal.map(\.optional).elementsEqual([0.08, rest, rest], by: Self.isNear))
    }

    /// A machine that is too small for all originals is still divided, and nothing is left for optional work.
    @Test func anOverloadedMachineIsDividedEvenly() {
        let deal = CoreDeal(cores: 1).deal([.init(least: 2), .init(least: 2)], usedByOthers: 3)
        #expect(deal == [Cores(dealt: 0, spare: 0, optional: 0), Cores(dealt: 0, spare: 0, optional: 0)])
        #expect(CoreDeal(cores: 1).deal([.init(least: 2), .init(least: 2)], usedByOthers: 0).map(\.dealt) == [0.5, 0.5])
        #expect(CoreDeal(cores: 1).deal([], usedByOthers: 0).isEmpty)
    }

    @Test func aDividedWholeIsNeverExceeded() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<1000 {
            let wanted = (0..<Int(random.unit() * 8)).map { _ in random.unit() < 0.3 ? Double.infinity : random.unit() }
            let whole = random.unit() * 3
            let parts = CoreDeal.divide(whole, wanted)
            #expect(parts.reduce(0, +) <= whole + 1e-9)
            for (part, wanted) in zip(parts, wanted) { #expect(part >= 0 && part <= wanted) }
            // Whoever got less than it wanted got as much as anybody.
            let most = parts.max() ?? 0
            for (part, wanted) in zip(parts, wanted) where part < wanted - 1e-9 { #expect(part > most - 1e-9) }
        }
    }

    private static func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) < 1e-9 }
}

@Suite struct OptionalPoolTests {
    /// Streams that overstate what their work costs by `factor`, on two cores of which originals use one.
    private func settle(_ factor: Double, from start: Double = 0, estimate: Double = 0, seconds: Int = 150) -> [Double] {
        var pool = OptionalPool()
        _ = pool.update(idle: nil, cores: 2, estimate: start, seconds: 1)
        var size = start
        return (0..<seconds).map { _ in
            let busy = min(2, 1 + size / factor)
            size = pool.update(idle: 2 - busy, cores: 2, estimate: estimate, seconds: 1)
            return busy
        }
    }

    @Test(arguments: [0.7, 1, 1.5, 3, 8]) func itFillsTheMachineWhateverTheStreamsReport(factor: Double) {
        let busy = settle(factor)
        #expect(busy.suffix(20).allSatisfy { abs($0 - 1.84) < 0.05 }, "\(busy)")
    }

    /// Others take the machine: a pool that was as large as it may be is nearly gone after ten seconds.
    @Test func itShrinksByAShareWhileNothingIsIdle() {
        var pool = OptionalPool()
        _ = pool.update(idle: 2, cores: 2, estimate: 8, seconds: 1)
        for _ in 0..<10 { _ = pool.update(idle: 0, cores: 2, estimate: 0.1, seconds: 1) }
        #expect(pool.size! < 0.5 && pool.size! >= 0.1)
    }

    @Test func itNeverFallsBelowWhatTheCostsSayIsLeft() {
        #expect(settle(1, estimate: 2).last == 2)
    }

    @Test func whatNobodySpendsDoesNotGrowForEver() {
        var pool = OptionalPool()
        for _ in 0..<100 { _ = pool.update(idle: 2, cores: 2, estimate: 0, seconds: 1) }
        #expect(pool.size == 8)
    }

    /// Nothing optional is done before the machine's idle time beside all streams is known.
    @Test func streamsThatAllBeginGetNothing() {
        var pool = OptionalPool()
        var streams = OptionalPool.Streams()
        (streams.joined, streams.areSettling, streams.areNew) = (1, true, true)
        for _ in 0..<3 {
            #expect(pool.update(idle: 2, cores: 2, estimate: 1.8, seconds: 1, streams: streams) == 0)
            streams.joined = 0
        }
        #expect(abs(pool.update(idle: 1, cores: 2, estimate: 0, seconds: 1) - 0.42) < 1e-9)
    }

    /// Each loss lowers it, also when the costs say that there is room.
    @Test func lossesLowerItAndItRisesSlowlyAgain() {
        var pool = OptionalPool()
        var streams = OptionalPool.Streams()
        _ = pool.update(idle: 1, cores: 2, estimate: 1, seconds: 1)
        streams.haveLost = true
        let sizes = (0..<8).map { _ in pool.update(idle: 0.3, cores: 2, estimate: 1, seconds: 1, streams: streams) }
        #expect(abs(sizes[0] - 0.7) < 1e-9 && sizes.last! < 0.1)
        let later = (0..<200).map { _ in pool.update(idle: 1, cores: 2, estimate: 1, seconds: 1) }
        #expect(zip(later, later.dropFirst()).allSatisfy { $1 >= $0 && $1 < $0 + 0.05 } && later.last! >= 1)
    }

    /// Frames that the network brought too late cost nobody anything, while the machine has time.
    @Test func lossesOnAnIdleMachineChangeNothing() {
        var pool = OptionalPool()
        var streams = OptionalPool.Streams()
        streams.haveLost = true
        let sizes = (0..<5).map { _ in pool.update(idle: 1, cores: 2, estimate: 1, seconds: 1, streams: streams) }
        #expect(zip(sizes, sizes.dropFirst()).allSatisfy { $1 > $0 })
    }

    @Test func withoutAMeasurementTheEstimateHolds() {
        var pool = OptionalPool()
        for _ in 0..<3 { #expect(pool.update(idle: nil, cores: 2, estimate: 0.4, seconds: 1) == 0.4) }
    }
}

@Suite struct OptionalAllowanceTests {
    private func time(_ milliseconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    @Test func workThatCostsTwiceTheRateIsDoneEverySecondTime() {
        var allowance = OptionalAllowance()
        allowance.rate = 0.25
        var done: [Bool] = []
        for frame in 0..<60 {
            allowance.advance(to: time(Double(frame) * 20))
            done.append(allowance.spend(10e6))
        }
        #expect(zip(done.dropFirst(10), done.dropFirst(11)).allSatisfy { $0 != $1 }, "evenly: \(done)")
    }

    @Test func nothingIsSavedForLongerThanAQuarterOfASecond() {
        var allowance = OptionalAllowance()
        allowance.rate = 0.1
        allowance.advance(to: time(0))
        allowance.advance(to: time(60_000))
        var count = 0
        while allowance.spend(5e6) { count += 1 }
        #expect(count == 5, "25 ms were saved")
    }

    /// A single piece of work that costs more than can be saved is done now and then all the same.
    @Test func expensiveWorkIsDoneNowAndThen() {
        var allowance = OptionalAllowance()
        allowance.rate = 0.01
        let count = (0..<3000).count { frame in
            allowance.advance(to: time(Double(frame) * 33))
            return allowance.spend(30e6)
        }
        #expect((30...36).contains(count), "99 s at a hundredth of a core pay for 33 such pieces: \(count)")
    }

    @Test func withoutADealNothingIsLimited() {
        var allowance = OptionalAllowance()
        #expect((0..<100).allSatisfy { _ in allowance.spend(1e9) })
    }
}
