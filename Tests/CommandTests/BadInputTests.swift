import Container
import Endpoint
import Foundation
import Media
import Testing
import Transport

/// Input that the built program cannot relay. For a file it prints one line that says why, and ends with the documented
/// exit code. For the network it prints the line and waits, because the input may get better. It never crashes.
@Suite(.timeLimit(.minutes(3))) struct BadInputTests {
    /// What is wrong with an input.
    enum Fault: String, CaseIterable, Sendable {
        case nothing, oneByte, nonsense, nonsenseWithSyncBytes, headOfAStream
        case noVideo, mpeg4, scrambled, absurdSize, brokenPictures

        /// The exit code for a file with this fault.
        var code: Int32 { passes || self == .headOfAStream ? 0 : 65 }

        /// Whether the relay passes it on as it comes, and says why in one line.
        var passes: Bool { self == .noVideo || self == .mpeg4 || self == .absurdSize }

        /// The text of the line.
        var reason: String {
            switch self {
            case .nothing, .oneByte, .nonsense, .nonsenseWithSyncBytes: "transport"
            case .headOfAStream: ""
            case .noVideo: "no video in it"
            case .mpeg4: "its video is MPEG-4 video"
            case .scrambled: "descramble"
            case .absurdSize: "too large to decode"
            case .brokenPictures: "could be decoded"
            }
        }

        func bytes() throws -> [UInt8] {
            var random = SplitMix64(seed: 4)
            switch self {
            case .nothing: return []
            case .oneByte: return [0x47]
            case .nonsense: return (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            case .nonsenseWithSyncBytes:
                return (0..<188 * 500).map { $0 % 188 == 0 ? 0x47 : UInt8.random(in: 0...255, using: &random) }
            case .headOfAStream: return try golden("ffmpeg.ts").dropLast(12_345)
            case .noVideo: return try made(["-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac"])
            case .mpeg4: return try made(Self.pattern + ["-c:v", "mpeg4"])
            case .scrambled:
                // The packets of the video, which is on FFmpeg's usual PID.
                var stream = try golden("ffmpeg.ts")
                for at in stride(from: 0, to: stream.count, by: 188) where stream[at + 1] & 0x1F == 1 && stream[at + 2] == 0 {
                    stream[at + 3] |= 0x80
                }
                return stream
            case .absurdSize: return try crafted(columns: 1024, rows: 1024)
            case .brokenPictures: return try crafted(columns: 10, rows: 6)
            }
        }

        private static let pattern = ["-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25:duration=1"]

        private func golden(_ name: String) throws -> [UInt8] {
            [UInt8](
                try Data(
                    contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                        .appending(path: "GoldenStreams/\(name)")))
        }

        private func made(_ arguments: [String]) throws -> [UInt8] {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["ffmpeg", "-v", "error"] + arguments + ["-f", "mpegts", "-"]
            let output = Pipe()
            process.standardOutput = output
            process.standardInput = FileHandle.nullDevice
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0 && !data.isEmpty)
            return [UInt8](data)
        }

        /// A stream with right headers, for pictures of so many macroblocks, and with wrong slices.
        private func crafted(columns: UInt64, rows: UInt64) throws -> [UInt8] {
            var sequence = Bits([0x67, 66, 0xC0, 51])
            for value in [0, 0, 2, 1] { sequence.golomb(UInt64(value)) }
            sequence.put(0, 1)
            sequence.golomb(columns - 1)
            sequence.golomb(rows - 1)
            sequence.put(0b1100, 4)
            var picture = Bits([0x68])
            picture.golomb(0)
            picture.golomb(0)
            picture.put(0, 2)
            for _ in 0..<3 { picture.golomb(0) }
            picture.put(0, 3)
            for _ in 0..<3 { picture.golomb(0) }
            picture.put(0, 3)
            let muxer = try TransportStreamMuxer()
            var stream: [UInt8] = []
            for index in 0..<20 {
                var unit: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
                unit += [0, 0, 0, 1] + sequence.ended() + [0, 0, 0, 1] + picture.ended()
                // An IDR slice whose first macroblock does not exist.
                unit += [0, 0, 0, 1, 0x65] + [UInt8](repeating: 0x11, count: 300)
                let time = MediaTime(ticks: 90_000 + Int64(index) * 3000)
                unit.withUnsafeBytes {
                    muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: true) {
                        stream.append(contentsOf: $0)
                    }
                }
            }
            return stream
        }
    }

    /// Bits of a parameter set.
    private struct Bits {
        private var bytes: [UInt8]
        private var free = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        mutating func put(_ value: UInt64, _ count: Int) {
            for bit in (0..<count).reversed() {
                if free == 0 {
                    bytes.append(0)
                    free = 8
                }
                free -= 1
                bytes[bytes.count - 1] |= UInt8(value >> UInt64(bit) & 1) << UInt8(free)
            }
        }

        mutating func golomb(_ value: UInt64) {
            let length = 64 - (value + 1).leadingZeroBitCount
            put(0, length - 1)
            put(value + 1, length)
        }

        func ended() -> [UInt8] {
            var whole = self
            whole.put(1, 1)
            return whole.bytes
        }
    }

    @Test(arguments: Fault.allCases) func fromAFile(fault: Fault) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(try fault.bytes()).write(to: file)
        let outcome = try Program.run(["relay", "--input", file.path, "--output", "udp://127.0.0.1:9", "--quiet"])
        #expect(outcome.reason == .exit && outcome.code == fault.code, "\(outcome.code) \(outcome.errors)")
        #expect(outcome.complaints.count == (fault.code == 0 ? 0 : 1), "\(outcome.errors)")
        let lines = fault.passes ? outcome.errors : outcome.complaints.first.map(String.init) ?? fault.reason
        #expect(fault.reason.isEmpty || lines.contains(fault.reason), "\(outcome.errors)")
        if fault.code == 0 { #expect(outcome.errors.contains("books: ") && !outcome.errors.contains("NOT BALANCE")) }
        if fault == .absurdSize { #expect(outcome.errors.contains("16384x16384")) }
    }

    /// `burnish enhance` reads other kinds of files too, but of these only the head of the first stream.
    @Test(arguments: [Fault.nothing, .nonsense, .noVideo, .absurdSize, .brokenPictures])
    func toEnhance(fault: Fault) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).ts")
        let output = file.path + ".y4m"
        defer {
            try? FileManager.default.removeItem(at: file)
            try? FileManager.default.removeItem(atPath: output)
        }
        try Data(try fault.bytes()).write(to: file)
        let outcome = try Program.run(["enhance", "--input", file.path, "--output", output])
        #expect(outcome.reason == .exit && outcome.code == 65, "\(outcome.code) \(outcome.errors)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
    }

    /// On the network the input may get better. So the relay prints the reason and waits until a signal ends it.
    @Test(arguments: [Fault.nonsense, .nonsenseWithSyncBytes, .noVideo, .mpeg4, .scrambled], ["udp", "rtp", "srt"])
    func fromTheNetwork(fault: Fault, scheme: String) throws {
        let bytes = try fault.bytes()
        let mode = scheme == "srt" ? "?mode=listener&latency=20" : ""
        let relay = try Program(
            ["relay", "--input", "\(scheme)://127.0.0.1:0\(mode)", "--output", "udp://127.0.0.1:9", "--quiet"])
        let port = try relay.listeningPort()
        let sink = try Sink(try StreamURL("\(scheme)://127.0.0.1:\(port)"))
        try sink.awaitConnection(until: .now() + .seconds(30))
        let sender = Repeating(bytes, to: sink)
        let expected = fault == .nonsenseWithSyncBytes ? "program association table" : fault.reason
        let text = relay.read(until: expected)
        sender.stop()
        #expect(text.contains(expected), "\(text)")
        let outcome = relay.end(with: SIGTERM)
        #expect(outcome.reason == .exit && outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.errors.contains("books: ") && !outcome.errors.contains("NOT BALANCE"))
        #expect(outcome.errors.split(separator: "\n").count { $0.contains(expected) } == 1, "\(outcome.errors)")
    }

    /// Both the caller and the listener print what is wrong. The listener goes on.
    @Test func aWrongPassphrase() throws {
        let relay = try Program([
            "relay", "--input", "srt://127.0.0.1:0?mode=listener&passphrase=right-horse-battery", "--output",
            "udp://127.0.0.1:9", "--quiet",
        ])
        let port = try relay.listeningPort()
        let caller = try Program.run(
            ["testsrc", "--output", "srt://127.0.0.1:\(port)?passphrase=wrong-horse-battery"])
        #expect(caller.reason == .exit && caller.code == 69)
        #expect(caller.complaints.count == 1 && caller.errors.contains("passphrase is wrong"), "\(caller.errors)")
        #expect(relay.read(until: "wrong passphrase").contains("wrong passphrase or none"))
        let right = try Program.run([
            "testsrc", "--output", "srt://127.0.0.1:\(port)?passphrase=right-horse-battery", "--duration", "0.2s",
            "--size", "160x96",
        ])
        #expect(right.code == 0, "\(right.errors)")
        let outcome = relay.end(with: SIGTERM)
        #expect(outcome.reason == .exit && outcome.code == 0 && !outcome.errors.contains("horse"))
    }

    /// Sends bytes again and again, like a live source.
    private final class Repeating: Sendable {
        private let thread: StageThread
        private let box = Box()

        private final class Box: Sendable {
            private let lock = NSLock()
            private nonisolated(unsafe) var isOver = false
            var stopped: Bool {
                get { lock.withLock { isOver } }
                set { lock.withLock { isOver = newValue } }
            }
        }

        init(_ bytes: [UInt8], to sink: Sink) {
            thread = StageThread(name: "sender") { [box] in
                while !box.stopped {
                    for start in stride(from: 0, to: bytes.count, by: 1316) where !box.stopped {
                        bytes[start..<min(bytes.count, start + 1316)].withUnsafeBytes { _ = sink.send($0) }
                        (MonotonicTime.now() + .milliseconds(2)).sleep()
                    }
                }
            }
        }

        func stop() {
            box.stopped = true
            thread.join()
        }
    }
}
