import Foundation
import Media
import ServiceConfiguration
import Testing
import WorkerProtocol

@testable import Control

/// WebRTC calls between the HTTP interface and workers, which are fakes.
@Suite(.timeLimit(.minutes(10))) struct CallTests {
    private static let offer = PeerOffer(description: "v=0\r\n", userFragment: "abcd")

    private static func yaml(_ names: [String], limit: Int = 256) -> String {
        "limits: {calls: \(limit)}\nstreams:\n"
            + names.map { "  \($0): {input: 'whip:\($0)', output: 'whep:\($0)', publish-token: 0123456789abcdef}\n" }.joined()
    }

    private func bench(
        _ names: [String], limit: Int = 256, change: (inout Supervisor.Surroundings) -> Void = { _ in }
    ) async throws -> SupervisorBench {
        let bench = try SupervisorBench([], change: change)
        await bench.supervisor.start()
        bench.write(text: Self.yaml(names, limit: limit))
        try await bench.supervisor.reload()
        for name in names { await bench.event(.started, of: name) }
        return bench
    }

    /// What a call that cannot begin says.
    private func fault(_ bench: SupervisorBench, _ name: String, _ side: CallSide = .publish) async -> ServiceFault? {
        do throws(ServiceFault) {
            _ = try await bench.supervisor.call(name, side, Self.offer)
            return nil
        } catch {
            return error
        }
    }

    @Test func aCallIsAnsweredAndEndsWhenItIsAsked() async throws {
        let bench = try await bench(["a", "b"])
        let supervisor = bench.supervisor
        let place = try #require(await supervisor.callPlace("a", .publish))
        #expect(place.stream == "a" && place.tokens?.count == 1 && !"\(place)".contains("0123456789"))
        #expect(await supervisor.callPlace("a", .play)?.tokens == nil)
        #expect(await supervisor.callPlace("none", .play) == nil)
        let call = try await supervisor.call("a", .publish, Self.offer)
        #expect(call.answer == "v=0\r\ns=a publish 5\r\n" && call.id.utf8.count == 32 && call.userFragment == "abcd")
        #expect(await supervisor.call(call.id, of: "a", .publish)?.userFragment == "abcd")
        for (name, restarts) in [("efgh", 1), ("efgh", 1), ("ijkl", 2)] {
            let restarted = try await supervisor.restartCall(
                call.id, of: "a", .publish, userFragment: name, password: "x")
            #expect(restarted.answer.hasPrefix("a=ice-ufrag:\(name)-") && restarted.restarts == restarts)
            let present = await supervisor.call(call.id, of: "a", .publish)
            #expect(present?.userFragment == name && present?.restarts == restarts)
        }
        // A call belongs to its place.
        #expect(await supervisor.call(call.id, of: "a", .play) == nil)
        #expect(await supervisor.call(call.id, of: "b", .publish) == nil)
        await #expect(throws: ServiceFault.self) { try await supervisor.hangUp(call.id, of: "b", .publish) }
        await #expect(throws: ServiceFault.self) {
            _ = try await supervisor.restartCall(call.id, of: "b", .publish, userFragment: "mnop", password: "x")
        }
        try await supervisor.hangUp(call.id, of: "a", .publish)
        await bench.event(.message, of: "a") { $0.text.contains("hung up") }
        #expect(await supervisor.call(call.id, of: "a", .publish) == nil)
        await supervisor.end()
    }

    /// What a viewer says of its picture stands in the list of callers, with its own call and no other.
    @Test func freezesAreThoseThatTheViewerTells() async throws {
        let bench = try await bench(["a", "b"])
        let supervisor = bench.supervisor
        let first = try await supervisor.call("a", .play, Self.offer)
        _ = try await supervisor.call("a", .play, Self.offer)
        let publisher = try await supervisor.call("a", .publish, Self.offer)
        let unknown = try await supervisor.callers(of: "a")
        #expect(unknown.allSatisfy { $0.freezes == nil } && unknown.count >= 4)
        for count in [0, 3] {
            try await supervisor.keep(freezes: count, ofCall: first.id, of: "a")
            let told = try await supervisor.callers(of: "a").compactMap(\.freezes)
            #expect(told == [count])
        }
        // Neither a publisher, nor by another stream's name, nor a call that is over.
        for (id, name) in [(publisher.id, "a"), (first.id, "b"), ("none", "a")] {
            await #expect(throws: ServiceFault.self) { try await supervisor.keep(freezes: 7, ofCall: id, of: name) }
        }
        try await supervisor.hangUp(first.id, of: "a", .play)
        await #expect(throws: ServiceFault.self) { try await supervisor.keep(freezes: 7, ofCall: first.id, of: "a") }
        let told = try await supervisor.callers(of: "a").compactMap(\.freezes)
        #expect(told.isEmpty)
        await supervisor.end()
    }

    @Test func whatAViewerChoosesReachesTheWorker() async throws {
        let bench = try await bench(["a", "b"])
        let supervisor = bench.supervisor
        let viewer = try await supervisor.call("a", .play, Self.offer)
        let publisher = try await supervisor.call("a", .publish, Self.offer)
        for layer in [.sent, nil] as [ViewerLayer?] {
            try await supervisor.choose(layer, ofCall: viewer.id, of: "a")
            await bench.event(.message, of: "a") { $0.text.hasSuffix("chooses \(layer?.rawValue ?? "auto")") }
        }
        for (id, name) in [(publisher.id, "a"), (viewer.id, "b"), ("none", "a")] {
            await #expect(throws: ServiceFault.self) { try await supervisor.choose(.sent, ofCall: id, of: name) }
        }
        await supervisor.end()
    }

    @Test func refusalsAndLimitsSayWhy() async throws {
        let bench = try await bench(["a", "refuse-1"], limit: 2)
        #expect(await fault(bench, "none")?.kind == .notFound)
        let refused = await fault(bench, "refuse-1")
        #expect(refused?.kind == .unacceptable && refused?.text == "there is no codec that both know")
        let first = try await bench.supervisor.call("a", .play, Self.offer)
        _ = try await bench.supervisor.call("a", .play, Self.offer)
        #expect(await fault(bench, "a", .play)?.kind == .noRoom)
        try await bench.supervisor.hangUp(first.id, of: "a", .play)
        #expect(await fault(bench, "a", .play) == nil)
        await bench.supervisor.end()
    }

    /// An offer that no worker answers is answered by the supervisor, and holds no place afterwards.
    @Test func aSilentWorkerHoldsNobodyUp() async throws {
        let bench = try await bench(["silent-1", "a"], limit: 1) { $0.requestTimeout = .seconds(1) }
        #expect(await fault(bench, "silent-1")?.text.contains("did not answer within") == true)
        // On a slow machine this one's worker may not answer within a second either.
        #expect(await fault(bench, "a")?.kind != .noRoom)
        await bench.supervisor.end()
    }

    @Test func callsEndWithTheirWorker() async throws {
        let bench = try await bench(["a", "b"])
        let supervisor = bench.supervisor
        let lost = try await supervisor.call("a", .publish, Self.offer)
        let kept = try await supervisor.call("b", .publish, Self.offer)
        let started = await bench.event(.started, of: "a")
        kill(try await bench.process(of: "a"), SIGKILL)
        await bench.event(.started, of: "a", after: started.number)
        #expect(await supervisor.call(lost.id, of: "a", .publish) == nil)
        #expect(await supervisor.call(kept.id, of: "b", .publish) != nil)
        #expect(await fault(bench, "a") == nil)
        await supervisor.end()
    }

    @Test func aRegistryForgetsWhatHasEnded() {
        var calls = CallRegistry()
        func call(_ stream: String, _ worker: Int) -> CallRegistry.Call {
            CallRegistry.Call(stream: stream, worker: worker, side: .play, userFragment: "abcd")
        }
        let ids = [calls.begin(call("a", 1)), calls.begin(call("a", 1)), calls.begin(call("b", 2))]
        #expect(Set(ids).count == 3 && calls.count == 3 && calls.count(of: "a") == 2)
        #expect(calls[ids[0]] == nil, "it is not answered yet")
        for (number, id) in ids.enumerated() {
            calls.number(id, UInt64(number))
            let isPresent = calls.answer(id)
            #expect(isPresent)
        }
        #expect(calls[ids[0]] != nil)
        // Another worker's word does not count.
        calls.end(number: 0, worker: 2)
        #expect(calls.count == 3)
        calls.end(number: 0, worker: 1)
        let isLate = !calls.answer(ids[0])
        #expect(calls[ids[0]] == nil && isLate)
        calls.endAll(of: "b", worker: 1)
        #expect(calls.count == 2)
        calls.endAll(of: 1)
        #expect(calls.count == 1 && calls[ids[2]] != nil)
        #expect(CallRegistry.id(0, .max) == String(repeating: "0", count: 16) + String(repeating: "f", count: 16))
    }
}
