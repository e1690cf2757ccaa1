import Container
import Endpoint
import Foundation
import Measure
import Media
import Packets
import Telemetry
import Testing
import Transport
import WorkerProtocol

/// `burnish worker` as a process of its own.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WorkerCommandTests {
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

        private var unread: [WorkerMessage] = []

        /// The next message for which `read` gives a value. Others are kept for later calls.
        func next<Value>(_ read: (WorkerMessage) -> Value?) -> Value? {
            for (index, message) in unread.enumerated() {
                guard let value = read(message) else { continue }
                unread.remove(at: index)
                return value
            }
            while true {
                switch channel.receive(until: nil) {
                case .message(let message, _):
                    if let value = read(message) { return value }
                    unread.append(message)
                case .malformed(let fault): Issue.record("\(fault)")
                case .closed: return nil
                case nil: break
                }
            }
        }

        /// - Parameters:
        ///   - map: the stream's telemetry map.
        ///   - file: the output's. It goes with a map.
        ///   - description: the input's, as text.
        func start(
            input: String, output: String = "udp://127.0.0.1:9", map: Int32? = nil, file: Int32? = nil,
            description: String? = nil, _ settings: [String: String] = [:]
        ) -> UInt16? {
            channel.send(.hello(version: MessageCoding.version))
            var assignment = WorkerAssignment(
                stream: "a", input: input, outputs: [output], settings: ["budget": "10s"].merging(settings) { $1 })
            assignment.descriptions = [description.flatMap { SDPText($0) }].compactMap(\.self)
            channel.send(.start(assignment), descriptors: [map, file].compactMap(\.self))
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
        // The supervisor did not ask for it, so no stream reports a clean end.
        #expect(worker.next { if case .ended = $0 { true } else { nil } } == nil)
        #expect(worker.wait() == 0)
    }

    /// What the sandbox denies is tested in WorkerTests.
    @Test(arguments: [true, false]) func itHasGivenUpItsRightsWhenItRuns(isInSandbox: Bool) throws {
        let worker = try Process(["--control-descriptor", "9"] + (isInSandbox ? [] : ["--no-sandbox"]))
        #expect(worker.start(input: "srt://127.0.0.1:0?mode=listener") != nil)
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.id)/task")
        #expect(threads.count > 3)
        var seen = 0
        for thread in threads {
            // One that was there a moment ago may have ended.
            let file = "/proc/\(worker.id)/task/\(thread)/status"
            guard let status = try? String(contentsOfFile: file, encoding: .utf8) else { continue }
            seen += 1
            #expect(status.contains("NoNewPrivs:\t1\nSeccomp:\t2\n") == isInSandbox, "\(thread)")
        }
        #expect(seen > 3)
        worker.channel.close()
        #expect(worker.wait() == 0)
    }

    @Test func aPersonWhoStartsItIsToldWhatItIs() throws {
        let outcome = try Program.run(["worker"])
        #expect(outcome.code == 64)
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("burnishd starts burnish worker"))
    }

    /// JPEG is encoded, and written into the supervisor's file, by a process without rights.
    @Test func aPictureComesOutOfTheSandbox() throws {
        let worker = try Process()
        let port = try #require(worker.start(input: "udp://127.0.0.1:0"))
        let sender = Thread { try? send(frames: 120, to: port) }
        sender.start()
        let isThere = worker.next { if case .event("a", let event) = $0, event.kind == .picture { true } else { nil } }
        #expect(isThere == true)
        let path = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).jpg").path
        let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        worker.channel.send(.showPicture(id: 1, stream: "a", side: .after, width: 160), descriptors: [file])
        let answer = worker.next { message -> (Int, String?)? in
            if case .picture(1, let count, let fault) = message { (count, fault) } else { nil }
        }
        var start: [UInt8] = [0, 0]
        #expect(pread(file, &start, 2, 0) == 2 && start == [0xFF, 0xD8], "\(answer?.1 ?? "")")
        #expect(lseek(file, 0, SEEK_END) == answer?.0 ?? -1)
        worker.channel.send(.end)
        #expect(worker.wait() == 0)
        while !sender.isFinished { (MonotonicTime.now() + .milliseconds(2)).sleep() }
    }

    /// One worker sends plain RTP and writes its description into the supervisor's file. Another one receives by that text.
    /// Neither can open the files that the URLs name.
    @Test func plainRTPGoesFromWorkerToWorker() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).sdp").path
        let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        let map = try TelemetryMap.create()
        defer {
            close(file)
            close(map)
            unlink(path)
        }
        let destination = try Self.freePorts()
        let sending = try Process()
        let port = try #require(
            sending.start(
                input: "udp://127.0.0.1:0", output: "/nonexistent/out.sdp?to=127.0.0.1:\(destination)", map: map, file: file))
        let description = try String(contentsOfFile: path, encoding: .utf8)
        #expect(description.contains("m=video \(destination) RTP/AVPF 96\r\n"), "\(description)")
        let receiver = try DatagramReceiver()
        let receiving = try Process()
        let input = receiving.start(
            input: "/nonexistent/call.sdp", output: "rtp://127.0.0.1:\(receiver.port)", description: description)
        #expect(input == destination)
        try send(frames: 60, to: port)
        receiver.await(pictures: 10)
        #expect(
            receiving.next { if case .event("a", let event) = $0, event.kind == .picture { event.text } else { nil } }
                == "picture: 320x192 → 640x384")
        for worker in [sending, receiving] {
            worker.channel.send(.end)
            #expect(worker.wait() == 0)
        }
    }

    /// Four free ports in a row. They were free a moment ago.
    private static func freePorts() throws -> UInt16 {
        while true {
            let first = try Source(try StreamURL("rtp://127.0.0.1:0"))
            let port = first.localPort
            guard port < .max - 4, let second = try? Source(try StreamURL("rtp://127.0.0.1:\(port + 2)")) else { continue }
            withExtendedLifetime((first, second)) {}
            return port
        }
    }

    /// A worker cannot resolve names itself.
    @Test func namesAreResolvedByTheSupervisor() throws {
        let listener = try Source(try StreamURL("srt://127.0.0.1:0?mode=listener"))
        let worker = try Process()
        let output = "srt://receiver.invalid:\(listener.localPort)"
        #expect(worker.start(input: "srt://127.0.0.1:0?mode=listener", output: output) != nil)
        // The first answer is none. The output calls again, and asks again.
        for answer in [[], ["127.0.0.1"]] {
            let id = try #require(
                worker.next { if case .resolve(let id, "receiver.invalid", _) = $0 { id } else { nil } })
            worker.channel.send(.resolved(id: id, addresses: answer, fault: answer.isEmpty ? "no such host" : nil))
        }
        #expect(
            worker.next { if case .event("a", let event) = $0, event.kind == .outputUp { true } else { nil } } == true)
        worker.channel.send(.end)
        #expect(worker.wait() == 0)
        withExtendedLifetime(listener) {}
    }

    /// Peers hear from the next worker that the connection with the killed one is over. By themselves they would notice after
    /// libsrt's five seconds.
    @Test func aKilledWorkersPeersAreToldByTheNext() throws {
        let map = try TelemetryMap.create()
        defer { close(map) }
        let first = try Process()
        let port = try #require(first.start(input: "srt://127.0.0.1:0?mode=listener", map: map))
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        let reader = try TelemetryMap.Reader(map)
        while reader.resumePoint().inputPeers.isEmpty { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        while sink.nextEvent() != nil {}
        kill(first.id, SIGKILL)
        #expect(first.wait() == 128 + SIGKILL)
        let killed = MonotonicTime.now()
        let second = try Process()
        #expect(second.start(input: "srt://127.0.0.1:\(port)?mode=listener", map: map) == port)
        while true {
            if case .disconnected = sink.nextEvent() { break }
            (MonotonicTime.now() + .milliseconds(2)).sleep()
        }
        #expect(MonotonicTime.now() - killed < .seconds(4))
        #expect(
            second.next { if case .event("a", let event) = $0, event.kind == .inputUp { true } else { nil } } == true)
        second.channel.send(.end)
        #expect(second.wait() == 0)
    }

    /// Receivers see one stream: one RTP sender, continuity counters without a gap, pictures at the source's own distances.
    /// - Parameter settings: without a constant rate and with one.
    @Test(arguments: [[:], ["fps": "60"]]) func aWorkerGoesOnWhereAKilledOneEnded(_ settings: [String: String]) throws {
        let receiver = try DatagramReceiver()
        let map = try TelemetryMap.create()
        defer { close(map) }
        let output = "rtp://127.0.0.1:\(receiver.port)"
        let first = try Process()
        let port = try #require(first.start(input: "udp://127.0.0.1:0", output: output, map: map, settings))
        try send(frames: 30, to: port)
        let reader = try TelemetryMap.Reader(map)
        while reader.snapshot().books.originals < 30 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        receiver.await(pictures: 30)
        kill(first.id, SIGKILL)
        #expect(first.wait() == 128 + SIGKILL)

        let before = receiver.seen.pictures.count
        let second = try Process()
        #expect(second.start(input: "udp://127.0.0.1:\(port)", output: output, map: map, settings) == port)
        try send(frames: 30, to: port)
        while reader.snapshot().books.originals < 60 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        receiver.await(pictures: before + 30)
        second.channel.send(.end)
        #expect(second.wait() == 0)

        let seen = receiver.seen
        #expect(Set(seen.sources).count == 1)
        // At a constant rate it may be killed in the middle of a repeated picture. Then the tables and the video jump once.
        let isQuiet = settings.isEmpty
        // No number comes twice. The second process leaves out those that the first may have used.
        let jumps = zip(seen.sequence, seen.sequence.dropFirst()).map { $1 &- $0 }.filter { $0 != 1 }
        #expect(jumps.count == 1 && jumps.allSatisfy { (2...256).contains($0) }, "\(jumps)")
        #expect(seen.gaps <= (isQuiet ? 0 : 3))
        #expect(zip(seen.pictures, seen.pictures.dropFirst()).allSatisfy { $0 < $1 })
        // The source's pictures lie on a grid of 30 a second, the slots on one of 60, before and after. Stamps are rounded.
        let step: Int64 = isQuiet ? 3000 : 1500
        #expect(seen.pictures.allSatisfy { ($0 - seen.pictures[0] + 1) % step <= 2 })
        // The books of both go into one map and balance.
        let books = reader.snapshot().books
        #expect(books.originals == 60 && books.emitted >= 60 && books.balance)
        #expect(!isQuiet || seen.pictures.count == 60 && books.emitted == 60)
    }

    private func send(frames: Int64, to port: UInt16) throws {
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        let sink = try Sink(try StreamURL("udp://127.0.0.1:\(port)"))
        _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
    }
}

