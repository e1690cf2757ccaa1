import CKernels
import Kernels

extension CheckedKernels {
    static func fusion() -> [any KernelCheck] {
        // Every number of vectors of outputs that kernels treat alike, and every shape of the network's layers.
        let layers = [
            (52, 16, 3, 1), (16, 32, 3, 2), (32, 32, 3, 1), (32, 64, 1, 1), (16, 16, 3, 1), (16, 56, 3, 1), (8, 8, 3, 1),
            (24, 24, 3, 2),
        ].map { FusionLayerCheck(inputs: $0.0, outputs: $0.1, kernel: $0.2, step: $0.3) }
        let pairs = [(52, 32), (64, 64), (32, 32), (32, 56), (16, 16), (8, 8), (24, 40)].map {
            FusionPairCheck(inputs: $0.0, outputs: $0.1)
        }
        return layers + pairs + [FusionFeaturesCheck(), FusionRaiseCheck(), FusionChooseCheck()]
    }
}

/// Numbers of 16 bits in rows of bytes.
extension CheckMemory {
    @unsafe fileprivate func numbers(_ y: Int = 0) -> UnsafeMutablePointer<Int16> {
        unsafe UnsafeMutableRawPointer(row(y)).assumingMemoryBound(to: Int16.self)
    }

    /// Fills the payload with numbers.
    fileprivate func fillNumbers(_ value: (_ x: Int) -> Int16) {
        for y in 0..<height { for x in 0..<width / 2 { unsafe numbers(y)[x] = value(x) } }
    }

    /// Makes a share of the numbers zero, in 1/256.
    fileprivate func clearNumbers(share: Int, _ random: inout CheckRandom) {
        for y in 0..<height {
            for x in 0..<width / 2 where Int(random.byte()) < share { unsafe numbers(y)[x] = 0 }
        }
    }
}

extension CheckContent {
    /// A number of up to `bits` bits and a sign.
    fileprivate func number(_ x: Int, bits: Int, _ random: inout CheckRandom) -> Int16 {
        let byte = Int(byte(x: x, y: 0, &random))
        return Int16(((byte << 8 | Int(random.byte())) - 32768) >> (15 - bits))
    }
}

/// A row of a layer. The width is in pixels.
private final class FusionLayerCheck: KernelCheck {
    private let shape: FusionFile.Shape
    private var layer: PackedFusionLayer?
    private var input = CheckMemory(width: 1, height: 1)
    private var added = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var adds = false
    private var positive = false

    init(inputs: Int, outputs: Int, kernel: Int, step: Int) {
        shape = FusionFile.Shape(name: "check", inputs: inputs, outputs: outputs, kernel: kernel, step: step)
    }

    var name: String {
        "fusion.layer\(shape.inputs)_\(shape.outputs)\(shape.kernel == 1 ? "_1x1" : "")\(shape.step == 2 ? "_half" : "")"
    }
    let sizes = (1...14).map { CheckSize($0) } + [CheckSize(35)]
    var benchmarkSize: CheckSize { CheckSize(320) }
    var unit: WorkUnit { .multiplications }
    func work(_ size: CheckSize) -> Double { Double(size.width * shape.outputs * shape.taps) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.fusion.layer!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        (adds, positive) = (random.byte() & 1 == 0, random.byte() & 1 == 0)
        // Sums stay below 2^31, whatever the input is.
        let limit = (1 << 31) * 9 / 10 / (shape.taps * shape.most)
        layer = PackedFusionLayer(
            FusionFile.Layer(
                shape: shape, shift: random.number(in: 0...16),
                weights: (0..<shape.outputs * shape.taps).map { _ in Int16(random.number(in: -limit...limit)) },
                bias: (0..<shape.outputs).map { _ in Int32(random.number(in: -100_000_000...100_000_000)) }))
        input = CheckMemory(
            width: 2 * shape.inputs * (shape.step * (width + Self.room) + 2), height: shape.kernel, misalignment: Int(seed & 30)
        )
        input.fillNumbers { content.number($0, bits: 15, &random) }
        // As few zeros as there are without, many, most.
        input.clearNumbers(share: [0, 0, 200, 240][Int(seed & 3)], &random)
        added = CheckMemory(width: 2 * shape.outputs * (width + Self.room), height: 1)
        added.fillNumbers { content.number($0, bits: 15, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 2 * shape.outputs * (width + Self.room), height: 1) }
    }

    private static let room = Int(BURNISH_FUSION_MARGIN)

