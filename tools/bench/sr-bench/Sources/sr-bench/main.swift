import Bench
import CAffinity
import Enhance
import EnhanceNetworks
import Glibc
import KernelChecks
import Kernels
import Media

/// Usage: sr-bench check
///        sr-bench bench kernels [--rounds N] [--kernel NAME]
///        sr-bench bench super-resolution [--rounds N] [--threads N]... [--size WxH]
///        sr-bench bench scaling --core A --core B [--rounds N] [--size WxH]
///        sr-bench bench peak
/// `bench scaling` gives a frame to one thread on core A, to one on core B and to both, in turns. `speedup` is how many
/// times as fast as A alone both are; `even_speedup` is twice the time that both would take if all of either went into the
/// frame, over the time that they take: what the speedup is where cores are equally quick. Medians over the rounds.
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
    for check in CheckedKernels.all() { comparisons += try check.verify() }
    let sizes = [(640, 360), (203, 77), (17, 5), (64, 33)].map { PictureSize(width: $0, height: $1) }
    for size in sizes {
        let input = noise(size, seed: UInt64(size.width))
        for tier in SuperResolutionTier.live {
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
    bench.size = chosenSize()
    print(
        json(
            try bench.run().map {
                [
                    ("tier", $0.tier.name), ("features", $0.features.name), ("threads", $0.threads),
                    ("milliseconds", $0.median.milliseconds), ("least_milliseconds", $0.least.milliseconds),
                    ("multiplications_per_nanosecond", $0.rate), ("share_of_peak", $0.shareOfPeak),
                    ("speedup", $0.speedup ?? 0),
                ]
            }))
}

func pin(_ core: Int) {
    if pin_to_core(Int32(core)) != 0 {
        print("this process may not run on core \(core)")
        exit(69)
    }
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

func scaling() throws {
    let cores = value("core").compactMap { Int($0) }
    let rounds = number("rounds", 40)
    guard cores.count == 2, rounds > 0 else {
        print("bench scaling wants --core A --core B and at least one round")
        exit(64)
    }
    let (first, second) = (cores[0], cores[1])
    let size = chosenSize()
    // A thread keeps the core that its maker had.
    pin(second)
    let (pair, single) = (WorkerPool(threadCount: 2), WorkerPool(threadCount: 1))
    pin(first)
    let pictures = (1...2).map { noise(size, seed: UInt64($0)) }
    let output = Picture(size: size.scaled(by: 2))

    /// Of the second of two frames: the first one brings everything into the caches.
    func time(_ session: SuperResolutionSession, _ tier: SuperResolutionTier, on core: Int) throws -> Double {
        pin(core)
        var start = MonotonicTime.now()
        for picture in pictures {
            start = .now()
            _ = unsafe try session.process(picture.view, into: output.mutableView, tier: tier)
        }
        return (MonotonicTime.now() - start).milliseconds
    }

    var rows: [[(String, any CustomStringConvertible)]] = []
    for level in CPUFeatures.levels.dropFirst() {
        for tier in SuperResolutionTier.live where tier != .base {
            var configuration = SuperResolutionConfiguration(size: size)
            configuration.useShippedNetworks()
            configuration.kernels = Kernels(limit: level)
            let alone = try SuperResolutionSession(configuration, workers: single)
            let both = try SuperResolutionSession(configuration, workers: pair)
            var times: [(first: Double, second: Double, both: Double)] = []
            for _ in 0..<rounds {
                times.append(
                    (try time(alone, tier, on: first), try time(alone, tier, on: second), try time(both, tier, on: first)))
            }
            rows.append([
                ("tier", tier.name), ("features", level.name), ("first", median(times.map(\.first))),
                ("second", median(times.map(\.second))), ("both", median(times.map(\.both))),
                ("speedup", median(times.map { $0.first / $0.both })),
                ("even_speedup", median(times.map { 2 / (1 / $0.first + 1 / $0.second) / $0.both })),
            ])
        }
    }
    print(json(rows))
}

func noise(_ size: PictureSize, seed: UInt64) -> Picture {
    let picture = Picture(size: size)
    var random = CheckRandom(seed: seed)
    let luma = unsafe picture.mutableView.y
    for y in 0..<size.height { for x in 0..<size.width { unsafe luma.row(y)[x] = random.byte() } }
    return picture
}

func chosenSize() -> PictureSize {
    let words = value("size").last?.split(separator: "x").compactMap { Int($0) } ?? []
    return words.count == 2 ? PictureSize(width: words[0], height: words[1]) : PictureSize(width: 640, height: 360)
}

func kernels() {
    let checks = CheckedKernels.all().filter { check in value("kernel").last.map { check.name.contains($0) } ?? true }
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
} else if words.contains("scaling") {
    try scaling()
} else if words.contains("kernels") {
    kernels()
} else if words.contains("peak") {
    print(Kernels.best.measurePeak(bursts: 300))
} else {
    print(
        "usage: sr-bench check | sr-bench bench kernels|super-resolution|scaling|peak [--rounds N] [--threads N] [--size WxH]")
    exit(64)
}
