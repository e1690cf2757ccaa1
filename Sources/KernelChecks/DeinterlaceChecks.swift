import CKernels
import Kernels

extension CheckedKernels {
    static func deinterlace() -> [any KernelCheck] {
        [DeinterlaceRowCheck(usesOneField: false), DeinterlaceRowCheck(usesOneField: true), CombCheck()]
    }
}

private final class DeinterlaceRowCheck: KernelCheck {
    private let usesOneField: Bool
    private var input = CheckMemory(width: 1, height: 1)
    private var outputs: [CheckMemory] = []
    private var width = 0
    private var isSecond = false

    init(usesOneField: Bool) { self.usesOneField = usesOneField }

    var name: String { usesOneField ? "deinterlace.row_alone" : "deinterlace.row" }
    let sizes = (1...50).map { CheckSize($0) } + [CheckSize(360), CheckSize(720)]
    var benchmarkSize: CheckSize { CheckSize(720) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe usesOneField
            ? unsafeBitCast(kernels.table.deinterlace.row_alone!, to: UnsafeRawPointer.self)
            : unsafeBitCast(kernels.table.deinterlace.row!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        width = size.width
        isSecond = random.byte() & 1 == 1
        // Rows that hardly change are as usual as rows that do.
        let changes = random.byte() & 1 == 1
        input = CheckMemory(width: width, height: 18, misalignment: Int(seed % 64))
        input.fill { x, y in
            let byte = content.byte(x: x, y: y, &random)
            guard !changes, y > 0 else { return byte }
            return UInt8(clamping: Int(unsafe input.row(0)[x]) + Int(byte & 7) - 3)
        }
        outputs = (0..<2).map { _ in CheckMemory(width: width, height: 1) }
    }

    func run(_ kernels: Kernels, into destination: Int) {
        func row(_ number: Int) -> UnsafePointer<UInt8> { unsafe UnsafePointer(input.row(number)) }
        var rows = burnish_deinterlace_rows()
        unsafe rows.kept = unsafe (row(0), row(1), row(2), row(3))
        unsafe rows.before = unsafe (row(4), row(5))
        unsafe rows.near.0 = unsafe (row(6), row(7), row(8), row(9), row(10))
        unsafe rows.near.1 = unsafe (row(11), row(12), row(13), row(14), row(15))
        unsafe rows.change = unsafe (row(16), row(17))
        rows.shift = isSecond ? 0 : 1
        let out = unsafe outputs[destination].row(0)
        if usesOneField {
            let kept: [UnsafePointer<UInt8>?] = unsafe [row(0), row(1), row(2), row(3)]
            unsafe kernels.table.deinterlace.row_alone(out, kept, Int32(width))
        } else {
            unsafe kernels.table.deinterlace.row(out, &rows, Int32(width))
        }
    }

    func difference() -> String? { outputs[0].firstDifference(from: outputs[1]).map { "sample \($0.x)" } }
}

private final class CombCheck: KernelCheck {
    private var input = CheckMemory(width: 1, height: 1)
    private var before = CheckMemory(width: 1, height: 1)
    private var outputs: [[burnish_comb_sums]] = [[], []]
    private var blocks = 0

    let name = "deinterlace.combs"
    let sizes = (1...5).map { CheckSize(16 * $0, 19) } + [CheckSize(720, 19)]
    var benchmarkSize: CheckSize { CheckSize(720, 19) }
    var unit: WorkUnit { .samples }
    func work(_ size: CheckSize) -> Double { Double(size.width * 8) }
    func implementation(_ kernels: Kernels) -> UnsafeRawPointer {
        unsafe unsafeBitCast(kernels.table.deinterlace.combs!, to: UnsafeRawPointer.self)
    }

    func prepare(_ size: CheckSize, content: CheckContent, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        blocks = size.width / 16
        input = CheckMemory(width: size.width, height: size.height, misalignment: Int(seed % 64))
        input.fill { x, y in content.byte(x: x, y: y, &random) }
        before = CheckMemory(width: size.width, height: size.height)
        before.fill { x, y in content.byte(x: x, y: y, &random) }
        outputs = [[], []]
    }

    func run(_ kernels: Kernels, into destination: Int) {
        var sums = [burnish_comb_sums](repeating: burnish_comb_sums(), count: blocks)
        unsafe kernels.table.deinterlace.combs(
            &sums, input.row(2), input.stride, before.row(2), before.stride, Int32(blocks))
        outputs[destination] = sums
    }

    func difference() -> String? {
        for (block, (a, b)) in zip(outputs[0], outputs[1]).enumerated()
        where a.other != b.other || a.same != b.same || a.before != b.before || a.change != b.change {
            return "block \(block)"
        }
        return nil
    }
}
