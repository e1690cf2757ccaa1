import Foundation
import Media
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// Stills that become better later.
@Suite(.timeLimit(.minutes(3))) struct DeferredTests {
    private func entry(_ number: Int, bytes: Int64 = 10, time: Double = 0) -> DeferredFolder.Entry {
        let job = DeferredJob(.still, stream: "a", number: number, settings: [:], time: time)
        return DeferredFolder.Entry(job: job, path: "/queue/a.still-\(number).job", bytes: bytes)
    }

    private func queue(_ entries: [DeferredFolder.Entry]) -> DeferredQueue {
        var queue = DeferredQueue()
        queue.replace(entries)
        return queue
    }

    // MARK: The queue as a value

    @Test func theQueueIsBounded() {
        var full = queue((1..<DeferredQueue.most).map { entry($0) })
        #expect(full.fullness == nil)
        // One that is being taken in counts.
        full.begin()
        #expect(full.fullness != nil)
        full.arrive(nil)
        #expect(full.fullness == nil)
        #expect(queue([entry(1, bytes: DeferredQueue.mostBytes)]).fullness != nil)
    }

    @Test func failuresPauseAndThenEnd() {
        var now = MonotonicTime(nanoseconds: 0)
        var work = queue([entry(1), entry(2)])
        for _ in 1..<DeferredQueue.mostFailures {
            #expect(work.next(at: now) == entry(1))
            let isTriedAgain = work.fail(entry(1), at: now)
            #expect(isTriedAgain)
            #expect(work.next(at: now) == entry(2), "the others do not wait for it")
            now = now + .seconds(60)
        }
        let isTriedAgain = work.fail(entry(1), at: now)
        #expect(!isTriedAgain)
        #expect(work.items.map(\.entry) == [entry(2)] && work.outcomes == [.failed: 1])
    }

    @Test func whatIsTooOldExpires() {
        var work = queue([entry(1, time: 1000), entry(2, time: 1000), entry(3, time: 5000)])
        let young = work.expire(at: 1000 + DeferredQueue.longestWait, except: nil)
        #expect(young == [])
        let old = work.expire(at: 1001 + DeferredQueue.longestWait, except: entry(1, time: 1000))
        #expect(old == [entry(2, time: 1000)])
        #expect(work.items.count == 2 && work.outcomes == [.expired: 1])
    }

    @Test func workBeginsWhereCoresAreIdleAndStandsStillWhereFramesAreLost() {
        var judge = IdleJudge()
        judge.observe(idle: 0.2, lost: 5)
        #expect(!judge.isIdle && !judge.isTight, "what was lost before does not count")
        judge.observe(idle: 1, lost: 5)
        #expect(judge.isIdle)
        judge.observe(idle: 1, lost: 6)
        #expect(judge.isTight && !judge.isIdle)
        for _ in 1..<IdleJudge.calmTicks { judge.observe(idle: 1, lost: 6) }
        #expect(judge.isTight)
        judge.observe(idle: 1, lost: 6)
        #expect(judge.isIdle)
    }

    // MARK: The queue on the disk

    private func put(_ units: String, _ job: DeferredJob, in folder: DeferredFolder) throws -> DeferredFolder.Entry {
        let begun = try folder.begin(job.kind, of: job.stream, job.number)
        _ = begun.file.write(Array(units.utf8))
        return try folder.complete(begun, job, limit: 1000)
    }

    @Test func aScanFindsWhatIsWholeTheOldestFirst() throws {
        let scratch = try Folder()
        let folder = DeferredFolder(scratch.path)
        #expect(folder.scan().entries == [] && folder.scan().unusable == 0)
        let jobs = [(1, 30.0), (2, 10), (3, 20)].map {
            DeferredJob(.still, stream: "a", number: $0, settings: ["denoise": "0.5"], time: $1)
        }
        let entries = try jobs.map { try put("units", $0, in: folder) }
        // What a crash leaves, and what is damaged.
        _ = try folder.begin(.still, of: "a", 4)
        try Data("result".utf8).write(to: URL(filePath: entries[0].resultPath))
        try Data("nonsense".utf8).write(to: URL(filePath: folder.path + "/b.still-1.job"))
        let elsewhere = DeferredJob(.still, stream: "../x", number: 1, settings: [:], time: 0)
        try Data(elsewhere.trailer).write(to: URL(filePath: folder.path + "/c.still-1.job"))
        let found = folder.scan()
        #expect(found.entries == [entries[1], entries[2], entries[0]] && found.unusable == 2)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.sorted() == ["a.still-1.job", "a.still-2.job", "a.still-3.job"])
        // A file that is too large does not stay.
        let begun = try folder.begin(.still, of: "a", 5)
        _ = begun.file.write([UInt8](repeating: 1, count: 2000))
        #expect(throws: CaptureFolder.Fault.self) { try folder.complete(begun, jobs[0], limit: 1000) }
    }

    @Test func theFinalTakesTheProxysPlace() throws {
        let scratch = try Folder()
        let folder = DeferredFolder(scratch.path)
        let captures = CaptureFolder(scratch.path, stream: "a")
        let proxy = try captures.begin(.still, "proxy.jpg")
        try captures.complete(proxy)
        let path = try #require(captures.find(.still, 1))
        #expect(CaptureFolder.isProxy(path))
        let job = DeferredJob(.still, stream: "a", number: 1, settings: [:], time: 1)
        let entry = try put("units", job, in: folder)
        #expect(throws: CaptureFolder.Fault.self, "nothing has been made") { try folder.finish(entry) }
        try Data("final".utf8).write(to: URL(filePath: entry.resultPath))
        // The service is killed between the two: the file of units goes at the next start.
        let words = try Data(contentsOf: URL(filePath: entry.path))
        let made = try folder.finish(entry)
        #expect(captures.find(.still, 1) == made && made.hasSuffix("/a/still-1.png"))
        try words.write(to: URL(filePath: entry.path))
        #expect(folder.scan().entries == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: captures.path) == ["still-1.png"])
        // The next one has another number.
        #expect(try captures.begin(.still, "jpg").number == 2)
    }

    // MARK: The service

    private func bench(_ behaviour: String?, folder: String? = nil, whenBusy: String = "lower") throws -> SupervisorBench {
        try SupervisorBench(
            ["a"], settings: ["past": "20s"], more: "stills:\n  when-busy: \(whenBusy)\n"
        ) { surroundings in
            surroundings.environment["BURNISH_FAKE_DEFERRED"] = behaviour
            if let folder { surroundings.stateDirectory = folder }
        }
    }

    private func best(_ supervisor: Supervisor) async throws -> Capture {
        try await supervisor.makeBestStill(of: "a", side: .after, at: .frame(48), as: .jpeg, width: 3840)
    }

    @Test func aProxyComesAtOnceAndTheFinalLater() async throws {
        let bench = try bench(nil)
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        let still = try await best(supervisor)
        #expect(still.number == 1 && still.state == .ready && still.frame == 48)
        #expect(still.path.hasSuffix("/a/still-1.proxy.jpg"))
        let final = try await supervisor.bestStill(1, of: "a", wait: .seconds(120))
        #expect(final.still.bytes == Array("final".utf8) && !final.isProxy)
        await bench.event(.still, of: "a") { $0.text.hasPrefix("still 1 is final: ") }
        #expect(try await supervisor.deferred(of: "a") == [])
        #expect(await supervisor.health().deferred.outcomes.first { $0.name == "made" }?.count == 1)
        // Fast ones count on.
        let fast = try await supervisor.makeStill(of: "a", side: .after, at: .frame(48), as: .jpeg, width: 3840)
        #expect(fast.number == 2)
        #expect(try await supervisor.bestStill(2, of: "a", wait: .zero).isProxy == false)
        // A refusal leaves nothing.
        await #expect(throws: ServiceFault(.notFound, "it has left")) {
            try await supervisor.makeBestStill(of: "a", side: .after, at: .frame(1), as: .jpeg, width: 3840)
        }
        let folder = bench.folder.path + "/state/stills"
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/.deferred") == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/a").sorted() == ["still-1.png", "still-2.jpg"])
        await supervisor.end()
    }

    /// What `burnish still --quality best` and `burnish clip --quality best` ask for.
    @Test func theTerminalWaitsForTheBest() async throws {
        let bench = try bench(nil)
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        let still = await supervisor.answer("still * frame=48 quality=best")
        #expect(still.isGood && still.text.contains("still-1.proxy.jpg"), "\(still)")
        _ = try await supervisor.bestStill(1, of: "a", wait: .seconds(120))
        await bench.event(.still, of: "a") { $0.text.hasPrefix("still 1 is final: ") }
        let state = await supervisor.answer("still-state a 1").text
        #expect(state.contains("\"state\":\"ready\"") && state.contains("still-1.png"), "\(state)")
        let clip = await supervisor.answer("clip a from=-2s quality=best")
        #expect(clip.isGood && clip.text.contains("\"state\":\"pending\""), "\(clip)")
        await bench.event(.clip, of: "a") { $0.text.hasPrefix("clip 1 is final: ") }
        #expect(await supervisor.answer("clip-state a 1").text.contains("\"state\":\"ready\""))
        await supervisor.end()
    }

    @Test func aBetterClipIsMadeOfWhatCameIn() async throws {
        let bench = try bench(nil)
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        let now = MonotonicTime.now()
        let clip = try await supervisor.makeBestClip(of: "a", from: now - .seconds(2), to: now, as: .mp4)
        #expect(clip.number == 1 && clip.state == .pending)
        await bench.event(.clip, of: "a") { $0.text.hasPrefix("clip 1 is final: ") }
        let made = try await supervisor.clip(1, of: "a")
        #expect(made.state == .ready && made.bytes == 5 && made.path.hasSuffix("/a/clip-1.mp4"))
        await #expect(throws: ServiceFault(.conflict, "the clip ends before it begins")) {
            try await supervisor.makeBestClip(of: "a", from: now, to: now - .seconds(2), as: .ts)
        }
        let folder = bench.folder.path + "/state/stills"
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/.deferred") == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/a") == ["clip-1.mp4"])
        await supervisor.end()
    }

    @Test func whatCannotBeMadeStaysAProxy() async throws {
        let bench = try bench("fails")
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        _ = try await best(supervisor)
        let event = await bench.event(.still, of: "a") { $0.text.hasPrefix("still 1 stays a proxy") }
        #expect(event.text.contains("it is no picture"))
        let shown = try await supervisor.bestStill(1, of: "a", wait: .zero)
        #expect(shown.isProxy && shown.still.bytes == [0xFF, 0xD8, 1])
        #expect(await supervisor.answer("still-state a 1").text.contains("\"state\":\"failed\""))
        await supervisor.end()
    }

    /// What the first service had not made, the next one makes. Killed with SIGKILL, it would leave the same files.
    @Test func whatWasAnsweredOutlivesTheService() async throws {
        let first = try bench("never")
        await first.supervisor.start()
        await first.event(.started, of: "a")
        for number in 1...3 { #expect(try await best(first.supervisor).number == number) }
        let waiting = try await first.supervisor.deferred(of: "a")
        #expect(waiting.map(\.state) == [.running, .waiting, .waiting] && waiting.map(\.position) == [0, 1, 2])
        #expect(try await first.supervisor.bestStill(2, of: "a", wait: .milliseconds(1)).isProxy)
        await first.supervisor.end()
        let second = try bench(nil, folder: first.folder.path + "/state")
        await second.supervisor.start()
        for number in 1...3 {
            let final = try await second.supervisor.bestStill(number, of: "a", wait: .seconds(120))
            #expect(!final.isProxy && final.still.bytes == Array("final".utf8), "\(number)")
        }
        await second.supervisor.end()
    }

    @Test func buttonsCanFollowTheReadiness() async throws {
        let bench = try bench(nil)
        await bench.supervisor.start()
        await bench.event(.started, of: "a")
        await bench.event(.readiness, of: "a") { $0.text.contains("waitingForPicture") }
        let now = try await bench.supervisor.readiness(of: "a")
        #expect(
            now == CaptureReadiness(still: .waitingForPicture, best: .waitingForPicture, clip: .waitingForPicture, waiting: 0))
        await bench.supervisor.end()
        let plain = try SupervisorBench(["b"])
        await plain.supervisor.start()
        await plain.event(.started, of: "b")
        #expect(try await plain.supervisor.readiness(of: "b").still == .off)
        await plain.supervisor.end()
    }
}
