import ArgumentParser
import Foundation
import Glibc
import Media
import Telemetry

struct RecordsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract: "Writes the last frame records of a stream: what happened to each frame, and when.",
        discussion: """
            A telemetry map keeps the last \(TelemetryMap.Reader.recordCapacity) records, 30 seconds at 60 frames a second, \
            also after its worker has died. CSV has a line for each frame with all its time stamps in nanoseconds of the \
            monotonic clock. A Perfetto trace has a track for each stage; open it at https://ui.perfetto.dev.
            """)

    enum Format: String, CaseIterable, ExpressibleByArgument { case csv, perfetto }

    @OptionGroup var telemetry: TelemetryArguments
    @Option(help: "csv or perfetto.") var format = Format.csv
    @Option(help: "The file to write; standard output if not given.") var output: String?
    @Option(help: "Only the frames of the last seconds before the newest one.") var last: TimeArgument?

    func run() throws {
        var files = NamedFiles()
        try files.read(telemetry.map, "the map")
        try files.write(output, "--output")
        if format == .perfetto, output == nil, isatty(STDOUT_FILENO) == 1 {
            StandardError.line("burnish: a Perfetto trace is no text; give --output FILE")
            throw Failure.badUsage
        }
        let (name, reader) = try telemetry.open()
        let (frames, torn) = last.map { reader.records(lastSeconds: $0.value.seconds) } ?? reader.records()
        let bytes: Data
        switch format {
        case .csv: bytes = Data(RecordTable.text(of: frames).utf8)
        case .perfetto:
            let snapshot = reader.snapshot()
            bytes = Data(
                PerfettoTrace.bytes(of: frames, name: name, process: snapshot.process, wallOffset: snapshot.wallOffset))
        }
        do {
            if let output {
                try bytes.write(to: URL(filePath: output))
            } else {
                try FileHandle.standardOutput.write(contentsOf: bytes)
            }
        } catch {
            throw Failure.exit(report: output ?? "standard output", error)
        }
        if torn > 0 { StandardError.line("burnish: \(torn) records were being written, or are damaged; they are left out") }
    }
}
