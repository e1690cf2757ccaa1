import Foundation
import Logging
import Media
import ServiceConfiguration
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// A supervisor with fake workers, and what tests wait for.
final class SupervisorBench: Sendable {
    let supervisor: Supervisor
    let folder: Folder
    private let text: SharedText

    /// - Parameter streams: names, which choose how their workers behave.
    /// - Parameter more: what else stands in the configuration.
    /// - Parameter fake: how all workers behave, whatever their streams are called.
    init(
        _ streams: [String], fake: String? = nil, limits: WorkerLifecycle.Limits = WorkerLifecycle.Limits(),
        notify: String? = nil, program: String = fakeWorker, settings: [String: String] = [:], more: String = "",
        change: (inout Supervisor.Surroundings) -> Void = { _ in }
    ) throws {
        folder = try Folder()
        let text = SharedText(Self.yaml(streams, settings) + more)
        self.text = text
        var environment = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("LD_") || $0.key == "PATH" }
        environment["BURNISH_FAKE_WORKER"] = fake
        // Writing one takes seconds.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        let path = folder.path
        var surroundings = Supervisor.Surroundings(
            worker: program, environment: environment, stateDirectory: path + "/state", runtime: try RuntimeFolder(path),
            load: { () throws(ConfigurationFaults) in try Self.configuration(text.current) })
        surroundings.limits = limits
        // Machines that run tests may be slow.
        surroundings.requestTimeout = .seconds(60)
        change(&surroundings)
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        supervisor = Supervisor(
            try Self.configuration(Self.yaml(streams, settings) + more), surroundings,
            manager: ServiceManager(environment: notify.map { ["NOTIFY_SOCKET": $0] } ?? [:]), logger: logger)
    }

    /// What the configuration file says.
    private final class SharedText: Sendable {
        private let text: Lock<String>
        init(_ text: String) { self.text = Lock(text) }
        var current: String {
            get { text.withLock { $0 } }
            set { text.withLock { $0 = newValue } }
        }
    }

    /// What the next reload finds.
    func write(_ streams: [String], settings: [String: String] = [:]) { write(text: Self.yaml(streams, settings)) }
    func write(text new: String) { text.current = new }

    static func configuration(_ text: String) throws(ConfigurationFaults) -> ServiceConfiguration {
        let none = ConfigurationEnvironment { (_, _) throws(ConfigurationEnvironment.ReadFailure) in
            throw ConfigurationEnvironment.ReadFailure("does not exist")
        }
        return try ServiceConfiguration(text, environment: none)
    }

    /// Each stream has ports of its own, except those whose names end in `-shared`.
    static func yaml(_ streams: [String], _ settings: [String: String] = [:]) -> String {
        var text = "streams:\n"
        if streams.isEmpty { text = "streams: {}\n" }
        for name in streams {
            let port = 20_000 + name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 20_000 } * 2
            let input =
                name.hasSuffix("-shared")
                ? "srt://127.0.0.1:19000?mode=listener&streamid=\(name)" : "srt://127.0.0.1:\(port)?mode=listener"
            text += "  \(name):\n    input: \(input)\n    output: srt://localhost:\(port + 1)?mode=caller\n"
            for (key, value) in settings.sorted(by: { $0.key < $1.key }) { text += "    \(key): \(value)\n" }
        }
        return text
    }

    /// Waits for the first event of a kind after an event.
    @discardableResult func event(
        _ kind: EventKind, of stream: String? = nil, after number: UInt64 = 0,
        where isMeant: (ServiceEvent) -> Bool = { _ in true }
    ) async -> ServiceEvent {
        for await event in supervisor.events.events(since: number)
        where event.kind == kind.rawValue && event.stream == stream && isMeant(event) {
            return event
        }
        Issue.record("the events ended before \(kind) of \(stream ?? "the service")")
        return ServiceEvent(number: number, time: 0, stream: stream, kind: "", text: "")
    }

    func process(of stream: String) async throws -> pid_t { try #require(try await supervisor.stream(stream).process) }
}

