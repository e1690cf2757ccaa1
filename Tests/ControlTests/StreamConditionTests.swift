import Media
import Testing
import WorkerProtocol

@testable import Control

/// A stream's reason, and whether it counts as working, without time.
@Suite struct StreamConditionTests {
    let start = MonotonicTime(nanoseconds: 100_000_000_000)
    static let name = StreamTrouble(
        output: nil, .unresolvable, "srt://cam.example:9000: no address for host 'cam.example': unknown")
    static let output = StreamTrouble(output: 0, .unreachable, "srt://10.0.0.1:9000: nobody answers there")

    private func running(flowing: Bool = false, connected: Bool = false) -> StreamCondition.Facts {
        var facts = StreamCondition.Facts(lifecycle: .running)
        if flowing {
            facts.flow.observe(1, at: start)
            facts.flow.observe(2, at: start)
        }
        facts.isInputConnected = connected
        return facts
    }

    @Test func aStreamWithoutASourceSaysSoAndIsNoFault() {
        var condition = StreamCondition()
        condition.started()
        condition.hear([], at: start)
        #expect(condition.state(running()) == .waiting)
        #expect(condition.reason(running(), at: start) == "no source has come yet")
        #expect(
            condition.reason(running(connected: true), at: start) == "a source is connected, and no picture has come yet")
        #expect(condition.isGood(running(), at: start + .seconds(3600)))
    }

    @Test(arguments: [
        (name, "input: \(name.text)"),
        (
            StreamTrouble(output: nil, .refused, "srt://h:1: the passphrase is wrong"),
            "input: srt://h:1: the passphrase is wrong"
        ),
        (StreamTrouble(output: nil, .unusable, "no MPEG transport stream in it"), "input: no MPEG transport stream in it"),
        (output, "no source has come yet; output: \(output.text)"),
        (StreamTrouble(output: 2, .broken, "a pipe"), "no source has come yet; output 3: a pipe"),
    ])
    func whatKeepsAnEndFromItsPeerIsTheReasonAndCountsAfterTenSeconds(trouble: StreamTrouble, words: String) {
        var condition = StreamCondition()
        condition.started()
        condition.hear([trouble], at: start)
        #expect(condition.reason(running(), at: start) == words)
        #expect(condition.isGood(running(), at: start + .seconds(9)))
        // Said again: it goes on for as long as it did before.
        condition.hear([trouble], at: start + .seconds(5))
        #expect(!condition.isGood(running(), at: start + .seconds(10)))
        condition.hear([], at: start + .seconds(11))
        #expect(condition.isGood(running(), at: start + .seconds(11)))
        #expect(condition.reason(running(), at: start) == "no source has come yet")
    }

    @Test func anOutputThatNobodyAnswersShowsWhileFramesCome() {
        var condition = StreamCondition()
        condition.started()
        condition.hear([Self.output], at: start)
        #expect(condition.state(running(flowing: true)) == .flowing)
        #expect(condition.reason(running(flowing: true), at: start) == "output: \(Self.output.text)")
        #expect(!condition.isGood(running(flowing: true), at: start + .seconds(10)))
        // Of several it has its number.
        var several = running(flowing: true)
        several.outputs = 2
        #expect(condition.reason(several, at: start) == "output 1: \(Self.output.text)")
    }

    /// Everybody can call with a wrong passphrase, and a camera may be switched off.
    @Test(arguments: [
        (
            StreamTrouble(output: nil, .callerRefused, "192.0.2.1:5 called with a wrong passphrase"),
            "no source has come yet; input: the last caller was refused: 192.0.2.1:5 called with a wrong passphrase"
        ),
        (
            StreamTrouble(output: nil, .unreachable, "srt://cam:1: nobody answers there"),
            "input: srt://cam:1: nobody answers there"
        ),
    ])
    func whatOthersDoIsTheReasonAndNoFault(trouble: StreamTrouble, words: String) {
        var condition = StreamCondition()
        condition.started()
        condition.hear([trouble], at: start)
        #expect(condition.reason(running(), at: start) == words)
        #expect(condition.isGood(running(), at: start + .seconds(600)))
    }

    @Test func whyItEndedStaysUntilItRunsAgain() {
        var condition = StreamCondition()
        condition.ended("no address for host 'x'")
        let waiting = StreamCondition.Facts(lifecycle: .backingOff(until: start + .seconds(4)))
        #expect(condition.state(waiting) == .backingOff)
        #expect(condition.reason(waiting, at: start) == "no address for host 'x'; it is started again in 4 s")
        #expect(!condition.isGood(waiting, at: start))
        let starting = StreamCondition.Facts(lifecycle: .starting)
        #expect(condition.reason(starting, at: start) == "it is started again: no address for host 'x'")
        condition.started()
        #expect(condition.reason(running(), at: start) == "no source has come yet")
        var worker = StreamCondition.Facts(lifecycle: .waitingForWorker)
        worker.workerRestart = start + .seconds(1)
        condition.ended("its worker has ended: signal 9")
        #expect(condition.state(worker) == .backingOff)
        #expect(condition.reason(worker, at: start) == "its worker has ended: signal 9; it is started again in 1 s")
    }

    @Test func aStopIsAFaultUnlessSomebodyWantedIt() {
        var condition = StreamCondition()
        let facts = StreamCondition.Facts(lifecycle: .stopped("so"))
        #expect(condition.reason(facts, at: start) == "so" && !condition.isGood(facts, at: start))
        condition.stopOnPurpose()
        #expect(condition.reason(facts, at: start) == "so" && condition.isGood(facts, at: start))
        condition.beginAnew()
        #expect(!condition.isGood(facts, at: start))
    }

    @Test func itIsSettledWhenItsCallsHaveGotAnAnswer() {
        var condition = StreamCondition()
        condition.started()
        #expect(!condition.isSettled(running(), calling: []))
        condition.hear([], at: start)
        #expect(condition.isSettled(running(), calling: []))
        #expect(!condition.isSettled(running(), calling: [0]))
        condition.hear([Self.output], at: start)
        #expect(condition.isSettled(running(), calling: [0]))
        #expect(!condition.isSettled(running(), calling: [0, 1]))
        #expect(condition.isSettled(.init(lifecycle: .stopped("x")), calling: [0]))
        #expect(!condition.isSettled(.init(lifecycle: .starting), calling: []))
    }
}
