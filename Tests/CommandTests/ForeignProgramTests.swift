import Codec
import Foundation
import Glibc
import Media
import Testing

/// The relay between other programs: FFmpeg sends over SRT and FFmpeg receives. `BURNISH_NO_FOREIGN=1` skips these
/// tests.
@Suite(.timeLimit(.minutes(3))) struct ForeignProgramTests {
    /// Whether there is an FFmpeg with SRT.
    static let hasFFmpeg: Bool = {
        guard let protocols = try? ForeignProgram(["ffmpeg", "-hide_banner", "-protocols"]) else { return false }
        return protocols.textAtEnd().split(whereSeparator: \.isWhitespace).contains("srt")
    }()
    static let isWanted = ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil

    /// The other SRT implementation.
    enum Peer: String, CaseIterable, CustomTestStringConvertible {
        case ffmpeg, srtLiveTransmit, gStreamer

        var testDescription: String { rawValue }

        /// A sender that reads the stream from its standard input; nil where the encoder sends by itself.
        func sending(to port: UInt16) -> [String]? {
            let url = "srt://127.0.0.1:\(port)?mode=caller&latency=20"
            return switch self {
            case .ffmpeg: nil
            case .srtLiveTransmit: ["srt-live-transmit", "-q", "-chunk:1316", "file://con", url]
            case .gStreamer: ["gst-launch-1.0", "-q", "fdsrc", "!", "tsparse", "alignment=7", "!", "srtsink", "uri=\(url)"]
            }
        }

        /// A receiver that writes the stream to its standard output.
        func receiving(from port: UInt16) -> [String] {
            let url = "srt://127.0.0.1:\(port)?mode=caller&latency=20"
            return switch self {
            case .ffmpeg:
                [
                    "ffmpeg", "-v", "error", "-analyzeduration", "500000", "-i", url + "000&transtype=live", "-map", "0",
                    "-c", "copy", "-f", "mpegts", "-",
                ]
            case .srtLiveTransmit: ["srt-live-transmit", "-q", url, "file://con"]
            case .gStreamer: ["gst-launch-1.0", "-q", "srtsrc", "uri=\(url)", "!", "fdsink"]
            }
        }
    }

    /// A sender of grey pictures that never ends.
    private func sender(_ grey: Int, to port: UInt16, by program: Peer) throws -> ForeignProgram {
        let hex = String(repeating: String(grey, radix: 16), count: 3)
        let encoder = [
            "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "color=c=0x\(hex):size=160x96:rate=30", "-f", "lavfi",
            "-i", "sine=frequency=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-tune",
            "zerolatency", "-g", "15", "-c:a", "aac", "-f", "mpegts",
        ]
        if let arguments = program.sending(to: port) { return try ForeignProgram(arguments, reading: encoder + ["-"]) }
        return try ForeignProgram(encoder + ["srt://127.0.0.1:\(port)?mode=caller&transtype=live&latency=20000"])
    }

    /// The number of frames sent, by the newest status line.
    private func out(_ text: String) -> Int {
        let counts = text.matches(of: /in [0-9]+, out ([0-9]+) \(/)
        return counts.last.flatMap { Int($0.1) } ?? 0
    }

    @Test(
        .enabled(if: isWanted, "BURNISH_NO_FOREIGN is set"), .enabled(if: hasFFmpeg, "no ffmpeg with SRT on the PATH"),
        arguments: [
            (Peer.ffmpeg, ["--tier", "base"]), (.ffmpeg, ["--tier", "base", "--fps", "30", "--hold", "60s"]),
            (.srtLiveTransmit, ["--tier", "base"]), (.gStreamer, ["--tier", "base"]),
        ])
    func aSenderThatIsKilledAndStartedAgainReachesTheReceiver(program: Peer, options: [String]) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        let relay = try Program(
            [
                "relay", "--input", "srt://127.0.0.1:0?mode=listener&latency=20", "--output",
                "srt://127.0.0.1:0?mode=listener&latency=20", "--budget", "10s",
            ] + options)
        let ports = try relay.listeningPorts(["input", "output"])
        // It drops nothing itself, however late it reads on a busy machine.
        let receiver = try ForeignProgram([
            "ffmpeg", "-v", "error", "-y", "-i",
            "srt://127.0.0.1:\(ports[1])?mode=caller&transtype=live&latency=20000&tlpktdrop=0",
            "-map", "0:v", "-map", "0:a", "-c", "copy", "-f", "mpegts", file.path,
        ])
        _ = relay.read(until: "output: connected")

        let first = try sender(0x40, to: ports[0], by: program)
        let before = out(relay.read { out($0) >= 60 })
        #expect(before >= 60, "\(first.isRunning) \(relay.read { _ in true })")
        first.kill()
        // At once: a listener serves one caller at a time, and detects by itself that this one has gone.
        let second = try sender(0xC0, to: ports[0], by: program)
        _ = relay.read { text in
            let parts = text.components(separatedBy: "input: connected")
            return parts.count == 3 && parts[2].matches(of: /out [0-9]+ \(/).count >= 4
                || text.matches(of: /out [0-9]+ \(/).count >= 40
        }
        #expect(second.isRunning, "turned away")
        let outcome = relay.end(with: SIGINT)
        second.kill()
        let received = receiver.textAtEnd()

        #expect(outcome.reason == .exit && outcome.code == 0, "\(outcome.errors)")
        let books = try #require(outcome.errors.split(separator: "\n").last { $0.hasPrefix("books: ") })
        #expect(!books.contains("BALANCE") && books.hasSuffix("in flight 0"), "\(books)")
        let emitted = try #require(books.firstMatch(of: /emitted ([0-9]+)/).flatMap { Int($0.1) })
        // There is time for everything, so only frames without a receiver or without a keyframe are dropped.
        if !options.contains("--fps") { #expect(!books.contains("late") && !books.contains("overload"), "\(books)") }
        // The pictures of both senders are there, in order.
        var greys: [Int] = []
        let reader = try FileReader(path: file.path)
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            greys.append(Int(unsafe picture.view.y.row(40)[60]))
        }
        let (dark, bright) = (greys.count { $0 < 110 }, greys.count { $0 > 140 })
        #expect(dark >= 55 && bright >= 30 && dark + bright == greys.count, "\(dark), \(bright): \(received)")
        #expect(greys == greys.sorted(by: { $0 < 110 && $1 > 140 }))
        #expect(greys.count <= emitted && greys.count >= emitted - 5, "\(greys.count) of \(emitted): \(received)")
        #expect(reader.audioStreamCount == 1 && reader.damagedPackets == 0)
    }

    @Test(
        .enabled(if: isWanted, "BURNISH_NO_FOREIGN is set"), .enabled(if: hasFFmpeg, "no ffmpeg with SRT on the PATH"),
        arguments: Peer.allCases)
    func aReceiverThatIsKilledAndStartedAgainGetsWholePictures(program: Peer) throws {
        let files = try (0..<2).map { _ in try TemporaryFile() }
        let relay = try Program([
            "relay", "--input", "srt://127.0.0.1:0?mode=listener&latency=20", "--output",
            "srt://127.0.0.1:0?mode=listener&latency=20", "--budget", "10s", "--tier", "base",
        ])
        let ports = try relay.listeningPorts(["input", "output"])
        let sender = try sender(0x40, to: ports[0], by: .ffmpeg)
        for (index, file) in files.enumerated() {
            let receiver = try ForeignProgram(program.receiving(from: ports[1]), writing: file.handle)
            _ = relay.read { text in
                let parts = text.components(separatedBy: "output: connected")
                return parts.count == index + 2 && parts[index + 1].matches(of: /out [0-9]+ \(/).count >= 4
                    || text.matches(of: /out [0-9]+ \(/).count >= 40
            }
            let connections = relay.read { _ in true }.components(separatedBy: "output: connected").count - 1
            #expect(connections == index + 1, "turned away")
            #expect(receiver.isRunning && sender.isRunning)
            if index == 0 { receiver.kill() }
        }
        let outcome = relay.end(with: SIGINT)
        sender.kill()
        #expect(outcome.reason == .exit && outcome.code == 0, "\(outcome.errors)")
        let books = try #require(outcome.errors.split(separator: "\n").last { $0.hasPrefix("books: ") })
        #expect(!books.contains("BALANCE") && books.hasSuffix("in flight 0"), "\(books)")
        // Each got sound and all pictures from its first one on.
        for file in files {
            let reader = try FileReader(path: file.url.path)
            var pictures = 0
            while let item = try reader.next() {
                if case .picture = consume item { pictures += 1 }
            }
            #expect(pictures >= 30 && reader.audioStreamCount == 1)
        }
    }
}

/// Another program, and a program whose output it reads.
final class ForeignProgram {
    private let process: Process
    private let source: Process?
    private let said = Pipe()

    /// - Parameters:
    ///   - reading: a program whose standard output is this program's standard input. It ends with this one.
    ///   - output: a file for its standard output; nil where that is read together with its messages.
    init(_ arguments: [String], reading: [String]? = nil, writing output: FileHandle? = nil) throws {
        process = Self.program(arguments)
        source = reading.map(Self.program)
        if let output { process.standardOutput = output } else { process.standardOutput = said }
        process.standardError = said
        if let source {
            let stream = Pipe()
            source.standardOutput = stream
            process.standardInput = stream
            // Close both ends of the pipe here, so that each program detects when the other has gone.
            try source.run()
        }
        try process.run()
    }

    private static func program(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return process
    }

    deinit { kill() }

    var isRunning: Bool { process.isRunning }

    /// Kills it and the program that it reads from.
    func kill() {
        for process in [process, source].compactMap({ $0 }) where process.isRunning {
            Glibc.kill(process.processIdentifier, SIGKILL)
        }
    }

    /// Waits for its end.
    /// - Returns: its messages.
    func textAtEnd() -> String {
        let text = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }
}

/// An empty file that exists for as long as this object.
final class TemporaryFile {
    let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ts")
    let handle: FileHandle

    init() throws {
        try Data().write(to: url)
        handle = try FileHandle(forWritingTo: url)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
