import Foundation
import Media
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// The fake worker beside the test program.
let fakeWorker = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "burnish-fake-worker").path

@Suite struct WorkerProcessTests {
    func start(_ environment: [String] = [], _ arguments: [String] = ["worker", "--control-descriptor", "3"]) throws
        -> WorkerProcess
    {
        try WorkerProcess(executable: fakeWorker, arguments: arguments, environment: environment)
    }

    /// Waits until the process has ended.
    func exit(of process: WorkerProcess) throws -> ProcessExit {
        var wait = [pollfd(fd: process.exitDescriptor, events: Int16(POLLIN), revents: 0)]
        while poll(&wait, 1, -1) < 0 {}
        return try #require(process.reap())
    }

    func message(_ channel: SupervisorChannel) throws -> WorkerMessage {
        guard case .message(let message, _)? = channel.receive(until: nil) else { throw CancellationError() }
        return message
    }

    @Test func itSpeaksAndEnds() throws {
        let process = try start()
        process.channel.send(.hello(version: MessageCoding.version))
        #expect(try message(process.channel) == .hello(version: MessageCoding.version))
        #expect(process.reap() == nil)
        process.channel.send(.end)
        #expect(try exit(of: process) == .code(0))
        #expect(process.reap() == nil, "a process ends once")
    }

    @Test func itHasOnlyTheDescriptorsMeantForIt() throws {
        // Descriptors that an exec would otherwise keep.
        let kept = (0..<8).map { _ in open("/dev/zero", O_RDONLY) }
        defer { for each in kept { close(each) } }
        let process = try start()
        _ = try message(process.channel)
        process.channel.send(
            .start(WorkerAssignment(stream: "descriptors-1", input: "srt://127.0.0.1:0", outputs: [], settings: [:])))
        _ = try message(process.channel)
        guard case .event(_, let event) = try message(process.channel) else { Issue.record("no event"); return }
        // 4 is the channel's bell, which the worker makes itself, and 5 and more its stream's socket.
        let names = event.text.split(separator: " ")
        #expect(names.prefix(4) == ["0=/dev/null", "1=/dev/null", "2=pipe", "3=socket"])
        #expect(!event.text.contains("zero"))
    }

    @Test func aSignalTellsHowItEnded() throws {
        let process = try start()
        _ = try message(process.channel)
        process.signal(SIGKILL)
        #expect(try exit(of: process) == .signal(SIGKILL))
    }

    @Test func whatItHasStartedEndsWithIt() throws {
        let process = try start()
        _ = try message(process.channel)
        process.channel.send(
            .start(WorkerAssignment(stream: "parent-1", input: "srt://127.0.0.1:0", outputs: [], settings: [:])))
        _ = try message(process.channel)
        guard case .event(_, let event) = try message(process.channel) else { Issue.record("no event"); return }
        let child = try #require(event.text.split(separator: " ").last.flatMap { pid_t($0) })
        #expect(kill(child, 0) == 0)
        // The leader alone is killed, not its group.
        kill(process.identifier, SIGKILL)
        #expect(try exit(of: process) == .signal(SIGKILL))
        // Its parent is now another process, which reaps it when it pleases: a zombie counts as ended.
        while let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8), !state.contains(") Z") {
            sched_yield()
        }
    }

    @Test func aProcessThatIsForgottenIsKilled() throws {
        var process: WorkerProcess? = try start()
        let identifier = try #require(process?.identifier)
        process = nil
        #expect(kill(identifier, 0) == -1 && errno == ESRCH)
    }

    @Test func whatIsNoProgramIsAFault() {
        #expect(throws: WorkerProcess.Fault.self) {
            try WorkerProcess(executable: "/nowhere/burnish", arguments: [], environment: [])
        }
    }

    @Test func descriptorsAreClosedAgain() throws {
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        // Others run tests in this process at the same time, so it is a child process that counts.
        guard ProcessInfo.processInfo.environment["BURNISH_COUNT_DESCRIPTORS"] != nil else {
            let child = try runChild("WorkerProcessTests/descriptorsAreClosedAgain", ["BURNISH_COUNT_DESCRIPTORS": "1"])
            #expect(child.status == 0, "\(child.output)")
            return
        }
        let before = try count()
        for _ in 0..<20 {
            let process = try start()
            process.signal(SIGKILL)
            _ = try exit(of: process)
            _ = try? WorkerProcess(executable: "/nowhere/burnish", arguments: [], environment: [])
        }
        #expect(try count() == before)
    }
}
