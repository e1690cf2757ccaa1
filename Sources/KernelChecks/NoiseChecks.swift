import CKernels
import Kernels

extension CheckedKernels {
    static func noise() -> [any KernelCheck] {
        (0...2).map { NoiseRowCheck(references: $0) } + [NoiseRowCheck(references: 1, isStill: true), NoiseMeasureCheck()]
    }
}

/// A row of blocks of 8x8 samples, four apart. The width is the number of blocks.
private final class NoiseRowCheck: KernelCheck {
    private let references: Int
    private let isStill: Bool
    private var now = CheckMemory(width: 1, height: 1)
    private var past: [CheckMemory] = []
    private var variances: [UInt16] = []
    private var places: [[Place]] = []
    private var model = burnish_noise_model()
    private var outputs: [[CheckMemory]] = []
    private var count = 0

    /// Where a block lies in a reference: a column and row of samples, and 1/16 of a sample.
    private struct Place {
        var column = 0
        var row = 0
        var x: Int16 = 0
        var y: Int16 = 0
    }

    /// - Parameter isStill: all blocks lie on whole samples.
    init(references: Int, isStill: Bool = false) {
        self.references = references
        self.isStill = isStill
    }

    var name: String { "noise.row\(references)\(isStill ? "_still" : "")" }
    let sizes = [2, 4, 6, 10, 32].map { CheckSize($0) }
    var benchmarkSize: CheckSize { CheckSize(162) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width * 16) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.noise.row!, to: UnsafeRawPointer.self)
    }

    /// How far a block may lie from its place.
    private static let reach = 6
    private static let height = 11 + 2 * reach

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        count = size.width
        let width = 4 * count + 12
        let deviations: [Float] = [0, 1, 5, 20]
        unsafe burnish_noise_make_model(&model, deviations[Int(random.byte()) % 4])
        now = CheckMemory(width: width, height: 8, misalignment: Int(seed % 64))
        now.fill { x, y in content.byte(x: x, y: y, &random) }
        // Usually a reference is like the picture.
        let isLike = random.byte() & 3 != 0
        past = (0..<references).map { _ in
            let reach = Self.reach
            let memory = CheckMemory(width: 2 * (width + 2 * reach + 8), height: Self.height)
            for y in 0..<Self.height {
                for x in 0..<width + 2 * reach + 8 {
                    let row = min(max(y - reach - 1, 0), 7), column = min(max(x - reach - 1, 0), width - 1)
                    let byte = isLike ? unsafe now.row(row)[column] : content.byte(x: x, y: y, &random)
                    let value = Int16(16 * Int(byte) + Int(random.byte() & 15) - 2048)
                    unsafe UnsafeMutableRawPointer(memory.row(y)).storeBytes(
                        of: min(value, 2032), toByteOffset: 2 * x, as: Int16.self)
                }
            }
            return memory
        }
        variances = (0..<4 * count).map { _ in UInt16(random.byte()) << 7 | UInt16(random.byte() & 127) }
        places = past.map { _ in
            (0..<count).map { block in
                var place = Place()
                place.column = 4 * block + Int(random.byte()) % (2 * Self.reach)
                place.row = Int(random.byte()) % (2 * Self.reach)
                if !isStill { (place.x, place.y) = (Int16(random.byte() & 15), Int16(random.byte() & 15)) }
                return place
            }
        }
        outputs = (0..<2).map { _ in
            let outputs = [
                CheckMemory(width: 8 * count, height: 8), CheckMemory(width: 8 * count, height: 4),
                CheckMemory(width: 4 * count, height: 4), CheckMemory(width: 8 * count, height: 1),
            ]
            var random = CheckRandom(seed: seed)
            outputs[0].fill { x, y in x & 1 == 0 ? random.byte() : random.byte() & 3 }
            return outputs
        }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let outputs = outputs[destination]
        func numbers(_ memory: CheckMemory) -> UnsafeMutablePointer<Int16> {
            unsafe UnsafeMutableRawPointer(memory.row(0)).assumingMemoryBound(to: Int16.self)
        }
        // The carry has no room between its rows.
        var carry = [Int16](repeating: 0, count: 32 * count)
        for y in 0..<8 {
            for x in 0..<4 * count {
                carry[y * 4 * count + x] = unsafe UnsafeRawPointer(outputs[0].row(y)).load(
                    fromByteOffset: 2 * x, as: Int16.self)
            }
        }
        unsafe variances.withUnsafeBufferPointer { variances in
            var all = unsafe [burnish_noise_place]()
            for (reference, places) in places.enumerated() {
                for (block, place) in places.enumerated() {
                    var raw = unsafe burnish_noise_place()
                    unsafe raw.at = UnsafeRawPointer(past[reference].row(place.row) + 2 * place.column).assumingMemoryBound(
                        to: Int16.self)
                    unsafe raw.variance = variances.baseAddress! + 4 * block
                    unsafe (raw.x, raw.y) = (place.x, place.y)
                    unsafe all.append(raw)
                }
            }
            unsafe carry.withUnsafeMutableBufferPointer { carry in
                unsafe withUnsafePointer(to: &model) { model in
                    unsafe all.withUnsafeBufferPointer { all in
                        var row = unsafe burnish_noise_row()
                        unsafe row.model = model
                        unsafe row.count = Int32(count)
                        unsafe row.references = Int32(references)
                        unsafe row.now = UnsafePointer(now.row(0))
                        unsafe row.stride = now.stride
                        if references > 0 { unsafe row.places.0 = all.baseAddress }
                        if references > 1 { unsafe row.places.1 = all.baseAddress! + count }
                        unsafe row.reference_stride.0 = references > 0 ? past[0].stride / 2 : 0
                        unsafe row.reference_stride.1 = references > 1 ? past[1].stride / 2 : 0
                        unsafe row.carry = carry.baseAddress
                        unsafe row.filtered = numbers(outputs[1])
                        unsafe row.filtered_stride = outputs[1].stride / 2
                        unsafe row.shrunk = outputs[2].row(0)
                        unsafe row.shrunk_stride = outputs[2].stride
                        unsafe row.variance = UnsafeMutableRawPointer(outputs[3].row(0)).assumingMemoryBound(to: UInt16.self)
                        unsafe kernels.table.noise.row(&row)
                    }
                }
            }
        }
        for y in 0..<8 {
            for x in 0..<4 * count {
                unsafe UnsafeMutableRawPointer(outputs[0].row(y)).storeBytes(
                    of: carry[y * 4 * count + x], toByteOffset: 2 * x, as: Int16.self)
            }
        }
    }

    func difference() -> String? {
        let names = ["carry", "filtered", "shown", "variance"]
        for (name, (a, b)) in zip(names, zip(outputs[0], outputs[1])) {
            if let at = a.firstDifference(from: b) { return "\(name): byte \(at.x) of row \(at.y)" }
        }
        return nil
    }
}

private final class NoiseMeasureCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var before = CheckMemory(width: 1, height: 1)
    private var outputs: [[burnish_noise_sums]] = [[], []]
    private var squares = 0

    let name = "noise.measure"
    let sizes = (1...4).map { CheckSize(16 * $0, 16) }
    var benchmarkSize: CheckSize { CheckSize(640, 16) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width * size.height) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.noise.measure!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        squares = size.width / 16
        input = CheckMemory(width: size.width + 2, height: size.height + 2, misalignment: Int(seed % 64))
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        before = CheckMemory(width: size.width + 2, height: size.height + 2)
        before.fill { x, y in content.byte(x: x + 1, y: y, &random) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        var sums = [burnish_noise_sums](repeating: burnish_noise_sums(), count: squares)
        unsafe kernels.table.noise.measure(
            &sums, input.row(1) + 1, input.stride, before.row(1) + 1, before.stride, Int32(squares))
        outputs[destination] = sums
    }

    func difference() -> String? {
        for (square, (a, b)) in zip(outputs[0], outputs[1]).enumerated()
        where a.detail != b.detail || a.change != b.change || a.level != b.level { return "square \(square)" }
        return nil
    }
}
