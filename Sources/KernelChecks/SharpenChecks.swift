import CKernels
import Kernels

extension CheckedKernels {
    static func sharpen() -> [any KernelCheck] { [SharpenCheck()] }
}

private final class SharpenCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var amount = 0

    let name = "sharpen.row"
    let sizes = (1...70).map { CheckSize($0) } + [CheckSize(255), CheckSize(1280)]
    var benchmarkSize: CheckSize { CheckSize(1280) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.sharpen.row!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        amount = random.number(in: 0...Kernels.strongestSharpening)
        input = CheckMemory(width: width + 2, height: 3, misalignment: Int(seed % 64))
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        unsafe kernels.table.sharpen.row(
            outputs[destination].row(0), input.row(0) + 1, input.row(1) + 1, input.row(2) + 1, Int32(width),
            Int32(amount))
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" } }
}
