import CKernels
import Kernels

extension CheckedKernels {
    static func motion() -> [any KernelCheck] {
        [
            HalveCheck(), MixCheck(), AddWeightedCheck(), MeanCheck(), PatchCheck(), MatchCheck(), DifferCheck(),
            PredictCheck(isOfEach: false),
            PredictCheck(isOfEach: true), BlendCheck(count: 1),
            BlendCheck(count: 2), BlendCheck(count: 5), BlendCheck(count: 16),
        ]
    }
}

/// All remainders of the vector sizes, and two long rows.
private let widths = (1...70).map { CheckSize($0) } + [CheckSize(255), CheckSize(640)]

/// The inputs and the two destinations of a motion check.
private class MotionCheck: KernelCheck {
    let name: String
    let sizes: [CheckSize]
    let benchmarkSize: CheckSize
    var unit: WorkUnit { .samples }
    var inputs: [CheckMemory] = []
    var outputs: [CheckMemory] = []
    var size = CheckSize(1)
    var random = CheckRandom(seed: 1)

    init(_ name: String, sizes: [CheckSize], benchmarkSize: CheckSize) {
        self.name = "motion.\(name)"
        self.sizes = sizes
        self.benchmarkSize = benchmarkSize
    }

    func work(_ size: CheckSize) -> Double { Double(size.width * size.height) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer { fatalError("each check names its function") }
    func run(_ kernels: Kernels, into destination: Int) { fatalError("each check calls its function") }

    /// Payload sizes of the inputs, and of the output in bytes.
    func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) { ([size], size) }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        self.size = size
        random = CheckRandom(seed: seed)
        let shapes = shapes(size)
        inputs = shapes.inputs.map { shape in
            let memory = CheckMemory(width: shape.width, height: shape.height, misalignment: Int(seed % 64))
            memory.fill { x, y in content.byte(x: x, y: y, &random) }
            return memory
        }
        let outputRandom = random
        outputs = (0..<2).map { _ in
            var same = outputRandom
            let memory = CheckMemory(width: shapes.output.width, height: shapes.output.height)
            memory.fill { _, _ in same.byte() }
            return memory
        }
    }

    func difference() -> String? {
        outputs[0].firstDifference(from: outputs[1]).map { "byte \($0.x) of row \($0.y)" }
    }

    /// Fractions of a sample, from the seed, including both ends.
    func fraction() -> Int32 { Int32([0, 63, random.number(in: 0...63)][random.number(in: 0...2)]) }
}

private final class HalveCheck: MotionCheck {
    init() { super.init("halve", sizes: widths, benchmarkSize: CheckSize(640)) }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(2 * size.width, 2)], size)
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.halve!, to: UnsafeRawPointer.self)
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe kernels.table.motion.halve(
            outputs[destination].row(0), inputs[0].row(0), inputs[0].row(1), Int32(size.width))
    }
}

private final class MixCheck: MotionCheck {
    init() { super.init("mix", sizes: widths, benchmarkSize: CheckSize(640)) }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(size.width, 2)], size)
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.mix!, to: UnsafeRawPointer.self)
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe kernels.table.motion.mix(
            outputs[destination].row(0), inputs[0].row(0), inputs[0].row(1), Int32(size.width))
    }
}

private final class AddWeightedCheck: MotionCheck {
    private var weight: Int32 = 0
    init() { super.init("add_weighted", sizes: widths, benchmarkSize: CheckSize(640)) }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([size], CheckSize(2 * size.width))
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.add_weighted!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        weight = Int32([1, 256, random.number(in: 1...256)][random.number(in: 0...2)])
        // No sum overflows: what is there has the rest of the weight.
        for destination in outputs {
            destination.fill { x, y in
                let most = (256 - Int(weight)) * 255
                return UInt8(x % 2 == 0 ? most & 255 : most >> 8)
            }
        }
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe outputs[destination].row(0).withMemoryRebound(to: UInt16.self, capacity: size.width) {
            unsafe kernels.table.motion.add_weighted($0, inputs[0].row(0), weight, Int32(size.width))
        }
    }
}

private final class MeanCheck: MotionCheck {
    init() { super.init("mean", sizes: widths, benchmarkSize: CheckSize(640)) }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(2 * size.width)], size)
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.mean!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        // Sums are numbers of two bytes. The largest is 256 · 255.
        inputs[0] = CheckMemory(width: 2 * size.width, height: 1, misalignment: 2 * Int(seed % 32))
        inputs[0].fill { x, _ in x % 2 == 0 ? random.byte() : min(content.byte(x: x, y: 0, &random), 254) }
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe inputs[0].row(0).withMemoryRebound(to: UInt16.self, capacity: size.width) {
            unsafe kernels.table.motion.mean(outputs[destination].row(0), $0, Int32(size.width))
        }
    }
}

private final class PatchCheck: MotionCheck {
    init() { super.init("patch", sizes: [CheckSize(8, 8)], benchmarkSize: CheckSize(8, 8)) }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(32, 12)], CheckSize(MemoryLayout<burnish_motion_patch>.size))
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.patch!, to: UnsafeRawPointer.self)
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe outputs[destination].row(0).withMemoryRebound(to: burnish_motion_patch.self, capacity: 1) {
            unsafe kernels.table.motion.patch($0, inputs[0].row(1) + 1, inputs[0].stride)
        }
    }
}

