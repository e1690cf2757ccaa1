import Glibc
import Media
import Testing

@testable import Control

@Suite struct WorkerLifecycleTests {
    /// A lifecycle in virtual time.
    struct Bench {
        var lifecycle = WorkerLifecycle()
        var now = MonotonicTime(nanoseconds: 100_000_000_000)
        /// Whether the worker answers pings, and which stages it names.
        var answers = true
        var stalled: [String] = []

        mutating func tell(_ input: WorkerLifecycle.Input) -> [WorkerLifecycle.Action] { lifecycle.handle(input, at: now) }

        /// Lets time pass. Pings are answered at once.
        mutating func pass(_ seconds: Double) -> [WorkerLifecycle.Action] {
            let end = now + .seconds(seconds)
            var actions: [WorkerLifecycle.Action] = []
            while let due = lifecycle.due, due <= end {
                now = max(due, now)
                for action in tell(.time) {
                    if case .ping(let id) = action {
                        if answers { actions += tell(.alive(id: id, stalled: stalled)) }
                    } else {
                        actions.append(action)
                    }
                }
            }
            now = end
            return actions
        }

        mutating func run() {
            _ = tell(.wanted(true))
            _ = tell(.hello)
        }
    }

    @Test func aWorkerThatRunsIsOnlyPinged() {
        var bench = Bench()
        #expect(bench.tell(.wanted(true)) == [.start])
        #expect(bench.tell(.hello) == [])
        #expect(bench.pass(3600) == [])
        #expect(bench.lifecycle.state == .running && bench.lifecycle.crashes == 0)
    }

    @Test func pingsOfAllWorkersFallTogether() {
        var (one, other) = (Bench(), Bench())
        other.now = other.now + .milliseconds(317)
        one.run()
        other.run()
        #expect(one.lifecycle.due == other.lifecycle.due)
    }

