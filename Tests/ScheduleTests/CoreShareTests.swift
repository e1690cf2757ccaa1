import Schedule
import Testing

@Suite struct CoreShareTests {
    @Test(arguments: [
        // Others that never pause: an even share of the cores, or those that are left.
        (cores: 2, threads: 2, used: 1.4, steady: 2, dealt: 1.0, spare: 1.0),
        (cores: 4, threads: 1, used: 9.0, steady: 4, dealt: 0.8, spare: 0.8),
        (cores: 2, threads: 2, used: 1.0, steady: 1, dealt: 4.0 / 3, spare: 4.0 / 3),
        // A little is nobody's business.
        (cores: 2, threads: 9, used: 0.05, steady: 0, dealt: 2.0, spare: 2.0),
        // Others that pause: optional work leaves them a fifth more than they use.
        (cores: 2, threads: 2, used: 0.5, steady: 0, dealt: 1.5, spare: 1.4),
        (cores: 2, threads: 2, used: 1.5, steady: 0, dealt: 1.0, spare: 0.2),
        (cores: 2, threads: 2, used: 2.0, steady: 0, dealt: 1.0, spare: 0.0),
        // One of each kind.
        (cores: 2, threads: 2, used: 1.2, steady: 1, dealt: 1.0, spare: 1.0),
        (cores: 4, threads: 2, used: 1.5, steady: 1, dealt: 2.5, spare: 2.4),
    ])
    func aStreamCountsOnWhatOthersLeave(
        cores: Int, threads: Int, used: Double, steady: Int, dealt: Double, spare: Double
    ) {
        var share = CoreShare(cores: cores, threads: threads)
        for _ in 0..<5 { _ = share.update(usedByOthers: used, fewestRunning: 0) }
        for _ in 0..<6 { _ = share.update(usedByOthers: used, fewestRunning: steady) }
        let counted = share.update(usedByOthers: used, fewestRunning: steady)
        #expect(abs(counted.dealt - dealt) < 1e-9 && abs(counted.spare - spare) < 1e-9, "\(counted)")
        #expect(share.update(usedByOthers: used, fewestRunning: nil).dealt == counted.dealt)
        #expect(share.update(usedByOthers: used, fewestRunning: nil) == Cores(counted.dealt))
    }

    @Test func fewerCoresAreBelievedAtOnceAndMoreAfterTwoLooks() {
        var share = CoreShare(cores: 2, threads: 1)
        let looks = [(0.0, 0), (2, 2), (0, 0), (0, 0)].map { share.update(usedByOthers: $0.0, fewestRunning: $0.1) }
        #expect(looks == [2, 2.0 / 3, 2.0 / 3, 2].map { Cores($0) })
    }

    /// Optional work does not drive out others that pause now and then, whatever an even share would be. Only others that
    /// have not paused for a second have to share.
    @Test func nothingIsTakenFromOthersThatPause() {
        var share = CoreShare(cores: 2, threads: 2)
        func look(_ steady: Int) -> Double { share.update(usedByOthers: 1.5, fewestRunning: steady).spare }
        _ = look(0)
        for _ in 0..<20 {
            for _ in 0..<2 { #expect(abs(look(0) - 0.2) < 1e-9) }
            for _ in 0..<4 { #expect(abs(look(2) - 0.2) < 1e-9) }
        }
        #expect(abs(look(2) - 0.2) < 1e-9)
        #expect(look(2) == 1)
    }

    /// But whoever begins to run without a pause, at whatever moment of a look, does not cost a stream its even share.
    @Test(arguments: [0.3, 0.7, 0.9, 1.2, 1.44])
    func anEvenShareIsNotLostToWhoBegins(used: Double) {
        var share = CoreShare(cores: 2, threads: 2)
        for _ in 0..<9 { _ = share.update(usedByOthers: 0, fewestRunning: 0) }
        // In the middle of a look, and then all the time.
        let first = share.update(usedByOthers: used, fewestRunning: 0).spare
        #expect(abs(first - (2 - used)) < 1e-9)
        #expect(share.update(usedByOthers: 1.6, fewestRunning: 2).spare == min(1, first))
        for _ in 0..<9 { #expect(share.update(usedByOthers: 1.6, fewestRunning: 2).spare == 1) }
    }
}