    func run(_ kernels: Kernels, into destination: Int) {
        guard let layer else { return }
        unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<Int16>?.self, capacity: shape.kernel) { rows in
            for y in 0..<shape.kernel { unsafe rows[y] = UnsafePointer(input.numbers(y)) }
            var fixed = unsafe layer.fixed
            unsafe kernels.table.fusion.layer(
                outputs[destination].numbers(), rows.baseAddress, adds ? added.numbers() : nil, positive ? 1 : 0, Int32(width),
                &fixed)
        }
    }

    func difference() -> String? { outputs[0].clearedDifference(from: outputs[1], beyond: 2 * shape.outputs * width) }
}

/// Two rows of a layer by tiles, where there is such a kernel, beside the same rows one by one. The width is in pixels.
private final class FusionPairCheck: KernelCheck {
    private let shape: FusionFile.Shape
    private var layer: PackedFusionLayer?
    private var input = CheckMemory(width: 1, height: 1)
    private var added = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private let scratch = CheckMemory(width: Int(BURNISH_FUSION_PAIR_SCRATCH), height: 1)
    private var width = 0
    private var adds = false
    private var positive = false

    init(inputs: Int, outputs: Int) {
        // Features have 13 bits, activations of most pictures too.
        shape = FusionFile.Shape(name: "check", inputs: inputs, outputs: outputs, most: 4081)
    }

    var name: String { "fusion.pair\(shape.inputs)_\(shape.outputs)" }
    let sizes = (1...27).map { CheckSize($0) } + [CheckSize(61)]
    var benchmarkSize: CheckSize { CheckSize(320) }
    var unit: WorkUnit { .multiplications }
    func work(_ size: CheckSize) -> Double { Double(2 * size.width * shape.outputs * shape.taps) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        let fusion = kernels.table.fusion
        return unsafe fusion.pair.map { unsafe unsafeBitCast($0, to: UnsafeRawPointer.self) }
            ?? unsafeBitCast(fusion.layer!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        (adds, positive) = (random.byte() & 1 == 0, random.byte() & 1 == 0)
        // Weights at places are up to nine times as large. Some inputs are too large for sums by tiles.
        let limit = min(Int(Int16.max) / 9, (1 << 29) * 9 / 10 / (shape.taps * shape.most))
        layer = PackedFusionLayer(
            FusionFile.Layer(
                shape: shape, shift: random.number(in: 0...16),
                weights: (0..<shape.outputs * shape.taps).map { _ in Int16(random.number(in: -limit...limit)) },
                bias: (0..<shape.outputs).map { _ in Int32(random.number(in: -10_000_000...10_000_000)) }))
        let bits = random.byte() & 3 == 0 ? 15 : 12
        input = CheckMemory(width: 2 * shape.inputs * (width + Self.room + 2), height: 4, misalignment: Int(seed & 30))
        input.fillNumbers { content.number($0, bits: bits, &random) }
        input.clearNumbers(share: [0, 0, 200, 240][Int(seed & 3)], &random)
        added = CheckMemory(width: 2 * shape.outputs * (width + Self.room), height: 2)
        added.fillNumbers { content.number($0, bits: 15, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 2 * shape.outputs * (width + Self.room), height: 2) }
    }

    private static let room = Int(BURNISH_FUSION_MARGIN)

    func run(_ kernels: Kernels, into destination: Int) {
        guard let layer else { return }
        let fusion = kernels.table.fusion
        var fixed = unsafe layer.fixed
        let flag: Int32 = positive ? 1 : 0
        let out = unsafe [outputs[destination].numbers(0), outputs[destination].numbers(1)] as [UnsafeMutablePointer<Int16>?]
        let rows = unsafe (0..<4).map { unsafe UnsafePointer(input.numbers($0)) as UnsafePointer<Int16>? }
        let plus = unsafe (0..<2).map { unsafe adds ? UnsafePointer(added.numbers($0)) as UnsafePointer<Int16>? : nil }
        if let pair = unsafe fusion.pair {
            unsafe pair(out, rows, plus, flag, Int32(width), &fixed, scratch.row(0))
            return
        }
        for row in 0..<2 {
            unsafe Array(rows[row..<row + 3]).withUnsafeBufferPointer {
                unsafe fusion.layer(out[row], $0.baseAddress, plus[row], flag, Int32(width), &fixed)
            }
        }
    }

    func difference() -> String? { outputs[0].clearedDifference(from: outputs[1], beyond: 2 * shape.outputs * width) }
}

/// Thirteen planes with their margins, the picture that is there last.
private struct FusionPlanes {
    private let planes: [CheckMemory]
    static let margin = Kernels.motionMargin

