import Media
import Testing

@testable import Control

@Suite struct StreamLifecycleTests {
    let now = MonotonicTime(nanoseconds: 5_000_000_000)

    @Test func itStartsWhenItsWorkerRuns() {
        var stream = StreamLifecycle()
        #expect(stream.handle(.workerReady, at: now) == [.start])
        #expect(stream.handle(.started, at: now) == [])
        #expect(stream.state == .running)
    }

    @Test func itStartsAgainWithEachNewWorker() {
        var stream = StreamLifecycle()
        _ = stream.handle(.workerReady, at: now)
        _ = stream.handle(.started, at: now)
        #expect(stream.handle(.workerGone, at: now) == [])
        #expect(stream.state == .waitingForWorker)
        #expect(stream.handle(.workerReady, at: now) == [.start])
    }

    @Test func anEndIsFollowedByAnotherStartWithGrowingWaits() {
        var stream = StreamLifecycle()
        var time = now
        _ = stream.handle(.workerReady, at: time)
        for wait in [0, 0.25, 0.5, 1] {
            let actions = stream.handle(.ended(code: 69, reason: "in use"), at: time)
            #expect(actions == [.backOff(.seconds(wait), "in use")])
            #expect(stream.due == time + .seconds(wait))
            time = time + .seconds(wait)
            #expect(stream.handle(.time, at: time) == [.start])
        }
    }

    @Test(arguments: [0, 64, 78] as [Int32]) func someEndsAreFinal(code: Int32) {
        var stream = StreamLifecycle()
        _ = stream.handle(.workerReady, at: now)
        #expect(stream.handle(.ended(code: code, reason: "so"), at: now) == [.stopped("so")])
        #expect(!stream.needsWorker)
        #expect(stream.handle(.workerGone, at: now) == [])
        #expect(stream.handle(.workerReady, at: now) == [])
        #expect(stream.state == .stopped("so"))
        #expect(stream.handle(.restart, at: now) == [.start])
    }

    @Test func aRestartStopsItFirst() {
        var stream = StreamLifecycle()
        _ = stream.handle(.workerReady, at: now)
        _ = stream.handle(.started, at: now)
        #expect(stream.handle(.restart, at: now) == [.stop])
        #expect(stream.handle(.restart, at: now) == [])
        #expect(stream.handle(.ended(code: 0, reason: "stopped"), at: now) == [.start])
    }

    @Test func aRefusalStopsIt() {
        var stream = StreamLifecycle()
        _ = stream.handle(.workerReady, at: now)
        #expect(stream.handle(.refused("no room"), at: now) == [.stop])
        #expect(stream.handle(.ended(code: 0, reason: "stopped"), at: now) == [])
        #expect(stream.state == .stopped("no room"))
    }

    @Test func aWaitThatEndsWithoutAWorkerBecomesAWaitForOne() {
        var stream = StreamLifecycle()
        _ = stream.handle(.workerReady, at: now)
        _ = stream.handle(.ended(code: 69, reason: "in use"), at: now)
        _ = stream.handle(.workerGone, at: now)
        #expect(stream.due == nil)
        #expect(stream.handle(.time, at: now + .seconds(1)) == [])
        #expect(stream.handle(.workerReady, at: now + .seconds(1)) == [.start])
    }
}

@Suite struct WorkerGroupTests {
    func assign(_ streams: [(String, Set<UInt16>)], _ current: [String: Int] = [:]) -> [String: Int] {
        var last = current.values.max() ?? 0
        return WorkerGroups.assign(streams.map { ($0.0, $0.1) }, current: current) {
            last += 1
            return last
        }
    }

    @Test func streamsWithoutACommonPortHaveAWorkerEach() {
        #expect(assign([("a", [9000]), ("b", [9001]), ("c", []), ("d", [])]) == ["a": 1, "b": 2, "c": 3, "d": 4])
    }

    @Test func acommonPortMeansACommonWorkerAlsoByWayOfAThird() {
        #expect(
            assign([("a", [9000]), ("b", [9001, 9002]), ("c", [9000, 9002]), ("d", [])]) == ["a": 1, "b": 1, "c": 1, "d": 2])
    }

    @Test func nobodyMovesWhenAStreamIsAddedOrRemoved() {
        let before = assign([("a", [9000]), ("b", [9001])])
        #expect(assign([("a", [9000]), ("b", [9001]), ("c", [9001])], before) == ["a": 1, "b": 2, "c": 2])
        #expect(assign([("a", [9000]), ("c", [9000])], ["a": 1, "b": 1, "c": 1]) == ["a": 1, "c": 1])
        #expect(assign([("a", [9000]), ("c", [9001])], ["a": 1, "b": 1, "c": 1]) == ["a": 1, "c": 1])
    }

    @Test func theSmallerGroupMoves() {
        let current = ["a": 1, "b": 2, "c": 2]
        #expect(assign([("a", [9000, 9001]), ("b", [9001]), ("c", [9001])], current) == ["a": 2, "b": 2, "c": 2])
    }
}
