import ArgumentParser
import Foundation
import Glibc
import Media
import Telemetry

struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows a running stream: where its milliseconds go, what is dropped and why, both connections.",
        discussion: """
            Reads the stream's telemetry map, so it costs the stream nothing. Press q to end. When standard output is no \
            terminal, one block of text is printed.
            """)

    @OptionGroup var telemetry: TelemetryArguments
    @Option(help: "Time between two pictures of the stream.") var interval = TimeArgument(.milliseconds(500.0))
    @Flag(help: "Print one block of text, after one interval, and end.") var once = false
    @Flag(help: "Print the figures as JSON, after one interval, and end.") var json = false

    func validate() throws {
        guard (.milliseconds(50.0)...Nanoseconds.seconds(60)).contains(interval.value) else {
            throw ValidationError("--interval is 50 ms to 60 s")
        }
    }

    func run() throws {
        let (name, reader) = try telemetry.open()
        StopRequest.install()
        if json || once || isatty(STDOUT_FILENO) != 1 {
            let former = reader.snapshot()
            Terminal.pause(until: .now() + interval.value)
            let figures = Self.figures(name, reader, former: former)
            let screen = TopScreen(width: 120, height: .max)
            print(json ? try figures.json() : screen.lines(figures).joined(separator: "\n"))
        } else {
            show(name, reader)
        }
    }

    private func show(_ name: String, _ reader: TelemetryMap.Reader) {
        let terminal = Terminal()
        terminal.enter()
        defer { terminal.leave() }
        // Figures of two seconds ago, so that rates do not jump.
        var earlier: [StreamSnapshot] = []
        let kept = max(1, Int((Nanoseconds.seconds(2).seconds / interval.value.seconds).rounded()))
        while !StopRequest.isMade {
            let figures = Self.figures(name, reader, former: earlier.first, keeping: &earlier, kept)
            let size = terminal.size
            terminal.show(TopScreen(width: size.width, height: size.height, isStyled: true).lines(figures))
            if terminal.isEndRequested(until: .now() + interval.value) { return }
        }
    }

    private static func figures(
        _ name: String, _ reader: TelemetryMap.Reader, former: StreamSnapshot?, keeping earlier: inout [StreamSnapshot],
        _ kept: Int
    ) -> TopFigures {
        let snapshot = reader.snapshot()
        earlier.append(snapshot)
        if earlier.count > kept { earlier.removeFirst() }
        return figures(name, reader, snapshot, former: former)
    }

    private static func figures(_ name: String, _ reader: TelemetryMap.Reader, former: StreamSnapshot) -> TopFigures {
        figures(name, reader, reader.snapshot(), former: former)
    }

    private static func figures(
        _ name: String, _ reader: TelemetryMap.Reader, _ snapshot: StreamSnapshot, former: StreamSnapshot?
    ) -> TopFigures {
        let (frames, torn) = reader.records()
        return TopFigures(stream: name, snapshot, former: former, frames: frames, torn: torn, now: .now())
    }
}
