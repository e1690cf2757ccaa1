import Enhance
import Foundation
import Kernels
import KernelChecks
import Media
import Testing

/// The fusion network's file, and its arithmetic against tools/train/fusion/reference.py.
@Suite struct FusionFileTests {
    /// Writes a file, right unless it is told otherwise.
    private struct Writer {
        var letters = "BNF1"
        var version: UInt32 = 1
        var half: UInt32 = 8
        var quarter: UInt32 = 8
        /// Fields of a layer's head and a weight in place of the right ones: layer, field 0 to 3, value.
        var changed: (layer: Int, field: Int, value: UInt32)?
        /// In the last layer.
        var weight: Int16 = 0
        var bias: Int32 = 0
        var bytesAfter = 0

        func bytes() -> [UInt8] {
            var bytes = Array(letters.utf8)
            func long(_ value: UInt32) { for i in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * i))) } }
            long(version)
            long(half)
            long(quarter)
            // The layers fit the counts where those are right.
            let (a, b) = (min(half, 64), min(quarter, 64))
            let shapes: [(UInt32, UInt32, UInt32)] = [
                (52, a, 3), (a, b, 3), (b, b, 3), (b, b, 3), (b, b, 3), (b, 4 * a, 1), (a, a, 3), (a, a, 3), (a, 56, 3),
            ]
            for (index, shape) in shapes.enumerated() {
                var head = [shape.0, shape.1, shape.2, 0]
                if let changed, changed.layer == index { head[changed.field] = changed.value }
                for value in head { long(value) }
                let isLast = index == 8
                for _ in 0..<shape.0 * shape.1 * shape.2 * shape.2 {
                    let value = UInt16(bitPattern: isLast ? weight : 0)
                    bytes.append(UInt8(value & 255))
                    bytes.append(UInt8(value >> 8))
                }
                for output in 0..<shape.1 {
                    // The picture that is there gets all the weight.
                    long(UInt32(bitPattern: isLast ? (48..<52).contains(output) ? 32767 : bias : 0))
                }
            }
            bytes += [UInt8](repeating: 0, count: bytesAfter)
            long(FusionFileTests.checksum(bytes))
            return bytes
        }
    }

    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var register: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
        return ~register
    }

    /// A network that chooses the picture that is there.
    static func neutral() -> [UInt8] { Writer().bytes() }

    private func refuses(_ bytes: [UInt8], _ what: String) {
        do throws(EnhanceError) {
            _ = try FusionNetwork(bytes)
            Issue.record("\(what) was accepted")
        } catch {
            #expect(error.code == .badWeights)
            #expect(error.message.contains(what), "\(error.message)")
        }
    }

    @Test func aRightFileIsRead() throws {
        let network = try FusionNetwork(Self.neutral())
        // 52·8·9·4 + 8·8·9 + 3·8·8·9 + 8·32 + 2·8·8·9·4 + 8·56·9·4, a sixteenth of it.
        #expect(network.multiplicationsPerSample == 2392)
    }

    @Test func everyWrongFieldIsRefused() {
        refuses(Writer(letters: "BNW1").bytes(), "BNF1")
        refuses(Writer(version: 2).bytes(), "version 2")
        for count: UInt32 in [0, 4, 72, 1 << 31] {
            refuses(Writer(half: count < 72 ? count : 8, quarter: count).bytes(), "channel count")
        }
        refuses(Writer(half: 12).bytes(), "multiples of 8")
        refuses(Writer(quarter: 20).bytes(), "multiples of 8")
        for layer in 0..<9 {
            refuses(Writer(changed: (layer, 0, 9)).bytes(), "input count")
            refuses(Writer(changed: (layer, 1, 9)).bytes(), "output count")
            refuses(Writer(changed: (layer, 2, 5)).bytes(), "kernel size")
            refuses(Writer(changed: (layer, 3, 31)).bytes(), "shift")
        }
        refuses(Writer(bytesAfter: 1).bytes(), "too many")
    }

    @Test func sumsMustFit32Bits() throws {
        // 72 weights of 910 and activations of 32768 come to 2^31 less 436000.
        _ = try FusionNetwork(Writer(weight: 910, bias: 400_000).bytes())
        refuses(Writer(weight: 910, bias: 900_000).bytes(), "32 bits")
        refuses(Writer(weight: -911, bias: 0).bytes(), "32 bits")
        refuses(Writer(bias: .min).bytes(), "32 bits")
    }

    @Test func damagedAndShortFilesAreRefused() {
        let bytes = Self.neutral()
        for count in [0, 3, 4, 19, 20, 21, 1000, bytes.count - 1] {
            #expect(throws: EnhanceError.self) { try FusionNetwork(Array(bytes[..<count])) }
        }
        for at in stride(from: 0, to: bytes.count, by: 997) {
            var damaged = bytes
            damaged[at] ^= 1
            #expect(throws: EnhanceError.self) { try FusionNetwork(damaged) }
        }
        // Cut short with a checksum that is right.
        for count in [16, 20, 500, bytes.count - 8] {
            var short = Array(bytes[..<count])
            let sum = Self.checksum(short)
            for i in 0..<4 { short.append(UInt8(truncatingIfNeeded: sum >> UInt32(8 * i))) }
            refuses(short, "the weights end inside of")
        }
    }

    static let golden = ["fusion-16-8", "fusion-8-8"].flatMap { name in
        ["48x40", "37x29", "1x1", "3x50", "65x2"].map { (name, $0) }
    }

    /// Every instruction set gives the reference's bits, whatever rows are done together.
    @Test(arguments: golden) func goldenVectors(name: String, size: String) throws {
        let file = try FusionTests.bytes("\(name).bnf"), vector = try FusionTests.bytes("\(name)-\(size).fused")
        let weights = try FusionWeights(file)
        func long(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(vector[at + $1]) << (8 * $1) } }
        let size = PictureSize(width: long(4), height: long(8))
        #expect(long(12) == Int(Self.checksum(file)), "the vector belongs to another network")
        let samples = size.width * size.height
        try #require(vector.count == 20 + 14 * samples)
        let planes = (0..<13).map { padded(vector[(16 + $0 * samples)...], size) }
        let expected = CheckMemory(width: size.width, height: size.height)
        expected.fill { x, y in vector[16 + 13 * samples + y * size.width + x] }
        for level in CPUFeatures.levels {
            for band in [1, 3, 1000] {
                let output = CheckMemory(width: size.width, height: size.height)
                run(Kernels(limit: level), weights, planes, size, into: output, band: band)
                #expect(output.firstDifference(from: expected) == nil, "\(level.name), bands of \(band) rows")
            }
        }
    }

    private func padded(_ samples: ArraySlice<UInt8>, _ size: PictureSize) -> CheckMemory {
        let margin = Kernels.motionMargin
        let memory = CheckMemory(width: size.width + 2 * margin, height: size.height + 2 * margin)
        memory.fill { x, y in
            let column = min(max(x - margin, 0), size.width - 1), row = min(max(y - margin, 0), size.height - 1)
            return samples[samples.startIndex + row * size.width + column]
        }
        return memory
    }

    private func run(
        _ kernels: Kernels, _ weights: FusionWeights, _ planes: [CheckMemory], _ size: PictureSize, into output: CheckMemory,
        band: Int
    ) {
        func view(_ memory: CheckMemory, margin: Int) -> MutablePlaneView {
            MutablePlaneView(
                base: memory.row(margin) + margin, stride: memory.stride, width: size.width, height: size.height)
        }
        let activations = AlignedMemory(byteCount: weights.activationBytes(size: size))
        let scratch = AlignedMemory(byteCount: weights.scratchBytes(size: size))
        let margin = Kernels.motionMargin
        var fusion = Fusion(
            kernels, weights, made: view(planes[12], margin: margin).readOnly, output: view(output, margin: 0),
            activations: activations.pointer())
        for index in 0..<12 { fusion.setPrediction(index, view(planes[index], margin: margin).readOnly) }
        for step in 0..<FusionWeights.stepCount {
            let rows = fusion.rows(step: step)
            for first in stride(from: 0, to: rows, by: band) {
                fusion.perform(step: step, rows: first..<min(first + band, rows), scratch: scratch.pointer())
            }
        }
    }
}
