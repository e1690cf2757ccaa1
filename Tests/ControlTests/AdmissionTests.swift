import Media
import Schedule
import Testing

@testable import Control

@Suite struct AdmissionTests {
    private let capacity = Capacity(cores: 2)
    private func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func aStreamIsJudgedOnceItsNeedIsKnown() {
        var admission = Admission()
        #expect(admission.judge(["a": 1.2], capacity, at: time(0)) == [:])
        #expect(admission.judge(["a": 0.6], capacity, at: time(2)) == [:])
        #expect(admission.judge(["a": 0.6], capacity, at: time(3)) == ["a": .admitted])
        #expect(admission.judge(["a": 0.9], capacity, at: time(4)) == [:])
        #expect(admission.admitted == 0.9)
    }

    @Test func aStreamThatTheMachineCannotCarryIsTooMuchAndSaysWhy() {
        var admission = Admission()
        _ = admission.judge(["a": 1.0], capacity, at: time(0))
        _ = admission.judge(["a": 1.0], capacity, at: time(3))
        _ = admission.judge(["a": 1.0, "b": 0.8, "c": 0.6], capacity, at: time(10))
        #expect(
            admission.judge(["a": 1.0, "b": 0.8, "c": 0.6], capacity, at: time(13)) == [
                "b": .tooMuch("it needs 0.80 cores at least, and 0.70 of 1.70 are left"), "c": .admitted,
            ])
    }

    /// Whoever was admitted keeps its place, also while its source is away, and when it needs more later.
    @Test func laterStreamsAreRefusedForEarlierOnes() {
        var admission = Admission()
        _ = admission.judge(["a": 1.0], capacity, at: time(0))
        _ = admission.judge(["a": 1.0], capacity, at: time(3))
        _ = admission.judge(["b": 1.0], capacity, at: time(20))
        #expect(admission.judge(["b": 1.0], capacity, at: time(23))["b"] != .admitted)
        #expect(admission.judge(["a": 3.0], capacity, at: time(30)) == [:])
        #expect(admission.fullness(capacity) == "the streams that run need 3.00 of the 1.70 cores there are for them")
        admission.forget("a")
        #expect(admission.fullness(capacity) == nil)
    }
}

@Suite struct UsedCoresTests {
    @Test func aNeedCountsAsFarAsTheProcessorTimeBearsItOut() {
        var use = UsedCores()
        #expect(use.limit(of: [0.5]) == 0, "nothing is known of it yet")
        use.observe(0.4)
        #expect(use.limit(of: [0.5]) == 1)
        #expect(abs(use.limit(of: [40, 20]) * 60 - 0.6) < 1e-9, "it says that it needs all of the machine")
        #expect(use.limit(of: [0, 0]) == 1)
        // A pause of the source does not make it small at once.
        for _ in 0..<3 { use.observe(0) }
        #expect(use.cores > 0.2)
        for _ in 0..<60 { use.observe(0) }
        #expect(use.cores < 0.001)
    }
}

@Suite struct CoreSharingTests {
    private let demand = CoreSharing.Demand(least: 0.25, synthesising: 0.9, isFlowing: true)

    private func machine(idle: Double?) -> CoreSharing.Machine {
        .init(cores: 2, ours: idle.map { 2 - $0 } ?? 0, idle: idle)
    }

    /// One call a second.
    private func shares(
        _ sharing: inout CoreSharing, of demands: [String: CoreSharing.Demand], idle: Double? = 1, times: Int = 1
    ) -> [String: CoreSharing.Share] {
        (0..<times).map { _ in sharing.shares(of: demands, on: machine(idle: idle), seconds: 1) }.last!
    }

    /// A quota may allow less than is idle, and what is idle elsewhere does not count.
    @Test func whatOthersUseIsWhatIsNeitherIdleNorOurs() {
        func machine(_ cores: Double, _ ours: Double, idle: Double?) -> [Double?] {
            let machine = CoreSharing.Machine(cores: cores, ours: ours, idle: idle)
            return [machine.usedByOthers, machine.idle]
        }
        #expect(machine(2, 0.5, idle: 1) == [0.5, 1] && machine(2, 0.5, idle: 0) == [1.5, 0])
        #expect(machine(2, 0.5, idle: 6) == [0, 1.5] && machine(1.5, 0.5, idle: 0.5) == [0.5, 0.5])
        #expect(machine(2, 2.5, idle: 0) == [0, 0] && machine(2, 0.5, idle: nil) == [0, nil])
    }

