import ArgumentParser
import Codec
import Endpoint
import Foundation
import Glibc
import Measure
import Media
import Transport

struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Receives a stream of `burnish testsrc` and measures it by the time codes in its pictures.")

    @Option(help: "What to receive: srt://, rtp://, udp://, a file, or - for standard input.")
    var input: String

    @Option(help: "How long to measure after the warm-up. Without it, the probe measures until the stream ends.")
    var duration: TimeArgument?

    @Option(help: "How long after the first picture the measurement begins.")
    var warmUp = TimeArgument(.seconds(1))

    @Option(name: [.customLong("timeout"), .customLong("patience")], help: "End when no picture has come for this long.")
    var timeout = TimeArgument(.seconds(15))

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Option(help: "Read uncompressed pictures of this size from standard input, from another program's decoder.")
    var raw: SizeArgument?

    @Option(help: "Samples of uncompressed pictures: yuv420p or gray.")
    var rawFormat = RawFormat.yuv420p

    @Option(
        help: "Also write a line for every picture to this file: arrival, kind, capture time, latency (µs), number, mean luma.")
    var frames: String?

    func validate() throws {
        guard raw == nil || input == "-" else { throw ValidationError("--raw reads standard input: use --input -") }
    }

    func run() throws {
        let url = try Failure.checked { () throws(TransportError) in try StreamURL.ofTransportStream(input) }
        var files = NamedFiles()
        try files.read(url.path, "--input")
        try files.write(frames, "--frames")
        StopRequest.install()
        let statistics = ProbeStatistics(warmUp: warmUp.value.count / 1000)
        let limit = duration.map { $0.value + warmUp.value }
        let listing = try frames.map { try FrameListing(path: $0) }
        if let size = raw?.value {
            var statistics = statistics
            do throws(RawVideoError) {
                try RawProbe.run(
                    descriptor: STDIN_FILENO, size: size, format: rawFormat, statistics: &statistics, limit: limit,
                    stopped: { StopRequest.isMade }, each: { listing?.add($0) })
            } catch {
                throw Failure.exit(error)
            }
            try show(statistics.report())
        } else {
            let source = try Failure.checked { () throws(TransportError) in try Source(url) }
            try receive(from: source, statistics, limit: limit, listing: listing)
        }
    }

    private func receive(
        from source: Source, _ statistics: ProbeStatistics, limit: Nanoseconds?, listing: FrameListing?
    ) throws {
        let probe: LiveProbe
        let report: ProbeReport
        do throws(CodecError) {
            probe = try LiveProbe(
                source, statistics: statistics, event: { StandardError.line("burnish: \($0)") },
                each: { listing?.add($0) })
            report = try probe.run(limit: limit, pictureTimeout: timeout.value, stopped: { StopRequest.isMade })
        } catch {
            StandardError.line("burnish: \(error)")
            throw Failure.internalError
        }
        if report.received == 0 {
            if let failure = probe.inputFailure ?? source.failureBeforeFirstConnection {
                throw Failure.exit(failure)
            }
            StandardError.line("burnish: \(input): no picture came (\(probe.diagnosis))")
            throw Failure.badInput
        }
        try show(report)
        if let failure = probe.inputFailure { throw Failure.exit(failure) }
    }

    private func show(_ report: ProbeReport) throws {
        print(json ? try report.json() : report.description)
        guard report.unique > 0 else {
            StandardError.line("burnish: no picture of \(input) has a time code: send one with `burnish testsrc`")
            throw Failure.badInput
        }
    }
}

/// The probe's list of pictures, as CSV.
private final class FrameListing {
    private let file: FileHandle
    private var lines = "arrived_us,kind,captured_us,latency_us,number,luma\n"

    init(path: String) throws {
        do {
            try Data().write(to: URL(filePath: path))
            file = try FileHandle(forWritingTo: URL(filePath: path))
        } catch {
            StandardError.line("burnish: cannot write \(path): \(error.localizedDescription)")
            throw Failure.unavailable
        }
    }

    deinit { flush() }

    func add(_ picture: ProbedPicture) {
        let arrived = picture.arrived
        lines += "\(arrived.microseconds),"
        switch picture.reading {
        case .code(let code):
            let captured = code.captured
            lines += "code,\(captured.microseconds),\(arrived - captured),\(code.number)"
        case .blended: lines += "blended,,,"
        case .damaged: lines += "damaged,,,"
        case .absent: lines += "absent,,,"
        }
        lines += ",\((picture.level * 10).rounded() / 10)\n"
        // Write rarely, because writing must not disturb the measurement.
        if lines.utf8.count >= 65_536 { flush() }
    }

    private func flush() {
        try? file.write(contentsOf: Data(lines.utf8))
        lines = ""
    }
}
