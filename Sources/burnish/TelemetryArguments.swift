import ArgumentParser
import Telemetry

/// Which telemetry map a command reads: a file, or that of a running stream by its name.
struct TelemetryArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A telemetry map: the file of `burnish relay --telemetry`, of a crash report, or /proc/PID/fd/N.", valueName: "map")
    )
    var map: String?
    @Option(help: "The name of a stream of the running service, instead of a file. May be left out when it has only one.")
    var stream: String?

    func validate() throws {
        guard map == nil || stream == nil else { throw ValidationError("give either a map or --stream NAME") }
        if let stream, stream.isEmpty || stream.contains("/") {
            throw ValidationError("--stream: \"\(stream)\" is no stream's name")
        }
    }

    /// Opens the map.
    /// - Returns: also the name to show.
    /// - Throws: after one line on standard error, an exit code.
    func open() throws -> (name: String, reader: TelemetryMap.Reader) {
        if let map { return (map, try open(path: map)) }
        let (name, path) = try place()
        return (name, try open(path: path))
    }

    private func open(path: String) throws -> TelemetryMap.Reader {
        do throws(TelemetryMapError) {
            return try TelemetryMap.Reader(path: path)
        } catch {
            StandardError.line("burnish: \(error)")
            throw error.kind == .inaccessible ? Failure.unavailable : Failure.badInput
        }
    }

    /// The link of the named stream, or of the only one.
    private func place() throws -> (name: String, path: String) {
        let folders = TelemetryMap.Place.folders()
        let found = folders.flatMap { folder in
            TelemetryMap.Place.streams(in: folder).map { ($0, TelemetryMap.Place.link(to: $0, in: folder)) }
        }
        let fitting = stream.map { name in found.filter { $0.0 == name } } ?? found
        if let first = fitting.first, stream != nil || fitting.count == 1 { return first }
        let names = found.map(\.0).joined(separator: ", ")
        if let stream {
            StandardError.line(
                "burnish: no stream \(stream) runs; "
                    + (found.isEmpty ? "there is none in \(folders.joined(separator: " or "))" : "there are \(names)"))
        } else if found.isEmpty {
            StandardError.line(
                "burnish: no stream runs for this user (nothing in \(folders.joined(separator: " or "))); give a map's file")
        } else {
            StandardError.line("burnish: several streams run; give --stream NAME: \(names)")
        }
        throw Failure.unavailable
    }
}
