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

@Suite struct CoreSharingTests {
    @Test func aSingleStreamIsLeftToMeasureForItself() {
        let demand = CoreSharing.Demand(least: 0.4, synthesising: 0.9, isFlowing: true)
        var silent = demand
        silent.isFlowing = false
        #expect(CoreSharing().shares(of: ["a": demand, "b": silent], cores: 2, usedByOthers: 0).isEmpty)
    }

    @Test func equalStreamsGetEqualShares() {
        let demand = CoreSharing.Demand(least: 0.25, synthesising: 0.9, isFlowing: true)
        let shares = CoreSharing().shares(of: ["a": demand, "b": demand, "c": demand, "d": demand], cores: 2, usedByOthers: 0)
        #expect(shares.count == 4)
        for share in shares.values {
            #expect(abs(share.dealt - 1.25) < 1e-9 && abs(share.spare - (2 * 0.92 - 1) / 4) < 1e-9)
        }
    }
}
