import Foundation
import Settings
import Testing

/// The program as a user's shell sees it: exit codes of sysexits.h, and one line that says what is wrong.
@Suite(.timeLimit(.minutes(2))) struct CommandTests {
    static let stream = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "GoldenStreams/ffmpeg.ts").path
    private let nonsense = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

    @Test func replayTriesEveryPolicyWithEveryValue() throws {
        let plot = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).svg")
        defer { try? FileManager.default.removeItem(at: plot) }
        let outcome = try Program.run([
            "replay", "--synthetic", "tiny-budget", "--policy", "planner,least", "--sweep", "budget=8,90", "--sweep",
            "tier=base,neural-s", "--plot", plot.path,
        ])
        #expect(outcome.code == 0 && outcome.output.split(separator: "\n").count == 9)
        #expect(outcome.output.contains("least budget=90 tier=neural-s"))
        #expect(try String(contentsOf: plot, encoding: .utf8).hasSuffix("</svg>\n"))
    }

    /// Every setting of a stream is an option under its name, with the help and the default of the table, but for those that need the
    /// service's API.
    @Test func theOptionsAreTheTables() throws {
        let help = try Program.run(["relay", "--help"]).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for key in StreamKeys.all where !StreamKeys.needingAPI.contains(key.name) {
            let isFlag = key.kind == .choice(["true", "false"])
            #expect(help.contains(isFlag ? "--\(key.name) " : "--\(key.name) <\(key.name)> "), "\(key.name)")
            #expect(isFlag || help.contains("Allowed: \(key.allowedTexts). (default: \(key.write(.onCommandLine)))"))
        }
        #expect(StreamValues.onCommandLine != StreamValues() && help.contains("--keep-output "))
    }

    @Test func helpIsNoError() throws {
        let outcome = try Program.run(["--help"])
        #expect(outcome.code == 0 && outcome.output.contains("relay"))
    }

    @Test(arguments: [
        ["relay", "--input", "srt://:0?mode=listener&lattency=20", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "srt://:0?mode=sometimes", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "ftp://127.0.0.1/a", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "rtp://:5004?ttl=2", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "camera.sdp?ttl=2", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "-", "--output", "rtp://127.0.0.1:5004?latency=20"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--scale", "4"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--size", "641x361"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--size", "640x360", "--scale", "2"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--budget", "80"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--caution", "0.9"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--caution", "nan"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "60", "--interpolate", "2"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "0.5"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "600011/10000"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--hold", "2s"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--lookahead", "0"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--lookahead", "0", "--interpolate", "1"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--budget", "2000000h"],
        ["impair", "--listen", "0", "--to", "127.0.0.1:9", "--blackout", "2000000h+2000000h"],
        ["probe", "--input", "-", "--duration", "2000000h", "--warm-up", "2000000h"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "2997002997/100000000"],
        ["relay", "--input", "-"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--bitrate", "2500"],
        ["replay", "--synthetic", "steady", "--sweep", "keep=2"],
        ["replay", "--synthetic", "steady", "--sweep", "caution=0"],
        ["replay", "--synthetic", "steady", "--sweep", "speed=1"],
        ["replay", "--synthetic", "steady", "--policy", "planner,best"],
        ["bench", "stop-times"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--size", "640"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "inf"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "1e30"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "0.0001"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--bitrate", "0.0001k"],
        ["nonsense"],
    ])
    func badUsageIs64(arguments: [String]) throws {
        let outcome = try Program.run(arguments)
        #expect(outcome.reason == .exit && outcome.code == 64)
        #expect(!outcome.errors.isEmpty)
    }

    @Test func badInputIs65WithOneLine() throws {
        let outcome = try Program.run(
            ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--quiet"], input: nonsense)
        #expect(outcome.reason == .exit && outcome.code == 65)
        #expect(outcome.errors.split(separator: "\n").last?.hasPrefix("burnish: ") == true)
    }

    @Test(arguments: [
        ["relay", "--input", "/nowhere/in.ts", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "/tmp", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "/proc/self/mem", "--output", "udp://127.0.0.1:9"],
        ["probe", "--input", "/proc/self/mem"],
        ["relay", "--input", "-", "--output", "/nowhere/out.ts"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--report", "/nowhere/report.json"],
        ["enhance", "--input", "/nowhere/in.mp4", "--output", "-"],
        ["relay", "--input", "-", "--output", "srt://127.0.0.1:9?passphrase=secret-secret"],
    ])
    func whatCannotBeReachedIs69(arguments: [String]) throws {
        let outcome = try Program.run(arguments)
        #expect(outcome.reason == .exit && outcome.code == 69)
        #expect(!outcome.errors.contains("secret"))
    }

    /// The relay prints its report, and the last line says why it has ended.
    @Test func anOutputThatBreaksEndsWithTheBooks() throws {
        let report = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: report) }
        let outcome = try Program.run([
            "relay", "--input", Self.stream, "--output", "/dev/full", "--report", report.path, "--quiet",
        ])
        #expect(outcome.reason == .exit && outcome.code == 69, "\(outcome.errors)")
        #expect(outcome.errors.contains("books: ") && !outcome.errors.contains("NOT BALANCE"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").last?.hasPrefix("burnish: /dev/full: ") == true, "\(outcome.errors)")
        let written = try JSONSerialization.jsonObject(with: Data(contentsOf: report)) as? [String: Any]
        #expect((written?["frames"] as? [String: Any])?["balance"] as? Bool == true)
    }

    @Test(arguments: [
        ["relay", "--input", stream, "--output", "/dev/null", "--report", "/dev/full", "--duration", "1s", "--quiet"],
        ["enhance", "--input", stream, "--output", "/dev/null.y4m", "--report", "/dev/full", "--tier", "base"],
    ])
    func aReportThatIsNotWrittenIsPrinted(arguments: [String]) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let arguments = arguments.map { $0 == "/dev/null.y4m" ? folder.appending(path: "out.y4m").path : $0 }
        let outcome = try Program.run(arguments)
        #expect(outcome.reason == .exit && outcome.code == 69, "\(outcome.errors)")
        #expect(outcome.errors.contains("books: ") || outcome.errors.contains("pictures in, "), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").last?.contains("cannot write the report") == true)
    }

    /// All kinds of names: through links, from standard input, the report too.
    @Test(arguments: [
        ["relay", "--input", "in.ts", "--output", "in.ts"],
        ["relay", "--input", "in.ts", "--output", "link.ts"],
        ["relay", "--input", "hard.ts", "--output", "./in.ts"],
        ["relay", "--input", "-", "--output", "in.ts"],
        ["relay", "--input", "in.ts", "--output", "udp://127.0.0.1:9", "--report", "link.ts"],
        ["relay", "--input", "in.ts", "--output", "udp://127.0.0.1:9", "--trace", "in.ts"],
        ["relay", "--input", "in.ts", "--output", "new.ts", "--trace", "./new.ts"],
        ["relay", "--input", "in.ts", "--output", "new.ts", "--report", "new.ts"],
        ["relay", "--input", "in.ts", "--output", "new.ts", "--trace", "new.csv", "--report", "new.csv"],
        ["enhance", "--input", "in.ts", "--output", "in.ts"],
        ["enhance", "--input", "in.ts", "--output", "new.mp4", "--report", "hard.ts"],
        ["probe", "--input", "in.ts", "--frames", "link.ts"],
        ["replay", "in.ts", "--plot", "hard.ts"],
    ])
    func oneFileForTwoThingsIsRefused(arguments: [String]) throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: UUID().uuidString)
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(at: folder) }
        let input = folder.appending(path: "in.ts")
        try files.copyItem(atPath: Self.stream, toPath: input.path)
        try files.createSymbolicLink(at: folder.appending(path: "link.ts"), withDestinationURL: input)
        try files.linkItem(at: input, to: folder.appending(path: "hard.ts"))
        let outcome = try Program.run(arguments, in: folder, input: input)
        #expect(outcome.reason == .exit && outcome.code == 64, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("same file"), "\(outcome.errors)")
        #expect(files.contentsEqual(atPath: input.path, andPath: Self.stream))
        #expect(try files.contentsOfDirectory(atPath: folder.path).count == 3)
    }

    /// Where standard output is the stream, the JSON goes to standard error.
    @Test(arguments: [
        ["relay", "--input", stream, "--output", "-", "--json", "--quiet"],
        ["enhance", "--input", stream, "--output", "-", "--json", "--quiet", "--tier", "base"],
    ])
    func aStreamOnStandardOutputLeavesTheReportToStandardError(arguments: [String]) throws {
        let outcome = try Program.run(arguments)
        #expect(outcome.code == 0 && !outcome.output.isEmpty)
        let start = try #require(outcome.errors.firstIndex(of: "{"), "\(outcome.errors)")
        let report = try JSONSerialization.jsonObject(with: Data(outcome.errors[start...].utf8)) as? [String: Any]
        #expect(report?["frames"] != nil || report?["pictures_in"] != nil)
    }

    /// A run that cannot begin keeps the report of the run before.
    @Test(arguments: [
        ["--input", "srt://:0?mode=sometimes", "--output", "udp://127.0.0.1:9"],
        ["--input", "/nowhere/in.ts", "--output", "udp://127.0.0.1:9"],
    ])
    func anOldReportIsKept(arguments: [String]) throws {
        let report = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: report) }
        try Data("of yesterday".utf8).write(to: report)
        let outcome = try Program.run(["relay", "--report", report.path] + arguments)
        #expect(outcome.code == 64 || outcome.code == 69)
        #expect(try String(contentsOf: report, encoding: .utf8) == "of yesterday")
    }

    /// Two libsrts in one process crash at exit (docs/design/architecture.md): a run that has used ours must end with
    /// 0.
    @Test(arguments: [SIGINT, SIGTERM])
    func aSignalEndsCleanly(signal: Int32) throws {
        let relay = try Program(["relay", "--input", "srt://127.0.0.1:0?mode=listener", "--output", "udp://127.0.0.1:9"])
        // The first line says that it listens. From then on a signal can end it.
        _ = relay.read(until: "listening")
        let outcome = relay.end(with: signal)
        #expect(outcome.reason == .exit && outcome.code == 0)
        #expect(outcome.errors.contains("books: "))
    }

    /// A full disk and a pipe that cannot be read give one line each, whatever the command reads or writes.
    @Test(arguments: [
        ["testsrc", "--output", "/dev/full", "--duration", "1000s"],
        ["testsrc", "--output", "-", "--duration", "1000s", "--audio", "beep", "--json"],
        ["testsrc", "--raw", "--output", "-", "--duration", "1000s"],
        ["testsrc", "--raw", "--raw-format", "gray", "--output", "-", "--duration", "1000s"],
        ["relay", "--input", stream, "--output", "/dev/full"],
        ["relay", "--input", stream, "--output", "-"],
    ])
    func anOutputThatIsFullIs69(arguments: [String]) throws {
        let outcome = try Program.run(arguments, to: "/dev/full")
        #expect(outcome.reason == .exit && outcome.code == 69, "\(outcome.code) \(outcome.errors)")
        #expect(outcome.complaints.last?.contains("/dev/full") == true || arguments.contains("-"), "\(outcome.errors)")
        if arguments[0] == "testsrc" { #expect(outcome.complaints.count == 1, "\(outcome.errors)") }
    }

    @Test func uncompressedPicturesThatCannotBeReadAre69() throws {
        let outcome = try Program.run(["probe", "--raw", "64x64", "--input", "-"], from: "/", to: "/dev/null")
        #expect(outcome.reason == .exit && outcome.code == 69, "\(outcome.code) \(outcome.errors)")
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("cannot read raw video"), "\(outcome.errors)")
    }

    /// A caller waits for its input without limit.
    @Test(arguments: [["relay", "--output", "udp://127.0.0.1:9"], ["probe"]])
    func aSignalEndsTheWaitForASource(arguments: [String]) throws {
        let peer = try SilentPeer()
        let program = try Program(arguments + ["--input", "srt://127.0.0.1:\(peer.port)"])
        program.awaitSignalHandlers()
        try peer.awaitCall()
        let outcome = program.end(with: SIGINT)
        // (The probe says that it has seen no picture.)
        #expect(outcome.reason == .exit && outcome.code == (arguments == ["probe"] ? 65 : 0), "\(outcome.errors)")
    }

    /// The relay calls an output that does not answer. If it waited until the call fails, it would end with 69.
    @Test(arguments: [
        ["relay", "--input", "srt://127.0.0.1:0?mode=listener"],
        ["testsrc"],
    ])
    func aSignalEndsTheWaitForAPeer(arguments: [String]) throws {
        let peer = try SilentPeer()
        let program = try Program(arguments + ["--output", "srt://127.0.0.1:\(peer.port)"])
        program.awaitSignalHandlers()
        // The call has begun, so it fails three seconds from now at the earliest.
        try peer.awaitCall()
        let outcome = program.end(with: SIGINT)
        #expect(outcome.reason == .exit && outcome.code == 0, "\(outcome.code) \(outcome.errors)")
    }
}

/// A UDP port that never answers.
final class SilentPeer {
    private let number: Int32
    let port: UInt16

    init() throws {
        number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = number
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, size) == 0 && getsockname(number, $0, &size) == 0
            }
        }
        guard isBound else { throw CocoaError(.fileNoSuchFile) }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(number) }

    /// Waits for the first datagram.
    func awaitCall() throws {
        var byte: UInt8 = 0
        guard recv(number, &byte, 1, 0) > 0 else { throw CocoaError(.fileReadUnknown) }
    }
}
