import Codec
import Foundation
import Glibc
import Media
import Testing

/// The relay between other people's programs: what FFmpeg sends over SRT, FFmpeg receives. `BURNISH_NO_FOREIGN=1` leaves
/// this out.
@Suite(.timeLimit(.minutes(3))) struct ForeignProgramTests {
    /// Whether there is an FFmpeg that speaks SRT.
    static let hasFFmpeg: Bool = {
        guard let protocols = try? ForeignProgram(["ffmpeg", "-hide_banner", "-protocols"]) else { return false }
        return protocols.textAtEnd().split(whereSeparator: \.isWhitespace).contains("srt")
    }()
    static let isWanted = ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil

    /// A sender of one grey that never ends.
    private func sender(_ grey: Int, to port: UInt16) throws -> ForeignProgram {
        let hex = String(repeating: String(grey, radix: 16), count: 3)
        return try ForeignProgram([
            "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "color=c=0x\(hex):size=160x96:rate=30", "-f", "lavfi",
            "-i", "sine=frequency=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-tune",
            "zerolatency", "-g", "15", "-c:a", "aac", "-f", "mpegts",
            "srt://127.0.0.1:\(port)?mode=caller&transtype=live&latency=20000",
        ])
    }

    /// How many frames the newest status line says went out.
    private func out(_ text: String) -> Int {
        let counts = text.matches(of: /in [0-9]+, out ([0-9]+) \(/)
        return counts.last.flatMap { Int($0.1) } ?? 0
    }

    @Test(
        .enabled(if: isWanted, "BURNISH_NO_FOREIGN is set"), .enabled(if: hasFFmpeg, "no ffmpeg with SRT on the PATH"),
        arguments: [["--tier", "base"], ["--tier", "base", "--fps", "30", "--hold", "60s"]])
    func aSenderThatIsKilledAndStartedAgainReachesTheReceiver(options: [String]) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        let relay = try Program([
            "relay", "--input", "srt://127.0.0.1:0?mode=listener&latency=20", "--output",
            "srt://127.0.0.1:0?mode=listener&latency=20", "--budget", "10s",
        ] + options)
        let ports = try relay.listeningPorts(["input", "output"])
        let receiver = try ForeignProgram([
            "ffmpeg", "-v", "error", "-y", "-i", "srt://127.0.0.1:\(ports[1])?mode=caller&transtype=live&latency=20000",
            "-map", "0:v", "-map", "0:a", "-c", "copy", "-f", "mpegts", file.path,
        ])
        _ = relay.read(until: "output: connected")

        let first = try sender(0x40, to: ports[0])
        let before = out(relay.read { out($0) >= 60 })
        #expect(before >= 60, "\(first.isRunning) \(relay.read { _ in true })")
        first.kill()
        // At once: a listener takes one caller at a time, and notices by itself that this one is gone.
        let second = try sender(0xC0, to: ports[0])
        _ = relay.read { text in
            let parts = text.components(separatedBy: "input: connected")
            return parts.count == 3 && parts[2].matches(of: /out [0-9]+ \(/).count >= 4
        }
        #expect(second.isRunning, "turned away")
        let outcome = relay.end(with: SIGINT)
        second.kill()
        let received = receiver.textAtEnd()

        #expect(outcome.reason == .exit && outcome.code == 0, "\(outcome.errors)")
        let books = try #require(outcome.errors.split(separator: "\n").last { $0.hasPrefix("books: ") })
        #expect(!books.contains("BALANCE") && books.hasSuffix("in flight 0"), "\(books)")
        let emitted = try #require(books.firstMatch(of: /emitted ([0-9]+)/).flatMap { Int($0.1) })
        // There is time for everything, so that nothing is dropped but what no receiver or no keyframe was there for.
        if !options.contains("--fps") { #expect(!books.contains("late") && !books.contains("overload"), "\(books)") }
        // Both senders' pictures are there, in their order.
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
}

/// Somebody else's program.
final class ForeignProgram {
    private let process = Process()
    private let said = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = said
        process.standardError = said
        try process.run()
    }

    deinit { kill() }

    var isRunning: Bool { process.isRunning }

    /// Ends it without its doing.
    func kill() { if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) } }

    /// Waits for its end and gives what it said.
    func textAtEnd() -> String {
        let text = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }
}
