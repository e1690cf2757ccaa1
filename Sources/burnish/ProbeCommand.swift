import ArgumentParser
import FoundationEssentials
import Glibc
import Measure
import Media

struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Receives a stream of `burnish testsrc` and measures it by the time codes in its pictures.")

    @Option(help: "What to receive: srt://, udp://, a file, or - for standard input.")
    var input: String

    @Option(help: "How long to measure, once pictures come and the warm-up is over.")
    var duration: TimeArgument?

    @Option(help: "What comes this soon after the first picture counts for nothing.")
    var warmUp = TimeArgument(.seconds(1))

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Option(help: "Read uncompressed pictures of this size from standard input, as another program decoded them.")
    var raw: SizeArgument?

    @Option(help: "Samples of uncompressed pictures: yuv420p or gray.")
    var rawFormat: RawFormat = .yuv420p

    @Option(help: "Also write a line for every picture to this file: arrival, kind, capture time, latency (µs), number.")
    var frames: String?

    func validate() throws {
        guard (raw != nil) == (input == "-") else {
            throw ValidationError("--raw reads from standard input: use it with --input -, and only there")
        }
    }

    func run() throws {
        StopRequest.install()
        var statistics = ProbeStatistics(warmUp: warmUp.value.count / 1000)
        let listing = try frames.map { try FrameListing(path: $0) }
        try RawProbe.run(
            descriptor: STDIN_FILENO, size: raw!.value, format: rawFormat, statistics: &statistics,
            limit: duration.map { $0.value + warmUp.value }, stopped: { StopRequest.isMade },
            each: { listing?.add($0, arrived: $1) })
        let report = statistics.report()
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(report), as: UTF8.self))
        } else {
            print(report)
        }
        guard report.unique > 0 else {
            StandardError.line("probe: no picture with a time code came from \(input): send one with `burnish testsrc`")
            throw ExitCode(65)
        }
    }
}

/// The probe's list of pictures, as CSV.
private final class FrameListing {
    private let file: UnsafeMutablePointer<FILE>

    init(path: String) throws {
        guard let file = fopen(path, "w") else {
            StandardError.line("probe: cannot write \(path): \(String(cString: strerror(errno)))")
            throw ExitCode(73)
        }
        self.file = file
        fputs("arrived_us,kind,captured_us,latency_us,number\n", file)
    }

    deinit { fclose(file) }

    func add(_ reading: TimeCodeReading, arrived: WallTime) {
        switch reading {
        case .code(let code):
            let captured = code.captured
            fputs(
                "\(arrived.microseconds),code,\(captured.microseconds),\(arrived - captured),\(code.number)\n", file)
        case .blended: fputs("\(arrived.microseconds),blended,,,\n", file)
        case .damaged: fputs("\(arrived.microseconds),damaged,,,\n", file)
        case .absent: fputs("\(arrived.microseconds),absent,,,\n", file)
        }
    }
}
