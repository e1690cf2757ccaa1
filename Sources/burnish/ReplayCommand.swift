import ArgumentParser
import Foundation
import Media
import Schedule

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run the scheduler alone, over a recorded or a synthetic load, in virtual time.",
        discussion: """
            A trace is what `burnish relay --trace FILE` writes. Synthetic loads: \
            \(Load.named.map(\.name).joined(separator: ", ")).
            """)

    @Argument(help: "A trace file.") var trace: String?
    @Option(help: "A synthetic load instead of a trace, or all.") var synthetic: String?
    @Option(help: "Policies to compare: \(ReplayPolicy.allCases.map(\.rawValue).joined(separator: ", ")).")
    var policy: [ReplayPolicy] = [.planner]
    @Option(help: "The trace's input size.") var size = SizeArgument(PictureSize(width: 640, height: 360))
    @Option(help: "Cores to simulate.") var cores = 2
    @Flag(help: "Print the reports as JSON.") var json = false

    func validate() throws {
        guard (trace == nil) != (synthetic == nil) else {
            throw ValidationError("give either a trace file or --synthetic NAME")
        }
        guard (1...256).contains(cores) else { throw ValidationError("--cores is 1 to 256, not \(cores)") }
    }

    func run() throws {
        let reports = try trace.map(replay) ?? simulate(synthetic!)
        if json {
            print(try reports.json())
        } else {
            print(Table.text([ReplayReport.heads] + reports.map(\.cells)))
        }
    }

    private func simulate(_ name: String) throws -> [ReplayReport] {
        let loads = name == "all" ? Load.named : Load.named.filter { $0.name == name }
        guard !loads.isEmpty else {
            throw ValidationError(
                "no load is called \(name); there are \(Load.named.map(\.name).joined(separator: ", ")) and all")
        }
        return loads.flatMap { load in policy.flatMap { $0.run(load) } }
    }

    private func replay(_ path: String) throws -> [ReplayReport] {
        let records: [TraceRecord]
        do {
            records = try Trace.read(String(contentsOfFile: path, encoding: .utf8))
        } catch {
            StandardError.line("burnish: \(path): \(error)")
            throw Failure.badInput
        }
        var planning = Planner.Configuration(
            input: size.value, output: size.value.scaled(by: 2), interval: .milliseconds(33.3))
        planning.cores = cores
        planning.synthesises = records.contains { $0.asked > 0 }
        return policy.map {
            $0.run(Trace.loads(records), name: path, configuration: planning, order: .beforeOriginal)
        }
    }
}

extension ReplayPolicy: ExpressibleByArgument {}
