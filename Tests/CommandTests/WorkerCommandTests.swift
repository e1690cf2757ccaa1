import Endpoint
import Foundation
import Media
import Testing
import Transport
import WorkerProtocol

/// `burnish worker` as a process of its own.
@Suite(.serialized, .timeLimit(.minutes(3))) struct WorkerCommandTests {
    /// A worker process, and the supervisor's end of its channel.
    final class Process {
        let channel: SupervisorChannel
        let id: pid_t

        init(_ arguments: [String] = ["--control-descriptor", "9"]) throws {
            let (parent, child) = try SupervisorChannel.pair()
            channel = parent
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_adddup2(&actions, child.number, 9)
            let words = (["burnish", "worker"] + arguments).map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            var id: pid_t = 0
            let code = posix_spawn(&id, Program.executable.path, &actions, nil, words, environ)
            try #require(code == 0, "cannot start a worker: error \(code)")
            self.id = id
        }

        deinit { if exitStatus == nil { kill(id, SIGKILL) } }

        private var exitStatus: Int32?

        /// Waits for its end.
        /// - Returns: its exit code, or 128 and the number of the signal that ended it.
        func wait() -> Int32 {
            if let exitStatus { return exitStatus }
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
            exitStatus = code
            return code
        }

        func next<Value>(_ read: (WorkerMessage) -> Value?) -> Value? {
            while true {
                switch channel.receive(until: nil) {
                case .message(let message, _): if let value = read(message) { return value }
                case .malformed(let fault): Issue.record("\(fault)")
                case .closed: return nil
                case nil: break
                }
            }
        }

        func start(input: String, output: String = "udp://127.0.0.1:9") -> UInt16? {
            channel.send(.hello(version: MessageCoding.version))
            channel.send(.start(WorkerAssignment(stream: "a", input: input, outputs: [output], settings: [:])))
            return next { if case .started("a", let port, _) = $0 { port } else { nil } }
        }
    }

    @Test func itEndsWhenItIsTold() throws {
        let worker = try Process()
        #expect(worker.start(input: "srt://127.0.0.1:0?mode=listener") != nil)
        worker.channel.send(.end)
        #expect(worker.next { if case .ended("a", 0, _) = $0 { true } else { nil } } == true)
        #expect(worker.wait() == 0)
    }

    /// The port is free for the next worker at once, although a caller was connected.
    @Test func itEndsWhenItsSupervisorIsGone() throws {
        let first = try Process()
        let port = try #require(first.start(input: "srt://127.0.0.1:0?mode=listener"))
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        first.channel.close()
        #expect(first.wait() == 0)
        let second = try Process()
        #expect(second.start(input: "srt://127.0.0.1:\(port)?mode=listener") == port)
        second.channel.close()
        #expect(second.wait() == 0)
    }

    @Test func itListensAgainAfterAKill() throws {
        let first = try Process()
        let port = try #require(first.start(input: "srt://127.0.0.1:0?mode=listener"))
        kill(first.id, SIGKILL)
        #expect(first.wait() == 128 + SIGKILL)
        let second = try Process()
        #expect(second.start(input: "srt://127.0.0.1:\(port)?mode=listener") == port)
        second.channel.close()
        #expect(second.wait() == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aSignalEndsItCleanly(_ signal: Int32) throws {
        let worker = try Process()
        #expect(worker.start(input: "srt://127.0.0.1:0?mode=listener") != nil)
        kill(worker.id, signal)
        #expect(worker.next { if case .ended("a", 0, _) = $0 { true } else { nil } } == true)
        #expect(worker.wait() == 0)
    }

    /// What the sandbox denies is tested in WorkerTests.
    @Test(arguments: [true, false]) func itHasGivenUpItsRightsWhenItRuns(isInSandbox: Bool) throws {
        let worker = try Process(["--control-descriptor", "9"] + (isInSandbox ? [] : ["--no-sandbox"]))
        #expect(worker.start(input: "srt://127.0.0.1:0?mode=listener") != nil)
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.id)/task")
        #expect(threads.count > 3)
        for thread in threads {
            let status = try String(contentsOfFile: "/proc/\(worker.id)/task/\(thread)/status", encoding: .utf8)
            #expect(status.contains("NoNewPrivs:\t1\nSeccomp:\t2\n") == isInSandbox, "\(thread)")
        }
        worker.channel.close()
        #expect(worker.wait() == 0)
    }

    @Test func aPersonWhoStartsItIsToldWhatItIs() throws {
        let outcome = try Program.run(["worker"])
        #expect(outcome.code == 64)
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("burnishd starts burnish worker"))
    }
}
