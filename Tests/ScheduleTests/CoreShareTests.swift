import Schedule
import Testing

@Suite struct CoreShareTests {
    @Test(arguments: [
        // Others never pause: an even share of the cores, or the free ones if those are more.
        (cores: 2, threads: 2, used: 1.4, fewest: 2, dealt: 1.0, spare: 1.0),
        (cores: 4, threads: 1, used: 9.0, fewest: 4, dealt: 0.8, spare: 0.8),
        (cores: 2, threads: 2, used: 1.0, fewest: 1, dealt: 4.0 / 3, spare: 4.0 / 3),
        // Less than a tenth of a core is ignored.
        (cores: 2, threads: 9, used: 0.05, fewest: 0, dealt: 2.0, spare: 2.0),
        // Others pause: optional work leaves them a fifth more than they use.
        (cores: 2, threads: 2, used: 0.5, fewest: 0, dealt: 1.5, spare: 1.4),
        (cores: 2, threads: 2, used: 1.5, fewest: 0, dealt: 1.0, spare: 0.2),
        (cores: 2, threads: 2, used: 2.0, fewest: 0, dealt: 1.0, spare: 0.0),
        // One of each kind.
        (cores: 2, threads: 2, used: 1.2, fewest: 1, dealt: 1.0, spare: 1.0),
        (cores: 4, threads: 2, used: 1.5, fewest: 1, dealt: 2.5, spare: 2.4),
    ])
    func aStreamCountsOnTheFreeCores(
        cores: Int, threads: Int, used: Double, fewest: Int, dealt: Double, spare: Double
    ) {
        var share = CoreShare(cores: cores, threads: threads)
        for _ in 0..<5 { _ = share.update(usedByOthers: used, fewestRunning: 0) }
        for _ in 0..<6 { _ = share.update(usedByOthers: used, fewestRunning: fewest) }
        let counted = share.update(usedByOthers: used, fewestRunning: fewest)
        #expect(abs(counted.dealt - dealt) < 1e-9 && abs(counted.spare - spare) < 1e-9, "\(counted)")
        #expect(share.update(usedByOthers: used, fewestRunning: nil).dealt == counted.dealt)
        #expect(share.update(usedByOthers: used, fewestRunning: nil) == Cores(counted.dealt))
    }

    @Test func fewerCoresCountAtOnceAndMoreAfterTwoSamples() {
        var share = CoreShare(cores: 2, threads: 1)
        let results = [(0.0, 0), (2, 2), (0, 0), (0, 0)].map { share.update(usedByOthers: $0.0, fewestRunning: $0.1) }
        #expect(results == [2, 2.0 / 3, 2.0 / 3, 2].map { Cores($0) })
    }

    /// Optional work does not displace other programs that pause now and then, even where an even share would be more. Only
    /// programs that have not paused for a second have to share.
    @Test func optionalWorkLeavesOthersThatPauseTheirCores() {
        var share = CoreShare(cores: 2, threads: 2)
        func sample(_ fewest: Int) -> Double { share.update(usedByOthers: 1.5, fewestRunning: fewest).spare }
        _ = sample(0)
        for _ in 0..<20 {
            for _ in 0..<2 { #expect(abs(sample(0) - 0.2) < 1e-9) }
            for _ in 0..<4 { #expect(abs(sample(2) - 0.2) < 1e-9) }
        }
        #expect(abs(sample(2) - 0.2) < 1e-9)
        #expect(sample(2) == 1)
    }

    /// A program that begins to run without a pause does not cost a stream its even share, at whatever moment of a sample it
    /// begins.
    @Test(arguments: [0.3, 0.7, 0.9, 1.2, 1.44])
    func aProgramThatBeginsLeavesTheEvenShare(used: Double) {
        var share = CoreShare(cores: 2, threads: 2)
        for _ in 0..<9 { _ = share.update(usedByOthers: 0, fewestRunning: 0) }
        // It begins in the middle of a sample and then runs all the time.
        let first = share.update(usedByOthers: used, fewestRunning: 0).spare
        #expect(abs(first - (2 - used)) < 1e-9)
        #expect(share.update(usedByOthers: 1.6, fewestRunning: 2).spare == min(1, first))
        for _ in 0..<9 { #expect(share.update(usedByOthers: 1.6, fewestRunning: 2).spare == 1) }
    }
}
