import CKernels
import Kernels

extension CheckedKernels {
    static func network() -> [any KernelCheck] {
        [
            NetworkLayerCheck(channels: 8, isLast: false), NetworkLayerCheck(channels: 16, isLast: false),
            NetworkLayerCheck(channels: 32, isLast: false), NetworkLayerCheck(channels: 40, isLast: false),
            NetworkLayerCheck(channels: 8, isLast: true), NetworkLayerCheck(channels: 16, isLast: true),
            NetworkLayerCheck(channels: 32, isLast: true), NetworkLayerCheck(channels: 40, isLast: true),
            NetworkExpandCheck(), NetworkPhasesCheck(isTiled: false), NetworkPhasesCheck(isTiled: true), NetworkCubicCheck(),
            NetworkMergeCheck(),
        ]
    }
}

/// All remainders of the vector sizes and of the blocks of several vectors, and some long rows.
private let widths = (1...70).map { CheckSize($0) } + [79, 80, 81, 97, 129, 255, 640].map { CheckSize($0) }

/// Pixels that a kernel may write beyond the end of a row that has room. They are not compared.
private let margin = Int(BURNISH_NETWORK_MARGIN)

/// A layer between others (planes of bytes) or the last one (rows of 16-bit residuals).
private final class NetworkLayerCheck: KernelCheck {
    private let groups: Int
    private let isLast: Bool
    private var layer: PackedLayer?
    private var input = CheckMemory(width: 1, height: 1)
    private var striped = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    /// Whether an output is in the row's order. Otherwise it is in stripes.
    private var isOrdered = [true, true]
    /// The place in the ring of three rows of the row above the pixel.
    private var place = 0
    /// The step from a row of taps to the next in the ring: −1 where a strip goes up.
    private var direction = 1

    init(channels: Int, isLast: Bool) {
        groups = channels / 4
        self.isLast = isLast
    }

    private var isTiled: Bool { groups >= 4 && !isLast }
    private func family(_ kernels: Kernels) -> burnish_network_kernels {
        groups >= 4 ? kernels.table.tiled_network : kernels.table.network
    }

    var name: String { "network.\(isLast ? "residual" : "layer")\(4 * groups)" }
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .multiplications }
    func work(_ size: CheckSize) -> Double { Double(size.width * 9 * 4 * groups * outputChannels) }
    private var outputChannels: Int { isLast ? 4 : 4 * groups }

    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        isLast
            ? unsafe unsafeBitCast(family(kernels).residual!, to: UnsafeRawPointer.self)
            : unsafe unsafeBitCast(family(kernels).layer!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        place = random.number(in: 0...2)
        direction = random.number(in: 0...1) == 0 ? 1 : -1
        // For random input the weights are like a trained network's, so that the benchmark is realistic. For the other
        // contents, which must find sums that overflow, they have the whole range.
        let reach = content == .random ? 20 : 64
        let multiplier = content == .random ? 3000...32767 : 1...32767
        layer = PackedLayer(
            NetworkFile.Layer(
                inputs: 4 * groups, outputs: outputChannels, shift: random.number(in: 0...7),
                weights: (0..<outputChannels * 36 * groups).map { _ in
                    Int8(random.number(in: -reach...reach - 1))
                },
                bias: (0..<outputChannels).map { _ in Int32(random.number(in: -70000...70000)) },
                multipliers: (0..<outputChannels).map { _ in Int16(random.number(in: multiplier)) }),
            hasOneInput: false, hasTiles: isTiled, buckets: 1)
        input = CheckMemory(width: 4 * (width + 15 + margin), height: 3 * groups)
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        striped = CheckMemory(width: input.width, height: input.height)
        for y in 0..<input.height { unsafe copyIntoStripes(input.row(y), into: striped.row(y), width: width) }
        outputs = (0..<2).map { _ in
            CheckMemory(width: 4 * (width + 15 + margin), height: isLast ? 2 : groups)
        }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        guard let layer else { return }
        let output = outputs[destination]
        let family = family(kernels)
        let isStriped = family.striped
        let input = isStriped ? striped : input
        let neighbour = isStriped ? 64 : 4
        var taps: [UnsafePointer<UInt8>?] = unsafe []
        for dy in 0..<3 {
            let row = (direction * dy + place + 3) % 3
            for group in 0..<groups {
                for dx in 0..<3 { unsafe taps.append(UnsafePointer(input.row(row * groups + group) + neighbour * dx)) }
            }
        }
        var fixed = unsafe layer.fixed(bucket: 0)
        unsafe taps.withUnsafeMutableBufferPointer { taps in
            if isLast {
                unsafe output.row(0).withMemoryRebound(to: Int16.self, capacity: 2 * width) { upper in
                    unsafe output.row(1).withMemoryRebound(to: Int16.self, capacity: 2 * width) { lower in
                        unsafe family.residual(upper, lower, taps.baseAddress, Int32(width), &fixed)
                    }
                }
            } else {
                if let begin = unsafe family.begin { unsafe begin(&fixed) }
                unsafe family.layer(output.row(0), output.stride, taps.baseAddress, Int32(width), &fixed)
                if let end = family.end { end() }
            }
        }
        isOrdered[destination] = isLast || !isStriped
    }

    func difference() -> String? {
        for destination in 0..<2 where !isOrdered[destination] { outputs[destination].removeStripes(width: width) }
        return outputs[0].clearedDifference(from: outputs[1], beyond: 4 * width)
    }
}

