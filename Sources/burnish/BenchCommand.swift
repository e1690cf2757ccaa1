import ArgumentParser
import Bench
import Codec
import Enhance
import Foundation
import KernelChecks
import Kernels
import Media
import Relay
import Schedule

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures the time of kernels and of their scalar references, of whole frames, or of the scheduler.",
        discussion: """
            Runs every instruction set that this processor has, in turn over many rounds, and prints medians. Times are the \
            thread's processor time, or wall time where several threads share a frame.
            """)

    enum Subject: String, CaseIterable, ExpressibleByArgument {
        case kernels
        case superResolution = "super-resolution"
        case interpolation
        case stopTimes = "stop-times"
        case plan
        case ledger
    }

    @Argument(
        help: """
            What to measure: kernels, super-resolution (whole frames of every tier), interpolation (frames with their \
            flow), stop-times (what a frame gains when its tiles get more time, and by how much the work overruns that \
            time), plan (the scheduler's calls), or ledger (a frame's books, with and without a telemetry map).
            """)
    var subject = Subject.kernels
    @Option(help: "Measure only kernels whose name contains this.") var kernel: String?
    @Option(help: "Input size of whole frames.") var size = SizeArgument(PictureSize(width: 640, height: 360))
    @Option(
        help: "For super-resolution: the size at which frames leave, more than 1.2 times the samples. (default: twice as large)"
    )
    var outputSize: SizeArgument?
    @Option(help: "For interpolation: how many times larger the pictures are than those that motion is found in, 1 or 2.")
    var scale = 1
    @Option(help: "Threads that share a frame. May be given several times.") var threads = [1]
    @Option(help: "How many rounds to measure.") var rounds = 31
    @Option(help: "For stop-times: a video file. Its first 24 pictures are used.") var input: String?
    @Option(help: "For stop-times: neural-s or neural-m.") var tier = TierArgument(.neuralM)
    @Flag(help: "Print the rows as JSON.") var json = false

    private struct Row: Encodable {
        var kernel: String
        var features: String
        var nanoseconds: Double
        var rate: Double
        var unit: String
        var speedup: Double
    }

    private struct MotionRow: Encodable {
        var method: String
        var threads: Int
        var milliseconds: Double
        var leastMilliseconds: Double
        var speedup: Double
        var ceiling: Double
    }

    private struct FrameRow: Encodable {
        var tier: String
        var features: String
        var threads: Int
        var milliseconds: Double
        var leastMilliseconds: Double
        var multiplicationsPerNanosecond: Double
        var shareOfPeak: Double
        var speedup: Double?
    }

    func validate() throws {
        guard subject != .stopTimes || input != nil && tier.value.network != nil else {
            throw ValidationError("stop-times needs --input FILE, and --tier neural-s or neural-m")
        }
        guard (1...10_000).contains(rounds) else { throw ValidationError("--rounds is 1 to 10000, not \(rounds)") }
        guard threads.allSatisfy({ (1...256).contains($0) }) else {
            throw ValidationError("--threads is 1 to 256")
        }
    }

    func run() throws {
        switch subject {
        case .kernels: try timeKernels()
        case .superResolution: try timeFrames()
        case .interpolation: try timeInterpolation()
        case .stopTimes: try timeStops()
        case .plan: try show(PlanBench().run())
        case .ledger: try timeLedger()
        }
    }

    private func timeFrames() throws {
        var bench = SuperResolutionBench()
        bench.size = size.value
        bench.outputSize = outputSize?.value
        bench.threads = threads
        bench.rounds = rounds
        let rows: [FrameRow]
        do throws(EnhanceError) {
            rows = try bench.run().map {
                FrameRow(
                    tier: $0.tier.name, features: $0.features.name, threads: $0.threads,
                    milliseconds: $0.median.milliseconds, leastMilliseconds: $0.least.milliseconds,
                    multiplicationsPerNanosecond: $0.rate, shareOfPeak: $0.shareOfPeak, speedup: $0.speedup)
            }
        } catch {
            StandardError.line("burnish: \(error)")
            throw Failure.badUsage
        }
        try show(rows, under: ["tier", "features", "threads", "ms", "least", "GMAC/s", "of the peak", "speedup"]) {
            [
                $0.tier, $0.features, "\($0.threads)", fixed($0.milliseconds), fixed($0.leastMilliseconds),
                fixed($0.multiplicationsPerNanosecond), fixed($0.shareOfPeak), $0.speedup.map { fixed($0) } ?? "–",
            ]
        }
    }

    private func timeInterpolation() throws {
        var bench = InterpolationBench()
        bench.size = size.value
        bench.scaleFactor = scale
        bench.threads = threads
        bench.rounds = rounds
        let rows: [MotionRow]
        do throws(EnhanceError) {
            rows = try bench.run().map {
                MotionRow(
                    method: $0.subject.rawValue, threads: $0.threads, milliseconds: $0.median.milliseconds,
                    leastMilliseconds: $0.least.milliseconds, speedup: $0.speedup, ceiling: $0.ceiling)
            }
        } catch {
            StandardError.line("burnish: \(error)")
            throw Failure.badUsage
        }
        try show(rows, under: ["method", "threads", "ms", "least", "× \(threads[0]) thread", "machine's × 1"]) {
            [
                $0.method, "\($0.threads)", fixed($0.milliseconds), fixed($0.leastMilliseconds), fixed($0.speedup),
                fixed($0.ceiling),
            ]
        }
    }

    private struct PlanRow: Encodable {
        var subject: String
        var count: Int
        var median, p99, largest: Double
    }

    private func timeLedger() throws {
        guard let rows = LedgerBench().run() else {
            StandardError.line("burnish: there is no shared memory for a telemetry map")
            throw Failure.unavailable
        }
        try show(rows)
    }

    private func show(_ rows: [PlanBench.Row]) throws {
        let rows = rows.map {
            PlanRow(
                subject: $0.subject, count: $0.count, median: Double($0.median.count) / 1000,
                p99: Double($0.p99.count) / 1000, largest: Double($0.largest.count) / 1000)
        }
        try show(rows, under: ["subject", "times", "median µs", "p99", "max"]) {
            [$0.subject, "\($0.count)", fixed($0.median), fixed($0.p99), fixed($0.largest)]
        }
    }

    private struct StopRow: Encodable {
        var threads: Int
        /// nil in the row for all stop times together.
        var stopMilliseconds: Double?
        var share: Double
        /// nil where every picture was complete.
        var psnr: Double?
        var overshootP50, overshootP99, overshootMax: Double
    }

    private func timeStops() throws {
        var rows: [StopRow] = []
        let host = HostShare()
        let pictures: [Picture]
        do throws(CodecError) {
            pictures = try FileReader(path: input!).copyPictures(24)
        } catch {
            throw Failure.exit(error)
        }
        for threads in threads {
            var bench = StopTimeBench(pictures: pictures)
            bench.tier = tier.value.network!
            bench.threads = threads
            bench.rounds = rounds
            do throws(EnhanceError) {
                rows += try bench.run().map {
                    StopRow(
                        threads: threads, stopMilliseconds: $0.stop?.milliseconds, share: $0.share,
                        psnr: $0.psnr.isFinite ? $0.psnr : nil, overshootP50: $0.overshoot.median.milliseconds,
                        overshootP99: $0.overshoot.p99.milliseconds, overshootMax: $0.overshoot.largest.milliseconds)
                }
            } catch {
                StandardError.line("burnish: \(error)")
                throw Failure.badInput
            }
        }
        try show(rows, under: ["threads", "stop ms", "tiles %", "PSNR dB", "overshoot p50 ms", "p99", "max"]) {
            [
                "\($0.threads)", $0.stopMilliseconds.map(fixed) ?? "all", String(format: "%.0f", 100 * $0.share),
                $0.psnr.map(fixed) ?? "∞", fixed($0.overshootP50), fixed($0.overshootP99), fixed($0.overshootMax),
            ]
        }
        if !json { judge(rows, host) }
    }

    /// Prints whether the promises about stop times were kept. On a virtual machine the host has a part in the
    /// overshoot.
    private func judge(_ rows: [StopRow], _ host: HostShare) {
        for threads in threads {
            let stops = rows.filter { $0.threads == threads && $0.stopMilliseconds != nil }
            let falls = zip(stops, stops.dropFirst()).contains { ($1.psnr ?? .infinity) < ($0.psnr ?? .infinity) }
            guard let overshoot = rows.first(where: { $0.threads == threads && $0.stopMilliseconds == nil })?.overshootP99
            else {
                print("no picture in \(input!): nothing was measured")
                continue
            }
            print(
                """
                \(threads) \(threads == 1 ? "thread" : "threads"): mean PSNR \(falls ? "falls: missed" : "never falls: met"); \
                overshoot at most 0.5 ms at p99: \(fixed(overshoot)), \(overshoot <= 0.5 ? "met" : "missed")
                """)
        }
        if let stolen = host.stolen {
            print("meanwhile the host gave \(fixed(100 * stolen)) % of the machine's time to others")
        }
    }

    private func timeKernels() throws {
        let checks = CheckedKernels.all().filter { check in kernel.map { check.name.contains($0) } ?? true }
        guard !checks.isEmpty else {
            throw ValidationError("no kernel's name contains \(kernel ?? ""); run without --kernel to see them")
        }
        let rows = KernelBench(checks: checks, rounds: rounds).run().map {
            Row(
                kernel: $0.kernel, features: $0.features.name, nanoseconds: $0.nanoseconds, rate: $0.rate,
                unit: $0.unit.rawValue, speedup: $0.speedup)
        }
        try show(rows, under: ["kernel", "features", "µs", "per ns", "of", "× scalar"]) {
            [$0.kernel, $0.features, fixed($0.nanoseconds / 1000), fixed($0.rate), $0.unit, fixed($0.speedup)]
        }
    }

    /// Prints the rows as JSON or as a table.
    private func show<R: Encodable>(_ rows: [R], under heading: [String], cells: (R) -> [String]) throws {
        print(json ? try rows.json() : Table.text([heading] + rows.map(cells)))
    }

    private func fixed(_ value: Double) -> String { String(format: "%.2f", value) }
}