private final class MatchCheck: MotionCheck {
    private var patch = burnish_motion_patch()
    private var x: Int32 = 0
    private var y: Int32 = 0
    init() {
        super.init("match", sizes: Array(repeating: CheckSize(8, 8), count: 20), benchmarkSize: CheckSize(8, 8))
    }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(32, 12), CheckSize(32, 12)], CheckSize(MemoryLayout<burnish_motion_match>.size))
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.match!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        // A patch that is the opposite of the place gives the largest sums.
        if seed % 2 == 0 { inputs[1].fill { x, y in unsafe 255 - inputs[0].row(y)[x] } }
        unsafe Kernels(limit: []).table.motion.patch(&patch, inputs[1].row(1) + 1, inputs[1].stride)
        (x, y) = (fraction(), fraction())
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe outputs[destination].row(0).withMemoryRebound(to: burnish_motion_match.self, capacity: 1) {
            unsafe kernels.table.motion.match($0, &patch, inputs[0].row(1) + 1, inputs[0].stride, x, y)
        }
    }
}

private final class DifferCheck: MotionCheck {
    private var fractions: [Int32] = []
    init() {
        super.init("differ", sizes: Array(repeating: CheckSize(8, 8), count: 20), benchmarkSize: CheckSize(8, 8))
    }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(32, 12), CheckSize(40, 12)], CheckSize(4))
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.differ!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        if seed % 2 == 0 { inputs[1].fill { x, y in x < 32 ? unsafe 255 - inputs[0].row(y)[x] : 0 } }
        fractions = (0..<4).map { _ in fraction() }
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        let sum = unsafe kernels.table.motion.differ(
            inputs[0].row(0), inputs[0].stride, fractions[0], fractions[1], inputs[1].row(0), inputs[1].stride,
            fractions[2], fractions[3])
        unsafe UnsafeMutableRawPointer(outputs[destination].row(0)).storeBytes(of: sum, as: Int32.self)
    }
}

private final class PredictCheck: MotionCheck {
    private var block = burnish_motion_block()
    private let isOfEach: Bool
    init(isOfEach: Bool) {
        self.isOfEach = isOfEach
        super.init(
            isOfEach ? "predict_each" : "predict", sizes: (1...32).map { CheckSize(8, $0) }, benchmarkSize: CheckSize(8, 16))
    }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) {
        ([CheckSize(32, size.height + 3), CheckSize(40, size.height + 3)], CheckSize(16 * size.height, 2))
    }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe isOfEach
            ? unsafeBitCast(kernels.table.motion.predict_each!, to: UnsafeRawPointer.self)
            : unsafeBitCast(kernels.table.motion.predict!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        // The taps half-way between samples have the largest overshoot.
        let taps: (Int8, Int8, Int8, Int8) =
            seed % 3 == 0 ? (-4, 36, 36, -4) : seed % 3 == 1 ? (0, 64, 0, 0) : (-2, 55, 13, -2)
        block.horizontal = (taps, (taps.3, taps.2, taps.1, taps.0))
        let each: Int16 = isOfEach ? 2 : 1
        block.vertical = (
            (-512 * each, 4608 * each, 4608 * each, -512 * each), (-300 * each, 2000 * each, 7000 * each, -508 * each)
        )
        block.stride = (inputs[0].stride, inputs[1].stride)
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        unsafe block.at = unsafe (UnsafePointer(inputs[0].row(0)), UnsafePointer(inputs[1].row(0)))
        func output(_ row: Int) -> UnsafeMutablePointer<Int16> {
            unsafe UnsafeMutableRawPointer(outputs[destination].row(row)).assumingMemoryBound(to: Int16.self)
        }
        if isOfEach {
            unsafe kernels.table.motion.predict_each(output(0), output(1), &block, Int32(size.height))
        } else {
            unsafe kernels.table.motion.predict(output(0), &block, Int32(size.height))
        }
    }
}

private final class BlendCheck: MotionCheck {
    private let count: Int
    private var predictions: [Int16] = []
    private var windows: [burnish_motion_window] = []
    init(count: Int) {
        self.count = count
        super.init(
            "blend\(count)", sizes: (1...8).flatMap { w in [1, 3, 16, 32].map { CheckSize(w, $0) } },
            benchmarkSize: CheckSize(8, 16))
    }
    override func shapes(_ size: CheckSize) -> (inputs: [CheckSize], output: CheckSize) { ([], size) }
    override func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.motion.blend!, to: UnsafeRawPointer.self)
    }
    override func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        super.prepare(size, content: content, seed: seed)
        let samples = 8 * size.height
        // The range of a prediction: 5 fractional bits and some overshoot.
        predictions = (0..<count * samples).map { Int16(content.byte(x: $0 % 8, y: $0 / 8, &random)) * 40 - 1000 }
        // Weights at the four corners of the block, as bilinear windows have them.
        windows = (0..<count).map { _ in
            let corners = (0..<4).map { _ in random.number(in: 0...32768 / count - 1) }
            let (across, lower) = ((corners[1] - corners[0]) / 8, (corners[3] - corners[2]) / 8)
            return burnish_motion_window(
                first: Int16(corners[0]), across: Int16(across), down: Int16((corners[2] - corners[0]) / 32),
                both: Int16((lower - across) / 32))
        }
    }
    override func run(_ kernels: Kernels, into destination: Int) {
        let samples = 8 * size.height
        unsafe predictions.withUnsafeBufferPointer { predictions in
            var sources = unsafe (0..<count).map { unsafe predictions.baseAddress! + $0 * samples as UnsafePointer<Int16>? }
            unsafe kernels.table.motion.blend(
                outputs[destination].row(0), outputs[destination].stride, &sources, windows, Int32(count),
                Int32(size.width), Int32(size.height))
        }
    }
}
