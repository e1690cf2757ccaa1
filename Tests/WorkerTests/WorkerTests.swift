import Endpoint
import Foundation
import Measure
import Media
import Packets
import Telemetry
import TestStreams
import Testing
import Transport
import WorkerProtocol

/// A worker over a real socket pair, with streams on loopback.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WorkerTests {
    @Test func aStreamRunsFromStartToStop() throws {
        let worker = try WorkerUnderTest()
        #expect(worker.next { $0 } == .hello(version: MessageCoding.version))
        let ports = try #require(worker.start("a", ["budget": "10s"]))
        let receiver = try Receiver(port: ports.output)
        #expect(worker.event("a", .outputUp) != nil)
        try send(frames: 30, to: ports.input)
        #expect(worker.event("a", .inputUp)?.contains("127.0.0.1") == true)
        #expect(worker.event("a", .picture) == "picture: 160x96 → 320x192")
        #expect(worker.event("a", .inputDown) != nil)
        worker.channel.send(.stop(stream: "a"))
        #expect(worker.ended("a") == .ended(stream: "a", code: 0, reason: "stopped"))
        #expect(receiver.pictures() > 0)
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    @Test func streamsAreApartFromEachOther() throws {
        let worker = try WorkerUnderTest()
        let first = try #require(worker.start("a", to: "udp://127.0.0.1:9"))
        let second = try #require(worker.start("b", to: "udp://127.0.0.1:9"))
        #expect(first.input != second.input)
        worker.channel.send(.stop(stream: "a"))
        #expect(worker.ended("a") == .ended(stream: "a", code: 0, reason: "stopped"))
        try send(frames: 5, to: second.input)
        #expect(worker.event("b", .picture) != nil)
        // A name is free as soon as its stream has ended.
        #expect(worker.start("a", to: "udp://127.0.0.1:9") != nil)
        worker.channel.send(.end)
        #expect(Set([worker.ended("a"), worker.ended("b")].compactMap { $0 }.map { "\($0)" }).count == 2)
        #expect(worker.join()?.code == 0)
    }

    @Test(arguments: [
        ("srt://127.0.0.1:0?mode=listener", "udp://127.0.0.1:9", ["colour": "red"], Int32(78)),
        ("srt://127.0.0.1:0?mode=listener", "udp://127.0.0.1:9", ["tier": "best"], 78),
        ("srt://127.0.0.1:0?mode=lesson", "udp://127.0.0.1:9", [:], 78),
        ("/nonexistent/folder/in.ts", "udp://127.0.0.1:9", [:], 69),
        // The supervisor gave no text.
        ("/nonexistent/folder/in.sdp", "udp://127.0.0.1:9", [:], 69),
        ("udp://127.0.0.1:0", "/nonexistent/folder/out.sdp?latency=20", [:], 78),
        ("srt://192.0.2.1:1?mode=listener", "udp://127.0.0.1:9", [:], 69),
    ])
    func whatCannotStartSaysWhy(input: String, output: String, settings: [String: String], code: Int32) throws {
        let worker = try WorkerUnderTest()
        let assignment = WorkerAssignment(stream: "a", input: input, outputs: [output], settings: settings)
        worker.channel.send(.start(assignment))
        guard case .ended(_, let given, let reason) = worker.ended("a") else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(given == code && !reason.isEmpty && !reason.contains("\n"), "\(given): \(reason)")
        // The worker lives on.
        #expect(worker.start("b", to: "udp://127.0.0.1:9") != nil)
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    /// Callers say by their stream ID which of them they want.
    @Test func twoStreamsShareAListeningPort() throws {
        let worker = try WorkerUnderTest()
        let first = try #require(
            worker.start("a", from: "srt://127.0.0.1:0?mode=listener&streamid=a", to: "udp://127.0.0.1:9"))
        let url = "srt://127.0.0.1:\(first.input)?mode=listener&streamid=b"
        let second = try #require(worker.start("b", from: url, to: "udp://127.0.0.1:9"))
        #expect(first.input == second.input)
        try send(frames: 5, to: first.input, options: "&streamid=b")
        #expect(worker.event("b", .inputUp) != nil)
        try send(frames: 5, to: first.input, options: "&streamid=a")
        #expect(worker.event("a", .inputUp) != nil)
        // The port stays open for the other.
        worker.channel.send(.stop(stream: "a"))
        #expect(worker.ended("a") != nil)
        try send(frames: 5, to: first.input, options: "&streamid=b")
        #expect(worker.event("b", .inputUp) != nil)
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    @Test func callersAreListedAndKicked() throws {
        let worker = try WorkerUnderTest()
        let ports = try #require(worker.start("a"))
        let receiver = try Source(try StreamURL("srt://127.0.0.1:\(ports.output)?latency=20&streamid=me"))
        #expect(worker.event("a", .outputUp) != nil)
        func callers() -> [Caller]? {
            worker.channel.send(.listCallers(id: 1, stream: "a"))
            return worker.next { if case .callers(1, let callers, true) = $0 { callers } else { nil } }
        }
        let caller = try #require(callers()?.first)
        #expect(caller.leg == .output && caller.streamID == "me" && caller.peer.hasPrefix("127.0.0.1:"))
        #expect(caller.connectedAt <= MonotonicTime.now().nanoseconds && caller.figures.window > .zero)
        worker.channel.send(.kick(stream: "a", caller: caller.id + 1000, seconds: .infinity))
        worker.channel.send(.kick(stream: "a", caller: caller.id, seconds: 3600))
        #expect(worker.event("a", .outputDown) != nil)
        #expect(callers()?.count == 0)
        withExtendedLifetime(receiver) {}
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    /// The supervisor opens them: the worker could not.
    @Test func filesComeAsDescriptors() throws {
        let scratch = try Scratch()
        let stream = try scratch.write(try TestStream.video(frames: 30), to: "in.ts")
        _ = try scratch.write([], to: "out.ts")
        let input = open(stream, O_RDONLY)
        let output = open(scratch.path("out.ts"), O_WRONLY)
        let map = try TelemetryMap.create()
        defer { for number in [input, output, map] { close(number) } }
        let worker = try WorkerUnderTest()
        let assignment = WorkerAssignment(
            stream: "a", input: "/nonexistent/in.ts", outputs: ["/nonexistent/out.ts"], settings: ["budget": "10s"])
        worker.channel.send(.start(assignment), descriptors: [map, input, output])
        #expect(worker.ended("a") == .ended(stream: "a", code: 0, reason: "the input has ended"))
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == 30)
        #expect(try TelemetryMap.Reader(map).snapshot().books.emitted == 30)
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    @Test func picturesAreShownOnDemand() throws {
        let worker = try WorkerUnderTest()
        let ports = try #require(worker.start("a", to: "udp://127.0.0.1:9", ["budget": "10s"]))
        let sender = Thread { try? send(frames: 120, to: ports.input) }
        sender.start()
        #expect(worker.event("a", .picture) != nil)
        let scratch = try Scratch()
        for (id, side) in PictureSide.allCases.enumerated() {
            let path = try scratch.write([], to: "\(side).jpg")
            let file = open(path, O_RDWR)
            defer { close(file) }
            worker.channel.send(
                .showPicture(id: UInt64(id), stream: "a", side: side, width: 80), descriptors: [file])
            let answer = worker.next { message -> (Int, String?)? in
                if case .picture(UInt64(id), let count, let fault) = message { (count, fault) } else { nil }
            }
            let bytes = try scratch.read("\(side).jpg")
            #expect(answer?.0 == bytes.count && bytes.starts(with: [0xFF, 0xD8]), "\(answer?.1 ?? "")")
        }
        worker.channel.send(.ping(id: 1))
        #expect(worker.next { if case .alive(1, let stalled) = $0 { stalled.count } else { nil } } == 0)
        worker.channel.send(.share(stream: "a", dealt: 1, optional: 0.5, room: 0.5))
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
        while !sender.isFinished { (MonotonicTime.now() + .milliseconds(2)).sleep() }
    }

    /// A supervisor that still runs while its programs were replaced: the stream matters more than its figures.
    @Test func aMapOfAnotherVersionCostsTheFiguresOnly() throws {
        let worker = try WorkerUnderTest()
        let map = try TelemetryMap.create()
        defer { close(map) }
        var other: UInt64 = 1
        #expect(pwrite(map, &other, 8, 8) == 8)
        let assignment = WorkerAssignment(
            stream: "a", input: "srt://127.0.0.1:0?mode=listener", outputs: ["udp://127.0.0.1:9"], settings: [:])
        worker.channel.send(.start(assignment), descriptors: [map])
        #expect(worker.event("a", .message)?.hasPrefix("runs without figures, because burnishd is of another version") == true)
        #expect(worker.next { if case .started("a", _, _) = $0 { true } else { nil } } == true)
        worker.channel.send(.end)
        #expect(worker.ended("a") == .ended(stream: "a", code: 0, reason: "stopped"))
        #expect(worker.join()?.code == 0)
    }

    @Test func settingsChangeWhileTheStreamRuns() throws {
        let worker = try WorkerUnderTest()
        let ports = try #require(worker.start("a", to: "udp://127.0.0.1:9", ["tier": "neural-s"]))
        try send(frames: 5, to: ports.input)
        func change(_ settings: [String: String?]) -> String? {
            worker.channel.send(.change(id: 5, stream: "a", settings: settings))
            return worker.next { if case .changed(5, let fault) = $0 { fault ?? "" } else { nil } }
        }
        #expect(change(["tier": nil, "budget": "120ms", "interpolate": "2"]) == "")
        #expect(change(["budget": "soon"])?.hasPrefix("budget: ") == true)
        #expect(change(["scale": "1"])?.hasPrefix("scale: ") == true)
        #expect(change(["colour": "red"])?.hasPrefix("colour: ") == true)
        try send(frames: 5, to: ports.input)
        worker.channel.send(.end)
        #expect(worker.ended("a") == .ended(stream: "a", code: 0, reason: "stopped"))
        #expect(worker.join()?.code == 0)
    }

    /// Somebody may ask as often as they like: only so many fly, and the others are refused.
    @Test func aFloodOfReactionsIsRefused() throws {
        let worker = try WorkerUnderTest()
        _ = try #require(worker.start("a", to: "udp://127.0.0.1:9", ["reactions": "on"]))
        let reaction = StreamReaction(kind: "rain", x: 0.5, y: 0.5, seconds: Reaction.lengths.upperBound)
        let faults = (UInt64(0)..<100).map { id in
            worker.channel.send(.react(id: id, stream: "a", reaction))
            return worker.next { if case .changed(id, let fault) = $0 { fault ?? "" } else { nil } }
        }
        #expect(faults.prefix(Reaction.most).allSatisfy { $0 == "" })
        #expect(faults.dropFirst(Reaction.most).allSatisfy { $0 == "8 reactions run: wait until one has ended" })
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    /// The worker reads it from a descriptor, when the stream starts and with a change.
    @Test func aTableIsReadFromItsDescriptor() throws {
        let scratch = try Scratch()
        func descriptor(_ text: String) throws -> Int32 {
            open(try scratch.write(Array(text.utf8), to: "\(text.count)"), O_RDONLY)
        }
        let (good, bad) = (try descriptor("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n"), try descriptor("LUT_1D_SIZE 2\n0 0 0\n"))
        defer { for number in [good, bad] { close(number) } }
        let fault = "lut: /a.cube: ends after 1 of 2 rows: it is cut off, get the whole file"
        let worker = try WorkerUnderTest()
        let assignment = WorkerAssignment(
            stream: "a", input: "srt://127.0.0.1:0?mode=listener&latency=20", outputs: ["udp://127.0.0.1:9"],
            settings: ["lut": "/a.cube"])
        let map = try TelemetryMap.create()
        defer { close(map) }
        worker.channel.send(.start(assignment), descriptors: [map, bad])
        #expect(worker.ended("a") == .ended(stream: "a", code: 78, reason: fault))
        worker.channel.send(.start(assignment), descriptors: [map, good])
        let port = try #require(worker.next { if case .started("a", let port, _) = $0 { port } else { nil } })
        try send(frames: 5, to: port)
        func change(_ path: String?, _ descriptors: [Int32] = []) -> String? {
            worker.channel.send(.change(id: 5, stream: "a", settings: ["lut": path]), descriptors: descriptors)
            return worker.next { if case .changed(5, let fault) = $0 { fault ?? "" } else { nil } }
        }
        #expect(change("/a.cube", [bad]) == fault)
        #expect(change("/a.cube") == "lut: /a.cube: did not come with the settings")
        #expect(change("/b.cube", [good]) == "")
        #expect(change(nil) == "")
        worker.channel.send(.change(id: 0, stream: "a", settings: ["lut": "/a.cube"]), descriptors: [bad])
        let said = StreamEvent(.message, "settings stay as they were: " + fault)
        #expect(worker.next { if case .event("a", said) = $0 { true } else { nil } } == true)
        worker.channel.send(.end)
        _ = worker.join()
    }

    @Test func anEventShowsNoSecret() throws {
        let worker = try WorkerUnderTest()
        worker.channel.send(
            .start(
                WorkerAssignment(
                    stream: "a", input: "srt://127.0.0.1:0?passphrase=short", outputs: ["udp://127.0.0.1:9"], settings: [:])))
        guard case .ended(_, _, let reason) = worker.ended("a") else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(reason.contains("passphrase") && !reason.contains("short"))
        worker.channel.send(.end)
        _ = worker.join()
    }

    @Test func whoAsksForAStreamThatIsNotThereGetsAnAnswer() throws {
        let worker = try WorkerUnderTest()
        let fault = "no stream x runs in this worker"
        worker.channel.send(.change(id: 6, stream: "x", settings: [:]))
        #expect(worker.next { if case .changed(6, let fault) = $0 { fault } else { nil } } == fault)
        worker.channel.send(.showPicture(id: 4, stream: "x", side: .before, width: 320), descriptors: [0])
        #expect(worker.next { if case .picture(4, 0, let fault) = $0 { fault } else { nil } } == fault)
        worker.channel.send(.listCallers(id: 5, stream: "x"))
        #expect(worker.next { if case .callers(5, let callers, true) = $0 { callers.count } else { nil } } == 0)
        worker.channel.send(.stop(stream: "x"))
        worker.channel.send(.ping(id: 6))
        #expect(worker.next { if case .alive(6, let stalled) = $0 { stalled.count } else { nil } } == 0)
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }

    @Test func aSupervisorOfAnotherVersionIsRefused() throws {
        let worker = try WorkerUnderTest(version: 99)
        let end = try #require(worker.join())
        #expect(end.code == 70 && end.fault?.contains("version 99") == true)
    }

    @Test func aSupervisorThatDoesNotSayHelloIsRefused() throws {
        let worker = try WorkerUnderTest(version: nil)
        worker.channel.send(.ping(id: 1))
        #expect(worker.join()?.code == 70)
    }

    /// The peers know at once, not after libsrt's five seconds.
    @Test func whenTheSupervisorIsGoneTheLegsAreClosed() throws {
        let worker = try WorkerUnderTest()
        let ports = try #require(worker.start("a"))
        let receiver = try Source(try StreamURL("srt://127.0.0.1:\(ports.output)?latency=20"))
        #expect(worker.event("a", .outputUp) != nil)
        worker.channel.close()
        #expect(worker.join()?.code == 0)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        let closed = MonotonicTime.now()
        while true {
            if case .event(.disconnected) = receiver.receive(into: buffer, until: closed + .seconds(60)) { break }
        }
        // Without the shutdown libsrt waits for five seconds.
        #expect(MonotonicTime.now() - closed < .seconds(4))
    }
}

/// Receives on a thread until it is asked what it has received.
private final class Receiver: Sendable {
    private let source: Source
    private let thread: StageThread
    private let result = Box()

    private final class Box: Sendable {
        let pictures = Lock(0)
        let isStopped = Lock(false)
    }

    init(port: UInt16) throws {
        let source = try Source(try StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        self.source = source
        thread = StageThread(name: "receiver") { [result] in
            let probe = try? LiveProbe(source, statistics: ProbeStatistics(warmUp: 0))
            let report = try? probe?.run(limit: nil, pictureTimeout: .seconds(60)) { result.isStopped.withLock { $0 } }
            result.pictures.withLock { $0 = report?.received ?? 0 }
        }
    }

    func pictures() -> Int {
        result.isStopped.withLock { $0 = true }
        source.interrupt()
        thread.join()
        return result.pictures.withLock { $0 }
    }
}