    @Test func aKilledWorkerIsReplacedAtOnceThenLaterAndLater() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.exited(.signal(SIGKILL))) == [.crashed("signal 9 (SIGKILL)"), .start])
        var waits: [Double] = []
        for _ in 0..<10 {
            let actions = bench.tell(.exited(.signal(SIGKILL)))
            guard actions.count == 2, case .backOff(let wait) = actions[1] else { Issue.record("\(actions)"); return }
            waits.append(wait.seconds)
            #expect(bench.pass(wait.seconds - 0.001) == [])
            #expect(bench.pass(0.001) == [.start])
        }
        #expect(waits == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30])
        #expect(bench.lifecycle.crashes == 11)
    }

    @Test func aMinuteOfFlowMakesTheNextReplacementImmediateAgain() {
        for (flow, isReset) in [(59.0, false), (60.0, true)] {
            var bench = Bench()
            bench.run()
            _ = bench.tell(.exited(.code(1)))
            _ = bench.tell(.hello)
            _ = bench.tell(.flowing(true))
            _ = bench.pass(flow)
            _ = bench.tell(.flowing(true))
            let actions = bench.tell(.exited(.code(1)))
            #expect(actions.contains(.start) == isReset, "after \(flow) s")
        }
    }

    @Test func anInterruptedFlowDoesNotCount() {
        var bench = Bench()
        bench.run()
        _ = bench.tell(.exited(.code(1)))
        _ = bench.tell(.hello)
        for _ in 0..<4 {
            for isFlowing in [true, true, false] {
                _ = bench.tell(.flowing(isFlowing))
                _ = bench.pass(20)
            }
        }
        #expect(!bench.tell(.exited(.code(1))).contains(.start))
    }

    @Test func aSilentWorkerIsAbortedThenKilledThenReplaced() {
        var bench = Bench()
        bench.run()
        bench.answers = false
        #expect(bench.pass(5.9) == [])
        #expect(bench.pass(0.2) == [.signal(SIGABRT)])
        #expect(bench.lifecycle.state == .aborting)
        #expect(bench.pass(1) == [.signal(SIGKILL)])
        #expect(bench.pass(10) == [])
        #expect(
            bench.tell(.exited(.signal(SIGKILL)))
                == [.crashed("it has not answered for 5.0 s: signal 9 (SIGKILL)"), .start])
    }

    @Test func aStalledStageIsToleratedForFiveSeconds() {
        var bench = Bench()
        bench.run()
        bench.stalled = ["a/decode"]
        #expect(bench.pass(4) == [])
        bench.stalled = ["b/send"]
        #expect(bench.pass(4) == [], "another stage began to stand still later")
        bench.stalled = []
        #expect(bench.pass(4) == [])
        bench.stalled = ["a/decode", "b/send"]
        #expect(bench.pass(7) == [.signal(SIGABRT), .signal(SIGKILL)])
        #expect(
            bench.tell(.exited(.signal(SIGABRT)))
                == [.crashed("its stage a/decode has stood still for 5.0 s: signal 6 (SIGABRT)"), .start])
    }

    @Test func whenTheSupervisorItselfStoodStillTheWorkerIsNotBlamed() {
        var bench = Bench()
        bench.run()
        bench.answers = false
        _ = bench.pass(2)
        bench.now = bench.now + .seconds(60)
        let actions = bench.tell(.time)
        #expect(actions.count == 1)
        guard case .ping(let id)? = actions.first else { Issue.record("\(actions)"); return }
        _ = bench.tell(.alive(id: id, stalled: []))
        bench.answers = true
        #expect(bench.pass(60) == [])
    }

    @Test func aWorkerThatSaysNoHelloIsReplaced() {
        var bench = Bench()
        _ = bench.tell(.wanted(true))
        #expect(bench.pass(9.9) == [])
        #expect(bench.pass(0.2) == [.signal(SIGABRT)])
    }

    @Test func whatCannotStartIsTriedAgainLater() {
        var bench = Bench()
        _ = bench.tell(.wanted(true))
        #expect(bench.tell(.cannotStart("no such file")) == [.crashed("cannot start: no such file"), .start])
        #expect(
            bench.tell(.cannotStart("no such file"))
                == [.crashed("cannot start: no such file"), .backOff(.milliseconds(250))])
        #expect(bench.pass(1) == [.start])
    }

    @Test func theEndOfTheChannelWaitsForTheExitWhichSaysMore() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.closed) == [])
        #expect(bench.pass(0.1) == [])
        #expect(bench.tell(.exited(.signal(SIGSEGV))) == [.crashed("signal 11 (SIGSEGV)"), .start])
        _ = bench.tell(.hello)
        #expect(bench.tell(.closed) == [])
        #expect(bench.pass(0.5) == [.signal(SIGABRT)])
    }

    @Test func garbageEndsAWorkerAtOnce() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.broken("no message")) == [.signal(SIGABRT)])
        #expect(bench.tell(.broken("no message")) == [], "one signal is enough")
        #expect(bench.tell(.exited(.signal(SIGABRT))) == [.crashed("no message: signal 6 (SIGABRT)"), .start])
    }

    @Test func aSecondHelloIsGarbage() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.hello) == [.signal(SIGABRT)])
    }

    @Test func aWorkerWithoutStreamsEnds() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.wanted(false)) == [.end])
        #expect(bench.tell(.exited(.code(0))) == [.ended])
        #expect(bench.lifecycle.state == .absent && bench.lifecycle.due == nil)
        #expect(bench.lifecycle.crashes == 0)
    }

    @Test func aWorkerThatDoesNotEndIsKilled() {
        var bench = Bench()
        bench.run()
        _ = bench.tell(.wanted(false))
        #expect(bench.pass(6.5) == [.signal(SIGABRT), .signal(SIGKILL)])
        _ = bench.tell(.exited(.signal(SIGKILL)))
        #expect(bench.lifecycle.state == .absent)
    }

    @Test func aReplacementIsNoFailure() {
        var bench = Bench()
        bench.run()
        #expect(bench.tell(.replace) == [.end])
        #expect(bench.tell(.exited(.code(0))) == [.ended, .start])
        #expect(bench.lifecycle.crashes == 0 && bench.lifecycle.starts == 2)
    }

    @Test func wantedAgainWhileItEndsMeansANewProcess() {
        var bench = Bench()
        bench.run()
        _ = bench.tell(.wanted(false))
        #expect(bench.tell(.wanted(true)) == [])
        #expect(bench.tell(.exited(.code(0))) == [.ended, .start])
    }

    @Test func aReplacementEndsAWait() {
        var bench = Bench()
        bench.run()
        _ = bench.tell(.exited(.code(1)))
        _ = bench.tell(.exited(.code(1)))
        #expect(bench.tell(.replace) == [.start])
    }

    @Test func unwantedWhileItWaitsMeansNothingMore() {
        var bench = Bench()
        bench.run()
        _ = bench.tell(.exited(.code(1)))
        _ = bench.tell(.exited(.code(1)))
        #expect(bench.tell(.wanted(false)) == [])
        #expect(bench.lifecycle.due == nil && bench.pass(60) == [])
    }

    /// Whatever happens in whatever order: a process is started only while there is none, and signalled only while there is one.
    @Test func anyOrderOfEventsKeepsTheBooksOfProcesses() {
        var random = SplitMix64(seed: 16)
        for _ in 0..<2000 {
            var bench = Bench()
            var hasProcess = false
            for _ in 0..<60 {
                let input: WorkerLifecycle.Input =
                    switch random.next() % 11 {
                    case 0: .wanted(random.next() % 3 != 0)
                    case 1: .replace
                    case 2: .hello
                    case 3: .alive(id: random.next() % 8, stalled: random.next() % 2 == 0 ? ["a"] : [])
                    case 4: .closed
                    case 5: .broken("x")
                    case 6: .flowing(random.next() % 2 == 0)
                    case 7 where hasProcess: .exited(random.next() % 2 == 0 ? .code(0) : .signal(9))
                    default: .time
                    }
                if case .exited = input { hasProcess = false }
                bench.now = bench.now + .milliseconds(Double(random.next() % 2000))
                for action in bench.tell(input) {
                    switch action {
                    case .start:
                        #expect(!hasProcess)
                        hasProcess = true
                    case .ping, .end, .signal: #expect(hasProcess)
                    case .crashed, .ended: #expect(bench.lifecycle.state != .running)
                    case .backOff: #expect(!hasProcess)
                    }
                }
                #expect(bench.lifecycle.state.hasProcess == hasProcess)
            }
        }
    }
}
