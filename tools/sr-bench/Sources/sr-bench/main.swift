import Enhance
import Glibc
import Kernels
import Media

/// Usage: sr-bench check
///        sr-bench bench kernels [--rounds N] [--kernel NAME]
///        sr-bench bench super-resolution [--rounds N] [--threads N]... [--size WxH]
///        sr-bench bench peak
/// `bench peak` prints the multiplications a nanosecond that one core can do at all, over 0.3 s; the others print the
/// JSON that `burnish bench SUBJECT --json` prints. `check` compares every kernel with its scalar reference, and whole
/// frames of all instruction sets with each other; exit status 1 when anything differs.
func value(_ name: String) -> [String] {
    let words = CommandLine.arguments
    return words.indices.dropLast().filter { words[$0] == "--\(name)" }.map { words[$0 + 1] }
}

func number(_ name: String, _ otherwise: Int) -> Int { value(name).last.flatMap { Int($0) } ?? otherwise }

/// Numbers and names only: nothing in them needs escaping.
func json(_ rows: [[(String, any CustomStringConvertible)]]) -> String {
    let lines = rows.map { row in
        "{" + row.map { "\"\($0)\": " + ($1 is String ? "\"\($1)\"" : "\($1)") }.joined(separator: ", ") + "}"
    }
    return "[\n" + lines.joined(separator: ",\n") + "\n]"
}

func check() throws {
    var comparisons = 0
    for check in KernelChecks.all() { comparisons += try check.verify() }
    let sizes = [(640, 360), (203, 77), (17, 5), (64, 33)].map { PictureSize(width: $0, height: $1) }
    for size in sizes {
        let input = Picture(size: size)
        var random = CheckRandom(seed: UInt64(size.width))
        let luma = unsafe input.mutableView.y
        for y in 0..<size.height { for x in 0..<size.width { unsafe luma.row(y)[x] = random.byte() } }
        for tier in SuperResolutionTier.allCases {
            var first: [UInt8] = []
            for level in CPUFeatures.levels {
                for threads in 1...2 {
                    var configuration = SuperResolutionConfiguration(size: size)
                    configuration.useShippedNetworks()
                    configuration.kernels = Kernels(limit: level)
                    let session = try SuperResolutionSession(
                        configuration, workers: WorkerPool(threadCount: threads))
                    let output = Picture(size: session.outputSize)
                    _ = unsafe try session.process(input.view, into: output.mutableView, tier: tier)
                    let got = unsafe output.view.y
                    let bytes = unsafe (0..<got.height).flatMap { y in
                        unsafe (0..<got.width).map { unsafe got.row(y)[$0] }
                    }
                    if first.isEmpty { first = bytes }
                    guard bytes == first else {
                        print("\(tier.name) \(size) differs for \(level.name) with \(threads) thread(s)")
                        exit(1)
                    }
                    comparisons += 1
                }
            }
        }
    }
    print("\(comparisons) comparisons, all equal; levels: \(CPUFeatures.levels.map(\.name).joined(separator: " "))")
}

func frames() throws {
    var bench = SuperResolutionBench()
    bench.rounds = number("rounds", 15)
    bench.threads = value("threads").compactMap { Int($0) }
    if bench.threads.isEmpty { bench.threads = [1] }
    if let size = value("size").last?.split(separator: "x").compactMap({ Int($0) }), size.count == 2 {
        bench.size = PictureSize(width: size[0], height: size[1])
    }
    print(
        json(
            try bench.run().map {
                [
                    ("tier", $0.tier.name), ("features", $0.features.name), ("threads", $0.threads),
                    ("milliseconds", $0.median.milliseconds), ("least_milliseconds", $0.least.milliseconds),
                    ("multiplications_per_nanosecond", $0.rate), ("share_of_peak", $0.shareOfPeak),
                ]
            }))
}

func kernels() {
    let checks = KernelChecks.all().filter { check in value("kernel").last.map { check.name.contains($0) } ?? true }
    print(
        json(
            KernelBench(checks: checks, rounds: number("rounds", 15)).run().map {
                [
                    ("kernel", $0.kernel), ("features", $0.features.name), ("nanoseconds", $0.nanoseconds),
                    ("rate", $0.rate), ("unit", $0.unit.rawValue), ("speedup", $0.speedup),
                ]
            }))
}

let words = CommandLine.arguments.dropFirst()
if words.first == "check" {
    try check()
} else if words.contains("super-resolution") {
    try frames()
} else if words.contains("kernels") {
    kernels()
} else if words.contains("peak") {
    print(Kernels.best.measurePeak(bursts: 300))
} else {
    print("usage: sr-bench check | sr-bench bench kernels|super-resolution [--rounds N] [--threads N] [--size WxH]")
    exit(64)
}