@Suite(.timeLimit(.minutes(10))) struct SupervisorTests {
    @Test func everyStreamHasAProcessAndAllEndWithTheService() async throws {
        let bench = try SupervisorBench(["a", "b", "c-shared", "d-shared"])
        await bench.supervisor.start()
        for name in ["a", "b", "c-shared", "d-shared"] { await bench.event(.started, of: name) }
        var processes: [String: pid_t] = [:]
        for name in ["a", "b", "c-shared", "d-shared"] { processes[name] = try await bench.process(of: name) }
        #expect(Set(processes.values).count == 3 && processes["c-shared"] == processes["d-shared"])
        #expect(await bench.supervisor.streams().map(\.state) == [.waiting, .waiting, .waiting, .waiting])
        for name in ["a", "b"] {
            let link = bench.folder.file("\(name).map").path
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link).hasPrefix("/proc/\(getpid())/fd/"))
        }
        await bench.supervisor.end()
        for process in processes.values { #expect(kill(process, 0) == -1) }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter { $0.hasSuffix(".map") } == [])
    }

    @Test func aKilledWorkerIsReplacedAndTheOthersAreNot() async throws {
        let bench = try SupervisorBench(["a", "b"])
        await bench.supervisor.start()
        await bench.event(.started, of: "b")
        let started = await bench.event(.started, of: "a")
        let (old, other) = (try await bench.process(of: "a"), try await bench.process(of: "b"))
        kill(old, SIGKILL)
        let crash = await bench.event(.crashed, of: "a", after: started.number)
        #expect(crash.text.contains("SIGKILL"))
        await bench.event(.started, of: "a", after: crash.number)
        let status = try await bench.supervisor.stream("a")
        #expect(status.process != old && status.restarts == 1)
        #expect(try await bench.process(of: "b") == other)
        await bench.supervisor.end()
        let reports = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path + "/state/crashes")
        #expect(reports.count == 1)
        let report = try JSONDecoder().decode(
            CrashReports.Report.self,
            from: Data(contentsOf: bench.folder.file("state/crashes/\(try #require(reports.first))/report.json")))
        #expect(report.stream == "a" && report.process == old && report.reason == "signal 9 (SIGKILL)")
        #expect(report.events.contains { $0.kind == "started" })
    }

    @Test(arguments: [
        ("crash-1", "SIGSEGV"), ("exit-1", "exit code 70"), ("garbage-1", "cannot be read"), ("hello-1", "hello twice"),
        ("deaf-1", "closed its channel"), ("hang-1", "has not answered"), ("stall-1", "hang-1/decode"),
    ])
    func whateverAWorkerDoesItIsReplaced(stream: String, reason: String) async throws {
        let bench = try SupervisorBench([stream, "good"])
        await bench.supervisor.start()
        await bench.event(.started, of: "good")
        let good = try await bench.process(of: "good")
        let crash = await bench.event(.crashed, of: stream)
        #expect(crash.text.contains(reason.replacing("hang-1", with: stream)), "\(crash.text)")
        await bench.event(.crashed, of: stream, after: crash.number)
        #expect(try await bench.process(of: "good") == good)
        await bench.supervisor.end()
    }

    @Test(arguments: [("mute", "no hello within 0.5 s"), ("dead", "exit code 1"), ("version", "speaks version 999")])
    func aProgramThatIsNoWorkerIsTriedAgain(fake: String, reason: String) async throws {
        // The other limits are those of the service: on a machine under load a good worker, too, takes its time.
        var limits = WorkerLifecycle.Limits()
        if fake == "mute" { limits.hello = .milliseconds(500) }
        let bench = try SupervisorBench(["a"], fake: fake, limits: limits)
        await bench.supervisor.start()
        let crash = await bench.event(.crashed, of: "a")
        #expect(crash.text.contains(reason), "\(crash.text)")
        await bench.event(.backingOff, of: "a", after: crash.number)
        await bench.supervisor.end()
    }

    @Test func aMissingProgramIsTriedAgain() async throws {
        let bench = try SupervisorBench(["a"], program: "/nowhere/burnish")
        await bench.supervisor.start()
        let crash = await bench.event(.crashed, of: "a")
        #expect(crash.text.contains("/nowhere/burnish: No such file or directory"))
        await bench.event(.backingOff, of: "a")
        await bench.supervisor.end()
    }

    @Test func theLastWordsOfAWorkerAreInTheReport() async throws {
        let bench = try SupervisorBench(["shout-1"])
        await bench.supervisor.start()
        await bench.event(.crashed, of: "shout-1")
        await bench.supervisor.end()
        let folder = bench.folder.path + "/state/crashes"
        let report = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).sorted().first)
        let text = try String(contentsOfFile: "\(folder)/\(report)/report.json", encoding: .utf8)
        #expect(text.contains("line 4999"))
    }

    @Test func anEndThatIsFinalIsNotTriedAgain() async throws {
        let bench = try SupervisorBench(["misconfigured-1", "unavailable-1"])
        await bench.supervisor.start()
        await bench.event(.stopped, of: "misconfigured-1")
        await bench.event(.backingOff, of: "unavailable-1")
        let status = try await bench.supervisor.stream("misconfigured-1")
        #expect(status.state == .stopped && status.reason == "it cannot be so")
        await bench.supervisor.end()
    }

    @Test func namesOfTheStreamAreResolvedAndOthersAreNot() async throws {
        let bench = try SupervisorBench(["resolve-1"])
        await bench.supervisor.start()
        await bench.event(.message, of: "resolve-1") { $0.text.contains("127.0.0.1") || $0.text.contains("::1") }
        await bench.event(.message, of: "resolve-1") { $0.text == "resolved [] no stream of this worker names this host" }
        await bench.supervisor.end()
    }

    @Test func theInterfaceAddsChangesRestartsAndRemoves() async throws {
        let bench = try SupervisorBench(["a"])
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        await #expect(throws: ServiceFault.self) { _ = try await supervisor.add("a", ["input": "srt://:1"]) }
        _ = try await supervisor.add("b", ["input": "srt://127.0.0.1:18100?mode=listener", "output": "udp://127.0.0.1:18102"])
        await bench.event(.started, of: "b")
        let process = try await bench.process(of: "b")

        var status = try await supervisor.change("b", ["sharpness": "0.5"], restarting: false)
        #expect(status.settings["sharpness"] == "0.5" && status.process == process)
        await #expect(throws: ServiceFault.self) { _ = try await supervisor.change("b", ["sharpness": "7"], restarting: false) }
        do {
            _ = try await supervisor.change("b", ["scale": "1"], restarting: false)
            Issue.record("a fixed setting was changed")
        } catch {
            #expect(error.kind == .refused && error.key == "scale")
        }
        let before = supervisor.events.lastNumber
        status = try await supervisor.change("b", ["scale": "1"], restarting: true)
        await bench.event(.started, of: "b", after: before)
        #expect(try await supervisor.stream("b").settings["scale"] == "1")
        let second = try await bench.process(of: "b")
        #expect(second != process)

        let restart = supervisor.events.lastNumber
        try await supervisor.restart("b")
        await bench.event(.started, of: "b", after: restart)
        #expect(try await bench.process(of: "b") != second)

        #expect(try await supervisor.callers(of: "b").map(\.id) == [7, Caller.firstCall | 5])
        try await supervisor.kick(7, of: "b")
        await bench.event(.inputDown, of: "b") { $0.text == "caller 7 was disconnected" }
        await #expect(throws: ServiceFault.self) { try await supervisor.kick(8, of: "b") }
        let viewer = try #require(try await supervisor.callers(of: "b").last)
        #expect(viewer.transport == "whep" && viewer.leg == "output" && viewer.since != nil && viewer.bitRate == nil)
        try await supervisor.kick(viewer.id, of: "b")
        await bench.event(.message, of: "b") { $0.text == "call 5 hung up" }
        #expect(try await supervisor.picture(of: "b", side: .after, width: 320) == [0xFF, 0xD8, 1, 0xFF, 0xD9])

        try await supervisor.remove("b")
        await #expect(throws: ServiceFault.self) { _ = try await supervisor.stream("b") }
        await supervisor.end()
    }

    /// A worker cannot open it.
    @Test func theFileOfATableGoesWithTheSettings() async throws {
        let bench = try SupervisorBench(["a"])
        let other = try Folder()
        for folder in [bench.folder, other] { try Data("x".utf8).write(to: folder.file("film.cube")) }
        func yaml(_ table: String) -> String {
            "files: {folders: \(bench.folder.path)}\n" + SupervisorBench.yaml(["a"], ["lut": table])
        }
        let (own, outside) = (bench.folder.path + "/film.cube", other.path + "/film.cube")
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        bench.write(text: yaml("off"))
        try await supervisor.reload()
        let status = try await supervisor.change("a", ["lut": own], restarting: false)
        #expect(status.settings["lut"] == own)
        for path in [outside, bench.folder.path + "/missing.cube", "film.cube", bench.folder.path + "/film.png"] {
            await #expect(throws: ServiceFault.self, "\(path)") {
                _ = try await supervisor.change("a", ["lut": path], restarting: false)
            }
        }
        #expect(try await supervisor.stream("a").settings["lut"] == own)
        // The configuration may name any file.
        bench.write(text: yaml(outside))
        try await supervisor.reload()
        #expect(try await supervisor.stream("a").settings["lut"] == outside)
        bench.write(text: yaml(other.path + "/missing.cube"))
        try await supervisor.reload()
        await bench.event(.message, of: "a") { $0.text.contains("missing.cube: No such file or directory") }
        await supervisor.end()
    }

    /// They are off by default. A worker's refusal is no fault of the request's form.
    @Test func reactionsFlyWhereTheyAreAllowed() async throws {
        let bench = try SupervisorBench(["a"])
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        func fault(_ x: Double) async -> ServiceFault? {
            do throws(ServiceFault) {
                try await supervisor.react(.heart, x: x, y: 0.25, seconds: 10, to: "a")
                return nil
            } catch { return error }
        }
        #expect(await fault(0.5) == ServiceFault(.conflict, key: "reactions", "reactions are off: set reactions, as on"))
        _ = try await supervisor.change("a", ["reactions": "on"], restarting: false)
        #expect(await fault(0.5) == nil)
        #expect(await fault(1) == ServiceFault(.conflict, "it is refused"))
        let running = try await supervisor.reactions(of: "a")
        #expect(running.map(\.kind) == [.heart] && running.first?.y == 0.25)
        await #expect(throws: ServiceFault.self) { _ = try await supervisor.reactions(of: "none") }
        await supervisor.end()
    }

    @Test func whoAsksAHangingWorkerGetsAnAnswer() async throws {
        let bench = try SupervisorBench(["hang-1"])
        await bench.supervisor.start()
        await bench.event(.started, of: "hang-1")
        await #expect(throws: ServiceFault.self) { _ = try await bench.supervisor.callers(of: "hang-1") }
        // While another worker starts there is none, which is no fault.
        let picture = try? await bench.supervisor.picture(of: "hang-1", side: .before, width: 320)
        #expect(picture == nil)
        await bench.supervisor.end()
    }

    @Test func aReloadChangesWhatItMustAndNoMore() async throws {
        let bench = try SupervisorBench(["a", "b", "c-shared"])
        let supervisor = bench.supervisor
        await supervisor.start()
        for name in ["a", "b", "c-shared"] { await bench.event(.started, of: name) }
        let (a, c) = (try await bench.process(of: "a"), try await bench.process(of: "c-shared"))
        bench.write(["a", "c-shared", "d-shared"], settings: ["sharpness": "0.25"])
        try await supervisor.reload()
        await bench.event(.started, of: "d-shared")
        #expect(await supervisor.streams().map(\.name) == ["a", "c-shared", "d-shared"])
        #expect(try await bench.process(of: "a") == a)
        for name in ["c-shared", "d-shared"] { #expect(try await bench.process(of: name) == c) }
        #expect(try await supervisor.stream("a").settings["sharpness"] == "0.25")

        bench.write(text: "streams:\n  a: [\n")
        await #expect(throws: ServiceFault.self) { try await supervisor.reload() }
        let health = await supervisor.health()
        #expect(!health.lastReloadWasGood && !health.isReady)
        #expect(await supervisor.streams().map(\.name) == ["a", "c-shared", "d-shared"])
        #expect(try await bench.process(of: "a") == a)

        bench.write(["a", "c-shared", "d-shared"], settings: ["sharpness": "0.25"])
        try await supervisor.reload()
        #expect(await supervisor.health().lastReloadWasGood)
        await supervisor.end()
    }

    /// The reason is the same wherever one looks. It counts after ten seconds, which ``StreamConditionTests`` has.
    @Test func whatKeepsAnOutputFromItsPeerIsSaidEverywhere() async throws {
        let bench = try SupervisorBench(["unreachable-1"])
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "unreachable-1")
        while try await supervisor.stream("unreachable-1").reason == "no source has come yet" { await Task.yield() }
        let words = "no source has come yet; output: srt://h:1: nobody answers there"
        #expect(try await supervisor.stream("unreachable-1").reason == words)
        let check = try #require(await supervisor.health().checks.last)
        #expect(check.text == "waiting: \(words)" && check.counts)
        #expect(await supervisor.answer("reload").text.hasSuffix("\nstream unreachable-1: \(words)"))
        // What the API made stands in the list, and does not make the service unready.
        _ = try await supervisor.add(
            "misconfigured-1", ["input": "srt://127.0.0.1:18210?mode=listener", "output": "udp://127.0.0.1:18212"])
        await bench.event(.stopped, of: "misconfigured-1")
        let health = await supervisor.health()
        #expect(health.checks.contains { $0.name == "stream misconfigured-1" && !$0.isGood && !$0.counts })
        // Only what counts is asked for.
        let own = health.checks.filter { !$0.counts }
        var others = ServiceHealth()
        others.checks = own
        #expect(others.isReady && own.count == 1)
        await supervisor.end()
    }

    @Test func whatTheInterfaceDidStaysUntilTheFileHasNewsOfIt() async throws {
        let bench = try SupervisorBench(["a", "b"])
        let supervisor = bench.supervisor
        await supervisor.start()
        for name in ["a", "b"] { await bench.event(.started, of: name) }
        _ = try await supervisor.add("x", ["input": "srt://127.0.0.1:18200?mode=listener", "output": "udp://127.0.0.1:18202"])
        _ = try await supervisor.change("a", ["sharpness": "0.5"], restarting: false)
        try await supervisor.remove("b")
        try await supervisor.reload()
        #expect(await supervisor.streams().map(\.name) == ["a", "x"])
        #expect(try await supervisor.stream("a").settings["sharpness"] == "0.5")
        bench.write(["a", "b"], settings: ["sharpness": "0.75"])
        try await supervisor.reload()
        #expect(await supervisor.streams().map(\.name) == ["a", "b", "x"])
        #expect(try await supervisor.stream("a").settings["sharpness"] == "0.75")
        await supervisor.end()
    }

    @Test func twoHundredReloadsLeaveNothingBehind() async throws {
        // Others run tests in this process at the same time, so it is a child process that counts.
        guard ProcessInfo.processInfo.environment["BURNISH_COUNT_DESCRIPTORS"] != nil else {
            let child = try runChild("SupervisorTests/twoHundredReloadsLeaveNothingBehind", ["BURNISH_COUNT_DESCRIPTORS": "1"])
            #expect(child.status == 0, "\(child.output)")
            return
        }
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let bench = try SupervisorBench(["a", "b"])
        let supervisor = bench.supervisor
        await supervisor.start()
        for name in ["a", "b"] { await bench.event(.started, of: name) }
        let before = (try await bench.process(of: "a"), try await bench.process(of: "b"))
        let descriptors = try count()
        for index in 0..<200 {
            if index % 2 == 0 {
                bench.write(["a", "b"], settings: ["sharpness": index % 4 == 0 ? "0.5" : "0.25"])
                try await supervisor.reload()
            } else {
                bench.write(text: index % 4 == 1 ? "streams: {a: {input: 7}}" : "nonsense: [")
                await #expect(throws: ServiceFault.self) { try await supervisor.reload() }
            }
        }
        #expect(try count() == descriptors)
        #expect(try await bench.process(of: "a") == before.0)
        #expect(try await bench.process(of: "b") == before.1)
        await supervisor.end()
    }

    @Test func systemdHearsOfTheStreamsAndOfReloads() async throws {
        let socket = try NotifySocket(isAbstract: false)
        let bench = try SupervisorBench(["a"], notify: socket.name)
        let service = Task { try await bench.supervisor.run() }
        #expect(await socket.wait(for: "READY=1") != nil)
        #expect(await socket.wait(for: "STATUS=1 stream: 1 waiting") != nil)
        bench.write(text: "nonsense: [")
        try? await bench.supervisor.reload()
        #expect(await socket.wait(for: "RELOADING=1") != nil)
        #expect(await socket.wait(for: "READY=1\nSTATUS=1 stream: 1 waiting; the last reload failed") != nil)
        service.cancel()
        #expect(await socket.wait(for: "STOPPING=1") != nil)
        _ = await service.result
    }

    @Test func theControlSocketReloads() async throws {
        let bench = try SupervisorBench(["a"])
        let service = Task { try await bench.supervisor.run() }
        await bench.event(.started, of: "a")
        let path = RuntimeFolder.controlSocket(in: bench.folder.path)
        let good = try await ask("reload", at: path)
        #expect(good.isGood && good.text.contains("no stream changed"))
        bench.write(text: "nonsense: [")
        let bad = try await ask("reload", at: path)
        #expect(!bad.isGood && bad.text.contains("the old one stays"))
        #expect(try await !ask("dance", at: path).isGood)
        // A second service cannot have the same place.
        #expect(throws: ControlSocket.Fault.self) {
            _ = try ControlSocket.Listener(path: path)
        }
        service.cancel()
        _ = await service.result
        #expect(throws: ControlSocket.Fault.self) { _ = try ControlSocket.ask("reload", at: path) }
    }

    /// On a thread of its own: the service's answer needs those of Swift's tasks.
    private func ask(_ request: String, at path: String) async throws -> ControlSocket.Answer {
        try await withCheckedContinuation { done in
            StageThread(name: "ask") { done.resume(returning: Result { try ControlSocket.ask(request, at: path) }) }.detach()
        }.get()
    }

    @Test func aSocketThatAKilledServiceLeftIsReplaced() throws {
        let folder = try TemporaryFolder()
        let path = RuntimeFolder.controlSocket(in: folder.url.path)
        var first: ControlSocket.Listener? = try ControlSocket.Listener(path: path)
        #expect(throws: ControlSocket.Fault.self) { _ = try ControlSocket.Listener(path: path) }
        // Its descriptor is closed, the file stays: as after kill -9.
        withExtendedLifetime(first) {}
        first = nil
        #expect(FileManager.default.fileExists(atPath: path))
        _ = try ControlSocket.Listener(path: path)
    }
}
