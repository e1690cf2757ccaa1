import ArgumentParser
import Foundation
import Media
import Relay
import Schedule
import Settings
import Simulation
import Telemetry

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Runs the scheduler alone, on a recorded or a synthetic load, in virtual time.",
        discussion: """
            `burnish relay --trace FILE` writes a trace. Synthetic loads: \
            \(Load.named.map(\.name).joined(separator: ", ")).

            Every policy runs with every combination of the values of --sweep: --policy planner,least --sweep budget=60,80 \
            --sweep keep=0.9,0.95 makes eight rows.
            """)

    @Argument(help: "A trace file.") var trace: String?
    @Option(help: "Name of a synthetic load to use instead of a trace, or all.") var synthetic: String?
    @Option(help: "Policies to compare, separated by commas: \(ReplayPolicy.allCases.map(\.rawValue).joined(separator: ", ")).")
    var policy = PolicyList(policies: [.planner])
    @Option(
        help: ArgumentHelp(
            """
            Values to try, KEY=A,B,…: \(SweepKey.allCases.map(\.rawValue).joined(separator: ", ")) (budget and dwell in \
            ms; budget is the time from a frame's origin to its deadline, including the recovery window). May be given several times.
            """, valueName: "key=a,b"))
    var sweep: [SweepArgument] = []
    @Option(help: "The trace's input size.") var size = SizeArgument(PictureSize(width: 640, height: 360))
    @Option(help: "Cores to simulate.") var cores = 2
    @Option(help: "Draw latency, tiles and rung over time to this file, as SVG: as recorded, or as simulated.")
    var plot: String?
    @Option(help: "The plot's title.") var title: String?
    @Option(help: "The budget to show in the plot.") var budget = TimeArgument(.milliseconds(80))
    @Option(help: "Seconds to shade in the plot: FROM-TO.") var shade: ShadeArgument?
    @Flag(help: "Print the reports as JSON.") var json = false

    func validate() throws {
        guard (trace == nil) != (synthetic == nil) else {
            throw ValidationError("give either a trace file or --synthetic NAME")
        }
        guard (1...256).contains(cores) else { throw ValidationError("--cores is 1 to 256, not \(cores)") }
    }

    func run() throws {
        var files = NamedFiles()
        try files.read(trace, "the trace")
        try files.write(plot, "--plot")
        let reports = try trace.map(replay) ?? simulate(synthetic!)
        if json {
            print(try reports.json())
        } else {
            print(Table.text([ReplayReport.heads] + reports.map(\.cells)))
        }
    }

    /// Every combination of the values of --sweep; one empty point without it.
    private var points: [SweepPoint] {
        sweep.reduce([SweepPoint()]) { points, sweep in
            points.flatMap { point in sweep.values.compactMap { point.with(sweep.key, Substring($0)) } }
        }
    }

    private func simulate(_ name: String) throws -> [ReplayReport] {
        let loads = name == "all" ? Load.named : Load.named.filter { $0.name == name }
        guard !loads.isEmpty else {
            throw ValidationError(
                "no load is called \(name); there are \(Load.named.map(\.name).joined(separator: ", ")) and all")
        }
        if plot != nil {
            let outcomes = policy.policies[0].outcomes(loads[0], points[0], timeline: true)
            try draw(outcomes[0].timeline, loads[0].name)
        }
        return loads.flatMap { load in
            points.flatMap { point in policy.policies.flatMap { $0.run(load, point) } }
        }
    }

    private func replay(_ path: String) throws -> [ReplayReport] {
        let records: [TraceRecord]
        do {
            records = try Trace.read(String(contentsOfFile: path, encoding: .utf8))
        } catch {
            StandardError.line("burnish: \(path): \(error)")
            throw Failure.badInput
        }
        if plot != nil { try draw(Trace.timeline(records), path) }
        var planning = Planner.Configuration(
            input: size.value, output: size.value.scaled(by: 2), interval: .milliseconds(33.3))
        planning.cores = cores
        planning.encoders = StreamOptions().encodeThreads
        planning.synthesises = records.contains { $0.asked > 0 }
        let order = Trace.order(records)
        return points.flatMap { point in
            policy.policies.map {
                $0.run(records, name: path, configuration: planning, order: order, point)
            }
        }
    }

    private func draw(_ timeline: [TimelinePoint], _ name: String) throws {
        let rungs = 1 + (timeline.map(\.rung).max() ?? 0)
        let svg = TimelinePlot.svg(
            title: title ?? name, timeline, budget: budget.value, rungs: rungs, shaded: shade.map { [$0.range] } ?? [])
        do {
            try Data(svg.utf8).write(to: URL(filePath: plot!))
        } catch {
            throw Failure.exit(report: plot!, error)
        }
    }
}

/// `planner,least`.
struct PolicyList: ExpressibleByArgument {
    var policies: [ReplayPolicy]

    init(policies: [ReplayPolicy]) { self.policies = policies }

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        policies = names.compactMap { ReplayPolicy(rawValue: String($0)) }
        if policies.count != names.count { return nil }
    }

    var defaultValueDescription: String { policies.map(\.rawValue).joined(separator: ",") }
    static var allValueStrings: [String] { ReplayPolicy.allCases.map(\.rawValue) }
}

/// `keep=0.9,0.95`.
struct SweepArgument: ExpressibleByArgument {
    var key: SweepKey
    var values: [String]

    init?(argument: String) {
        let sides = argument.split(separator: "=", omittingEmptySubsequences: false)
        guard sides.count == 2, let key = SweepKey(rawValue: String(sides[0])) else { return nil }
        let values = sides[1].split(separator: ",", omittingEmptySubsequences: false)
        guard values.allSatisfy({ SweepPoint().with(key, $0) != nil }) else { return nil }
        self.key = key
        self.values = values.map(String.init)
    }
}

/// `20-40`.
struct ShadeArgument: ExpressibleByArgument {
    var range: ClosedRange<Double>

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false).map { Double($0) }
        guard ends.count == 2, let from = ends[0], let to = ends[1], from <= to else { return nil }
        range = from...to
    }
}
