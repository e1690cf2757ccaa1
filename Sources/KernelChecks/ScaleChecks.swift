import CKernels
import Kernels

extension CheckedKernels {
    static func scale() -> [any KernelCheck] {
        [4, 8].flatMap { [VerticalScaleCheck(taps: $0), HorizontalScaleCheck(taps: $0)] as [any KernelCheck] }
            + [ResampleCheck()]
    }
}

/// All remainders of the vector sizes, and two long rows.
private let widths = (1...70).map { CheckSize($0) } + [CheckSize(255), CheckSize(640)]

/// Weights with large terms of both signs. Like a filter's, they sum to 1 << 14.
private func weights(_ taps: Int) -> [Int16] {
    taps == 4 ? [-1200, 13500, 5200, -1116] : [-400, 1100, -2800, 14600, 5000, -1900, 1000, -216]
}

private final class VerticalScaleCheck: KernelCheck {
    let taps: Int
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0

    init(taps: Int) { self.taps = taps }

    var name: String { "scale.vertical\(taps)" }
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.scale.vertical!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        input = CheckMemory(width: width, height: taps, misalignment: Int(seed % 64))
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: 2 * width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let rows = unsafe (0..<taps).map { unsafe UnsafePointer(input.row($0)) as UnsafePointer<UInt8>? }
        unsafe outputs[destination].row(0).withMemoryRebound(to: Int16.self, capacity: width) { out in
            unsafe rows.withUnsafeBufferPointer { rows in
                unsafe kernels.table.scale.vertical(
                    out, UnsafeMutablePointer(mutating: rows.baseAddress!), weights(taps), Int32(taps), Int32(width))
            }
        }
    }

    func difference() -> String? {
        outputs[0].firstDifference(from: outputs[1]).map { "byte \($0.x) of row \($0.y)" }
    }
}

private final class HorizontalScaleCheck: KernelCheck {
    let taps: Int
    private var input: [Int16] = []
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var filter: burnish_scale_filter

    init(taps: Int) {
        self.taps = taps
        let axis = DoublingFilter.Axis(weights(taps).map(Double.init), weights(taps).reversed().map(Double.init))
        filter = DoublingFilter(horizontal: axis, vertical: axis).fixed
    }

    var name: String { "scale.horizontal\(taps)" }
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(640) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(2 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.scale.horizontal!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        // The range of a vertical pass: 6 fractional bits and some overshoot.
        input = (0..<width + 2 * Int(BURNISH_SCALE_MARGIN)).map {
            Int16(content.byte(x: $0, y: 0, &random)) * 90 - 3000
        }
        outputs = (0..<2).map { _ in CheckMemory(width: 2 * width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe input.withUnsafeBufferPointer { samples in
            unsafe kernels.table.scale.horizontal(
                outputs[destination].row(0), samples.baseAddress! + Int(BURNISH_SCALE_MARGIN), &filter,
                Int32(width))
        }
    }

    func difference() -> String? {
        outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" }
    }
}

/// Places and weights as a filter may have them, and worse: no two neighbours need to be near each other.
private final class ResampleCheck: KernelCheck {
    private var input: [Int16] = []
    private var places: [Int32] = []
    private var taps: [Int16] = []
    private var outputs: [CheckMemory] = []
    private var width = 0

    let name = "scale.resample"
    var sizes: [CheckSize] { widths }
    var benchmarkSize: CheckSize { CheckSize(960) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.scale.resample!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        input = (0..<width + 8).map { Int16(content.byte(x: $0, y: 0, &random)) * 90 - 3000 }
        places = (0..<width).map { _ in Int32(random.number(in: 0...width)) }
        taps = (0..<width).flatMap { $0 % 2 == 0 ? weights(8) : weights(8).reversed() }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe input.withUnsafeBufferPointer { samples in
            unsafe kernels.table.scale.resample(
                outputs[destination].row(0), samples.baseAddress!, places, taps, Int32(width))
        }
    }

    func difference() -> String? {
        outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" }
    }
}
