import Foundation
import Media
import ServiceConfiguration
import Telemetry
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// What goes wrong between requests, workers and the configuration.
@Suite(.timeLimit(.minutes(10))) struct SupervisorFaultTests {
    /// The worker is still ending the old stream when it is told to start the new one.
    @Test func aStreamThatIsRemovedAndAddedAgainInASharedWorkerRuns() async throws {
        let bench = try SupervisorBench(["a-shared", "b-shared"])
        let supervisor = bench.supervisor
        await supervisor.start()
        for name in ["a-shared", "b-shared"] { await bench.event(.started, of: name) }
        let process = try await bench.process(of: "a-shared")
        for _ in 0..<5 {
            let before = supervisor.events.lastNumber
            try await supervisor.remove("b-shared")
            _ = try await supervisor.add(
                "b-shared",
                ["input": "srt://127.0.0.1:19000?mode=listener&streamid=b-shared", "output": "udp://127.0.0.1:18302"])
            await bench.event(.started, of: "b-shared", after: before)
        }
        let status = try await supervisor.stream("b-shared")
        #expect(status.state == .waiting && status.process == process)
        #expect(!supervisor.events.events.contains { $0.kind == "stopped" || $0.kind == "ended" })
        await supervisor.end()
    }

    /// What stays in a shared worker was stopped for good. So nobody needs the process.
    @Test func aWorkerWithoutAStreamThatRunsEnds() async throws {
        let bench = try SupervisorBench(["a-shared", "misconfigured-shared"])
        await bench.supervisor.start()
        await bench.event(.started, of: "a-shared")
        await bench.event(.stopped, of: "misconfigured-shared")
        try await bench.supervisor.remove("a-shared")
        while try await bench.supervisor.stream("misconfigured-shared").process != nil { await Task.yield() }
        await bench.supervisor.end()
    }

    @Test func aRestartShortensTheWaitForTheWorker() async throws {
        let bench = try SupervisorBench(["exit-1"])
        await bench.supervisor.start()
        await bench.event(.backingOff, of: "exit-1") { $0.text.contains("in 1.0 s") }
        let before = bench.supervisor.events.lastNumber
        try await bench.supervisor.restart("exit-1")
        // The worker may have been started by itself in between.
        await bench.event(.backingOff, of: "exit-1", after: before) { $0.text.contains("in 0.25 s") }
        await bench.supervisor.end()
    }

    /// The first reload reads a file that the second one finds changed. What was read last is in force in the end.
    @Test func reloadsDoNotOvertakeEachOther() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let loads = Lock(0)
        let bench = try SupervisorBench(["a"]) { surroundings in
            surroundings.load = { () throws(ConfigurationFaults) in
                let number = loads.withLock { count in
                    count += 1
                    return count
                }
                let text = SupervisorBench.yaml(["a"], ["sharpness": number == 1 ? "0.25" : "0.75"])
                if number == 1 { for await _ in gate { break } }
                return try SupervisorBench.configuration(text)
            }
        }
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        let first = Task { try await supervisor.reload() }
        while loads.withLock({ $0 }) == 0 { await Task.yield() }
        let second = Task { try await supervisor.reload() }
        // Time for the second to overtake the first.
        for _ in 0..<500 { _ = await supervisor.health() }
        open.yield()
        try await first.value
        try await second.value
        #expect(try await supervisor.stream("a").settings["sharpness"] == "0.75")
        await supervisor.end()
    }

    @Test func aStreamThatCouldNotBeAddedIsTriedAgain() async throws {
        let failures = Lock(2)
        let bench = try SupervisorBench(["a", "b"]) { surroundings in
            surroundings.makeMap = { (name) throws(TelemetryMapError) in
                let fails = failures.withLock { left in
                    guard name == "b", left > 0 else { return false }
                    left -= 1
                    return true
                }
                if fails { _ = try TelemetryMap.Reader(path: "/nowhere") }
                return try StreamMap(stream: name)
            }
        }
        await bench.supervisor.start()
        await bench.event(.refused, of: "b") { $0.text.contains("/nowhere cannot be read") }
        await bench.event(.started, of: "a")
        await bench.event(.started, of: "b")
        #expect(failures.withLock { $0 } == 0)
        await bench.supervisor.end()
    }

    private final class Waiters<Value: Sendable>: Sendable {
        let list = Lock<[PendingRequests.Waiter<Value>]>([])
    }

    /// Waits as a request of the API does.
    private static func request<Value>(_ waiters: Waiters<Value>) async -> Task<Result<Value, ServiceFault>, Never> {
        let count = waiters.list.withLock { $0.count }
        let task = Task {
            await withCheckedContinuation { (waiter: PendingRequests.Waiter<Value>) in
                waiters.list.withLock { $0.append(waiter) }
            }
        }
        while waiters.list.withLock({ $0.count }) == count { await Task.yield() }
        return task
    }

    /// Viewers who wait for one worker take no place of others.
    @Test func callsAreCountedApart() async throws {
        var requests = PendingRequests()
        let start = MonotonicTime(nanoseconds: 0)
        let most = PendingRequests.mostCallsOfWorker
        let waiters = Waiters<String>()
        var tasks: [Task<Result<String, ServiceFault>, Never>] = []
        for _ in 0..<most + 2 { tasks.append(await Self.request(waiters)) }
        let all = waiters.list.withLock { $0 }
        var numbers: [UInt64?] = []
        for waiter in all[...most] { numbers.append(requests.addCall(waiter, worker: 1, now: start)) }
        #expect(numbers[..<most].allSatisfy { $0 != nil } && numbers[most] == nil)
        guard case .failure(let fault) = await tasks[most].value else { throw ServiceFault(.invalid, "one too many waits") }
        #expect(fault.kind == .unavailable)
        let other = requests.addCall(all[most + 1], worker: 2, now: start)
        #expect(other != nil)
        let changes = Waiters<Void>()
        let change = await Self.request(changes)
        let number = requests.addChange(changes.list.withLock { $0[0] }, worker: 1, now: start)
        #expect(number != nil)
        requests.failAll(fault)
        for task in tasks { _ = await task.value }
        _ = await change.value
    }

    /// A change whose answer did not come in time, and the next one.
    @Test func aLateAnswerIsNotThatOfTheNextRequest() async throws {
        var requests = PendingRequests()
        let start = MonotonicTime(nanoseconds: 0)
        let waiters = Waiters<Void>()
        let first = await Self.request(waiters)
        let one = requests.addChange(waiters.list.withLock { $0[0] }, worker: 1, now: start) ?? 0
        requests.expire(start + requests.timeout)
        guard case .failure = await first.value else { throw ServiceFault(.invalid, "the first request was answered") }
        let second = await Self.request(waiters)
        let two = requests.addChange(waiters.list.withLock { $0[1] }, worker: 1, now: start) ?? 0
        #expect(one != two)
        requests.answerChange(one, worker: 1, .failure(ServiceFault(.refused, "late")))
        requests.answerChange(two, worker: 2, .failure(ServiceFault(.refused, "another worker's")))
        requests.answerChange(two, worker: 1, .success(()))
        guard case .success = await second.value else { throw ServiceFault(.invalid, "the second got the first's answer") }
        #expect(requests.due == nil)
    }
}