private final class NetworkExpandCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var isOrdered = [true, true]

    let name = "network.expand"
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.tiled_network.expand!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        input = CheckMemory(width: width + margin, height: 1)
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 4 * (width + margin), height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe kernels.table.tiled_network.expand(outputs[destination].row(0), input.row(0), Int32(width))
        isOrdered[destination] = !kernels.table.tiled_network.striped
    }

    func difference() -> String? {
        for destination in 0..<2 where !isOrdered[destination] { outputs[destination].removeStripes(width: width) }
        return outputs[0].clearedDifference(from: outputs[1], beyond: 4 * width)
    }
}

private final class NetworkPhasesCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var isOrdered = [true, true]
    /// Whether the kernels are those of networks that suit tiles.
    private let isTiled: Bool

    init(isTiled: Bool) { self.isTiled = isTiled }

    var name: String { isTiled ? "network.phases.tiled" : "network.phases" }
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(4 * size.width) }
    private func family(_ kernels: Kernels) -> burnish_network_kernels {
        isTiled ? kernels.table.tiled_network : kernels.table.network
    }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(family(kernels).phases!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        input = CheckMemory(width: 2 * (width + margin), height: 2)
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 4 * (width + 15 + margin), height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let family = family(kernels)
        unsafe family.phases(outputs[destination].row(0), input.row(0), input.row(1), Int32(width))
        isOrdered[destination] = !family.striped
    }

    func difference() -> String? {
        for destination in 0..<2 where !isOrdered[destination] { outputs[destination].removeStripes(width: width) }
        return outputs[0].clearedDifference(from: outputs[1], beyond: 4 * width)
    }
}

private final class NetworkCubicCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0

    let name = "network.cubic"
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(2 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.network.cubic!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        input = CheckMemory(width: 2 + width + margin, height: 1)
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 4 * (width + margin), height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe outputs[destination].row(0).withMemoryRebound(to: Int16.self, capacity: 2 * width) { out in
            unsafe kernels.table.network.cubic(out, input.row(0) + 2, Int32(width))
        }
    }

    func difference() -> String? { outputs[0].clearedDifference(from: outputs[1], beyond: 4 * width) }
}

private final class NetworkMergeCheck: KernelCheck {
    private var rows: [Int16] = []
    private var outputs: [CheckMemory] = []
    private var width = 0

    let name = "network.merge"
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(1280) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.network.merge!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        // Four rows of the base's horizontal pass, −382…4463, and a residual of any value.
        rows = (0..<5).flatMap { row in
            (0..<width + margin).map { x in
                let byte = Int(content.byte(x: x, y: row, &random))
                return Int16(row < 4 ? byte * 19 - 382 : (byte - 128) * 255)
            }
        }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let weights: [Int16] = [-3, 29, 111, -9]
        let stride = width + margin
        unsafe rows.withUnsafeBufferPointer { samples in
            let base = samples.baseAddress!
            var pointers = unsafe (0..<4).map { unsafe Optional(base + $0 * stride) }
            unsafe kernels.table.network.merge(
                outputs[destination].row(0), &pointers, weights, base + 4 * stride, Int32(width))
        }
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" } }
}