/// Receives MPEG-TS over RTP on a thread of its own, datagram by datagram.
private final class DatagramReceiver: Sendable {
    struct Seen {
        var sources: [UInt32] = []
        var sequence: [UInt16] = []
        /// Jumps of continuity counters, of any size.
        var gaps = 0
        /// Presentation times, in ticks.
        var pictures: [Int64] = []
    }

    private let source: Source
    private let thread: StageThread
    private let result = Result()

    private final class Result: Sendable {
        let seen = Lock(Seen())
        let isStopped = Lock(false)
    }

    var port: UInt16 { source.localPort }
    var seen: Seen { result.seen.withLock { $0 } }

    init() throws {
        let source = try Source(try StreamURL("udp://127.0.0.1:0"))
        self.source = source
        thread = StageThread(name: "receiver") { [result] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
            defer { buffer.deallocate() }
            var demuxer = TransportStreamDemuxer()
            while !result.isStopped.withLock({ $0 }) {
                guard case .message(let message) = source.receive(into: buffer, until: .now() + .seconds(1)),
                    message.byteCount > 12
                else { continue }
                result.seen.withLock { seen in
                    seen.sequence.append(UInt16(buffer[2]) << 8 | UInt16(buffer[3]))
                    seen.sources.append((8..<12).reduce(0) { $0 << 8 | UInt32(buffer[$1]) })
                    demuxer.push(
                        UnsafeRawBufferPointer(rebasing: buffer[12..<message.byteCount]), arrival: message.arrival,
                        sourceTime: nil
                    ) { event in
                        switch event {
                        case .unit(let unit): if unit.isMainVideo { seen.pictures.append(unit.presentation!.ticks) }
                        case .fault(.gap, _): seen.gaps += 1
                        default: break
                        }
                    }
                }
            }
        }
    }

    deinit {
        result.isStopped.withLock { $0 = true }
        source.interrupt()
        thread.join()
    }

    func await(pictures count: Int) {
        while seen.pictures.count < count { (MonotonicTime.now() + .milliseconds(2)).sleep() }
    }
}