    /// - Parameter width: of samples. The planes have the rows that two rows of samples need.
    init(width: Int, content: CheckContent, _ random: inout CheckRandom) {
        let first = (0..<8 * (width + 2 * Self.margin)).map { content.byte(x: $0 % 97, y: $0 / 97, &random) }
        // All alike, nearly alike, or not.
        let distance = [0, 3, 255][random.number(in: 0...2)]
        var planes: [CheckMemory] = []
        for _ in 0..<13 {
            let plane = CheckMemory(width: width + 2 * Self.margin, height: 8)
            plane.fill { x, y in
                let byte = Int(first[y * (width + 2 * Self.margin) + x]) + random.number(in: 0...2 * distance) - distance
                return UInt8(min(max(byte, 0), 255))
            }
            planes.append(plane)
        }
        self.planes = planes
    }

    /// Row 0 has three rows above it.
    var raw: burnish_fusion_pictures {
        func plane(_ index: Int) -> burnish_motion_plane {
            unsafe burnish_motion_plane(
                origin: planes[index].row(3) + Self.margin, stride: planes[index].stride,
                width: Int32(planes[index].width - 2 * Self.margin), height: 2)
        }
        var pictures = unsafe burnish_fusion_pictures()
        unsafe withUnsafeMutableBytes(of: &pictures.prediction) { bytes in
            let predictions = unsafe bytes.bindMemory(to: burnish_motion_plane.self)
            for index in 0..<12 { unsafe predictions[index] = plane(index) }
        }
        unsafe pictures.made = plane(12)
        return unsafe pictures
    }
}

/// A row of features. The width is in pixels of 2x2 samples.
private final class FusionFeaturesCheck: KernelCheck {
    private var planes: FusionPlanes?
    private var outputs: [CheckMemory] = []
    private var width = 0

    let name = "fusion.features"
    let sizes = (1...18).map { CheckSize($0) } + [CheckSize(67)]
    var benchmarkSize: CheckSize { CheckSize(320) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(4 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.fusion.features!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        planes = FusionPlanes(width: 2 * width, content: content, &random)
        outputs = (0..<2).map { _ in
            CheckMemory(width: 2 * Int(BURNISH_FUSION_FEATURES) * (width + Int(BURNISH_FUSION_MARGIN)), height: 1)
        }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        guard var raw = unsafe planes?.raw else { return }
        let count = 2 * (2 * width + 32)
        unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: count) { sums in
            unsafe kernels.table.fusion.features(outputs[destination].numbers(), &raw, 0, Int32(width), sums.baseAddress)
        }
    }

    func difference() -> String? {
        outputs[0].clearedDifference(from: outputs[1], beyond: 2 * Int(BURNISH_FUSION_FEATURES) * width)
    }
}

/// The width is in pixels at a quarter of the size.
private final class FusionRaiseCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var channels = 8

    let name = "fusion.raise"
    let sizes = (1...9).map { CheckSize($0) }
    var benchmarkSize: CheckSize { CheckSize(160) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(16 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.fusion.raise!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        channels = 8 * random.number(in: 1...4)
        input = CheckMemory(width: 8 * channels * width, height: 1)
        input.fillNumbers { content.number($0, bits: 15, &random) }
        let first = (0..<4 * channels * width).map { _ in Int16(random.number(in: 0...32767)) }
        outputs = (0..<2).map { _ in
            let memory = CheckMemory(width: 4 * channels * width, height: 2)
            memory.fillNumbers { first[$0] }
            return memory
        }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe kernels.table.fusion.raise(
            outputs[destination].numbers(0), outputs[destination].numbers(1), input.numbers(), Int32(channels), Int32(width))
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "byte \($0.x) of row \($0.y)" } }
}

/// The width is in samples.
private final class FusionChooseCheck: KernelCheck {
    private var planes: FusionPlanes?
    private var choices = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var hasLower = false

    let name = "fusion.choose"
    let sizes = (1...35).map { CheckSize($0) }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(2 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.fusion.choose!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        hasLower = random.byte() & 3 != 0
        planes = FusionPlanes(width: width, content: content, &random)
        // From choices that are nearly alike to such that exclude all others but one.
        let bits = random.number(in: 4...15)
        choices = CheckMemory(width: Int(BURNISH_FUSION_CHOICES) * (width + 8), height: 1)
        choices.fillNumbers { content.number($0, bits: bits, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 2) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        guard var raw = unsafe planes?.raw else { return }
        unsafe kernels.table.fusion.choose(
            outputs[destination].row(0), hasLower ? outputs[destination].row(1) : nil, choices.numbers(), &raw, 0, Int32(width))
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x) of row \($0.y)" } }
}
