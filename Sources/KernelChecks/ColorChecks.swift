import CKernels
import Kernels

extension CheckedKernels {
    static func color() -> [any KernelCheck] { [ColorCheck(isDeep: false), ColorCheck(isDeep: true)] }
}

private final class ColorCheck: KernelCheck {
    private let isDeep: Bool
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var dither: [Int16] = []
    private var table = ColorTable { $0 }

    init(isDeep: Bool) { self.isDeep = isDeep }

    var name: String { isDeep ? "color.rows10" : "color.rows8" }
    let sizes = (1...100).map { CheckSize($0) } + [CheckSize(641), CheckSize(1280)]
    var benchmarkSize: CheckSize { CheckSize(1280) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(2 * size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe isDeep
            ? unsafeBitCast(kernels.table.color.rows10!, to: UnsafeRawPointer.self)
            : unsafeBitCast(kernels.table.color.rows8!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        // Neighbours differ as far as they can.
        if seed % 8 == 1 {
            table = ColorTable(chroma: seed % 16 == 1 ? .nearGrey : .even) { _ in
                [Double(random.byte()), Double(random.byte()), Double(random.byte())]
            }
        }
        let row = (0..<8).map { _ in Int16(random.number(in: 0...127)) }
        dither = row + row
        input = CheckMemory(width: 2 * width, height: 4, misalignment: Int(seed % 32) * 2)
        // Two bytes make a sample of 10 bits; some are larger.
        input.fill { x, y in x % 2 == 1 && isDeep ? content.byte(x: x, y: y, &random) & 7 : content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 4) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let out = outputs[destination]
        let kernel = unsafe isDeep ? kernels.table.color.rows10! : kernels.table.color.rows8!
        var cells = unsafe table.kernelTable
        unsafe dither.withUnsafeBufferPointer { dither in
            unsafe kernel(
                &cells,
                burnish_color_rows(
                    y0: out.row(0), y1: out.row(1), u: out.row(2), v: out.row(3), from_y0: input.row(0), from_y1: input.row(1),
                    from_u: input.row(2), from_v: input.row(3), dither0: dither.baseAddress!, dither1: dither.baseAddress!),
                Int32(width))
        }
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" } }
}
