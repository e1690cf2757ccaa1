import ArgumentParser
import Foundation
import Kernels

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Time the kernels against their scalar references, in one run.",
        discussion: """
            Every kernel at every level that this processor has, in turn over many rounds; times are the thread's own \
            processor time, medians.
            """)

    @Option(help: "Only kernels whose name contains this.") var kernel: String?
    @Option(help: "Rounds.") var rounds = 31
    @Flag(help: "Print the rows as JSON.") var json = false

    private struct Row: Encodable {
        var kernel: String
        var features: String
        var nanoseconds: Double
        var rate: Double
        var unit: String
        var speedup: Double
    }

    func validate() throws {
        guard (1...10_000).contains(rounds) else { throw ValidationError("--rounds is 1 to 10000, not \(rounds)") }
    }

    func run() throws {
        let checks = KernelChecks.all().filter { check in kernel.map { check.name.contains($0) } ?? true }
        guard !checks.isEmpty else {
            throw ValidationError("no kernel is called like \(kernel ?? ""); run without --kernel to see them")
        }
        let rows = KernelBench(checks: checks, rounds: rounds).run().map {
            Row(
                kernel: $0.kernel, features: "\($0.features)", nanoseconds: $0.nanoseconds, rate: $0.rate,
                unit: "\($0.unit)", speedup: $0.speedup)
        }
        if json {
            print(String(decoding: try JSONEncoder.forReports.encode(rows), as: UTF8.self))
            return
        }
        func fixed(_ value: Double) -> String { String(format: "%.2f", value) }
        print(
            ReplayCommand.table(
                [["kernel", "features", "µs", "per ns", "of", "× scalar"]]
                    + rows.map {
                        [
                            $0.kernel, $0.features, fixed($0.nanoseconds / 1000), fixed($0.rate), $0.unit,
                            fixed($0.speedup),
                        ]
                    }))
    }
}