    @Test func aSingleStreamIsLeftToMeasureForItself() {
        var sharing = CoreSharing()
        var silent = demand
        silent.isFlowing = false
        #expect(shares(&sharing, of: ["a": demand]).isEmpty)
        // When the source of the other one comes, it begins with its originals.
        #expect(shares(&sharing, of: ["a": demand, "b": silent]) == ["b": .init(Cores(dealt: 1.75, spare: 1.75, optional: 0))])
    }

    @Test func equalStreamsGetEqualShares() {
        var sharing = CoreSharing()
        let demands = ["a": demand, "b": demand, "c": demand, "d": demand]
        let shares = shares(&sharing, of: demands, times: 3)
        #expect(shares.count == 4)
        for share in shares.values {
            #expect(abs(share.dealt - 1.25 - share.optional) < 1e-9 && abs(share.optional - (2 * 0.92 - 1) / 4) < 1e-9)
        }
    }

    /// It has not one picture yet, and must not count on what another stream uses.
    @Test func aStreamThatIsAboutToBeginIsToldWhatTheOthersLeave() {
        var sharing = CoreSharing()
        let coming = CoreSharing.Demand(least: 0, synthesising: 0, isFlowing: false, isComing: true)
        let shares = sharing.shares(of: ["a": demand, "b": coming], on: machine(idle: 1), seconds: 1)
        #expect(shares.keys.sorted() == ["b"] && shares["b"]!.room == 1.75 && shares["b"]!.dealt == 1.75)
        #expect(sharing.shares(of: ["b": coming], on: machine(idle: 1), seconds: 1).isEmpty)
    }

    /// By their own costs the streams fill the machine, but it is half idle.
    @Test func idleTimeIsDealtWhateverTheStreamsSayTheyNeed() {
        var sharing = CoreSharing()
        var demand = demand
        demand.least = 0.6
        let demands = ["a": demand, "b": demand, "c": demand, "d": demand]
        // Two seconds pass before it counts.
        #expect(shares(&sharing, of: demands, times: 2)["a"]!.optional == 0)
        let optional = shares(&sharing, of: demands, times: 3)["a"]!.optional
        #expect(abs(optional - 3 * 0.42 / 4) < 1e-9)
        // A single stream ends the deal, and the next one begins from the costs again.
        _ = shares(&sharing, of: ["a": demand])
        #expect(shares(&sharing, of: demands)["a"]!.optional == 0)
    }

    /// A stream that begins takes what its originals need from the optional work of the others, at once, and does none itself until
    /// its costs are known.
    @Test func originalsOfANewStreamComeBeforeOptionalWork() {
        var sharing = CoreSharing()
        let demands = ["a": demand, "b": demand]
        let before = shares(&sharing, of: demands, idle: 0.3, times: 5)["a"]!.optional
        #expect(before > 0.6)
        var all = demands
        all["c"] = demand
        for _ in 0..<2 {
            let after = shares(&sharing, of: all, idle: 0)
            #expect(after["c"]!.optional == 0 && abs(after["a"]!.optional - (before - 0.125)) < 1e-9)
            #expect(after["c"]!.dealt >= demand.least)
        }
        #expect(shares(&sharing, of: all, idle: 0.16)["c"]!.optional > 0.3)
    }

    /// One original that was lost for want of time is one too many. The share comes back slowly.
    @Test func aLostOriginalTakesAPartOfTheOptionalWorkFromAll() {
        var sharing = CoreSharing()
        var demands = ["a": demand, "b": demand]
        let before = shares(&sharing, of: demands, idle: 0.16, times: 5)["a"]!.optional
        demands["b"]?.lost = 1
        let after = shares(&sharing, of: demands, idle: 0.16)["a"]!.optional
        #expect(abs(after - 0.7 * before) < 1e-9)
        let later = shares(&sharing, of: demands, idle: 1, times: 10)["a"]!.optional
        #expect(later > 1.05 * after && later < 1.2 * after)
    }
}
