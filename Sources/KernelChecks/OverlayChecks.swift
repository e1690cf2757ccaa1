import CKernels
import Kernels

extension CheckedKernels {
    static func overlay() -> [any KernelCheck] { [OverlayCheck()] }
}

private final class OverlayCheck: KernelCheck {
    private var light = CheckMemory(width: 1, height: 1)
    private var rest = CheckMemory(width: 1, height: 1)
    private var below = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0

    let name = "overlay.row"
    let sizes = (1...70).map { CheckSize($0) } + [CheckSize(255), CheckSize(1280)]
    var benchmarkSize: CheckSize { CheckSize(1280) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.overlay.row!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        light = CheckMemory(width: width, height: 1, misalignment: Int(seed % 64))
        rest = CheckMemory(width: width, height: 1, misalignment: Int(seed / 64 % 64))
        below = CheckMemory(width: width, height: 1)
        for memory in [light, rest, below] { memory.fill { x, y in content.byte(x: x, y: y, &random) } }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 1, misalignment: Int(seed / 4096 % 64)) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        let output = unsafe outputs[destination].row(0)
        unsafe output.update(from: below.row(0), count: width)
        unsafe kernels.table.overlay.row(output, light.row(0), rest.row(0), Int32(width))
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" } }
}
