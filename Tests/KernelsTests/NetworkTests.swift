import Foundation
import KernelChecks
@testable import Kernels
import Media
import Testing

/// The integer networks against the golden vectors that tools/train/golden.py computed with the reference arithmetic.
@Suite struct NetworkTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "EnhanceTests/Golden")

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }

    /// A picture, its quantiser's bucket, and the expected output. The layout is in tools/train/golden.py.
    struct Golden {
        let width: Int
        let height: Int
        let bucket: Int
        let input: ArraySlice<UInt8>
        let output: ArraySlice<UInt8>

        init(_ name: String, scale: Int) throws {
            let bytes = try NetworkTests.bytes(name)
            try #require(Array(bytes[..<4]) == Array("BNG1".utf8))
            let numbers = (0..<4).map { n in
                (0..<4).reduce(0) { $0 | Int(bytes[4 + 4 * n + $1]) << (8 * $1) }
            }
            (width, height, bucket) = (numbers[0], numbers[1], numbers[2])
            let count = width * height
            input = bytes[20..<20 + count]
            // Between them lies the residual, two bytes for each output sample.
            let outputs = scale * scale * count
            output = bytes[20 + count + 2 * outputs..<20 + count + 3 * outputs]
        }
    }

    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?
        .filter { $0.hasSuffix(".golden") }.sorted() ?? []

    static func network(for name: String) throws -> Network {
        try Network(bytes(name.split(separator: "-").prefix(2).joined(separator: "-") + ".bnw"))
    }

    /// Runs strips of `columns` by `rows` over the picture, each from its top and from its bottom until both meet.
    /// - Returns: the output and its copy.
    static func upscale(
        _ golden: Golden, _ network: Network, _ kernels: Kernels, columns: Int, rows: Int
    ) -> [CheckMemory] {
        let input = CheckMemory(width: golden.width, height: golden.height)
        input.fill { golden.input[golden.input.startIndex + $1 * golden.width + $0] }
        let (width, height) = (golden.width * network.scale / 2, golden.height * network.scale / 2)
        let outputs = (0..<2).map { _ in CheckMemory(width: 2 * width, height: 2 * height) }
        let planes = outputs.map {
            MutablePlaneView(base: $0.row(0), stride: $0.stride, width: $0.width, height: $0.height)
        }
        let scratch = UnsafeMutableRawPointer.allocate(
            byteCount: network.scratchSize(width: columns), alignment: 64)
        defer { scratch.deallocate() }
        for y in stride(from: 0, to: height, by: rows) {
            for x in stride(from: 0, to: width, by: columns) {
                let end = min(y + rows, height)
                for direction in [StripDirection.down, .up] {
                    var strip = kernels.strip(
                        network, bucket: golden.bucket,
                        PlaneView(base: input.row(0), stride: input.stride, width: golden.width, height: golden.height),
                        into: planes[0], copy: planes[1], columns: x..<min(x + columns, width),
                        firstRow: direction == .down ? y : end - 1, direction: direction, scratch: scratch)
                    let half = direction == .down ? (end - y) / 2 : end - y - (end - y) / 2
                    strip.advance(by: half / 2)
                    strip.advance(by: half - half / 2)
                }
            }
        }
        return outputs
    }

    @Test func thereAreGoldenVectors() { #expect(Self.names.count >= 10) }

    /// The output is equal to the bit, for the whole picture and for strips of awkward sizes, at every level.
    @Test(arguments: names) func networkGivesTheGoldenOutput(name: String) throws {
        let network = try Self.network(for: name)
        let golden = try Golden(name, scale: network.scale)
        let width = network.scale * golden.width
        let expected = CheckMemory(width: width, height: network.scale * golden.height)
        expected.fill { golden.output[golden.output.startIndex + $1 * width + $0] }
        for level in CPUFeatures.levels {
            for (columns, rows) in [(64, 64), (16, 8), (23, 11), (1, 5), (9, 100)] {
                for output in Self.upscale(golden, network, Kernels(limit: level), columns: columns, rows: rows) {
                    let difference = output.firstDifference(from: expected)
                    #expect(
                        difference == nil, "\(level.name) \(columns)x\(rows) at \(String(describing: difference))")
                }
            }
        }
    }

    @Test(arguments: ["random-s.bnw", "random-restore.bnw"]) func everyDamageToTheFileIsAnError(name: String) throws {
        let good = try Self.bytes(name)
        _ = try Network(good)
        for length in [0, 3, 4, 23, 24, 100, good.count - 1] {
            #expect(throws: NetworkFileError.self) { try Network(Array(good[..<length])) }
        }
        #expect(throws: NetworkFileError.self) { try Network(good + [0]) }
        for position in Swift.stride(from: 0, to: good.count, by: 97) {
            var bad = good
            bad[position] ^= 0x10
            #expect(throws: NetworkFileError.self) { try Network(bad) }
        }
        var version = good
        version[4] = 2
        let error = #expect(throws: NetworkFileError.self) { try Network(version) }
        #expect(error?.message.contains("version 2") == true)
    }

    /// Requantises a sum as tools/train/README.md states it, and as a kernel does that saturates it to 16 bits first.
    private func values(_ sum: Int, shift: Int, multiplier: Int) -> (exact: Int, narrow: Int) {
        func byte(_ shifted: Int) -> Int { min(max((shifted * multiplier + 16384) >> 15, 0), 255) }
        let narrow = UInt16(clamping: sum) >> UInt16(shift)
        return (byte(Int(Int16(clamping: sum >> shift))), byte(Int(Int16(bitPattern: narrow))))
    }

    @Test func sumsAreNarrowedOnlyWhereNoByteChanges() {
        var random = CheckRandom(seed: 5)
        var allowed = 0
        var refused = 0
        for _ in 0..<20000 {
            let shift = random.number(in: 0...5)
            let multiplier = random.number(in: 1...Int(1) << random.number(in: 4...15) - 1)
            let largest = random.number(in: -5000...Int(1) << random.number(in: 13...21))
            guard PackedLayer.isNarrow(largestSum: largest, shift: shift, multiplier: multiplier) else {
                refused += 1
                continue
            }
            allowed += 1
            var sums = [-3_000_000, -65537, -32769, -1, 0, 1, 32767, 32768, 65535, 65536, 65537, largest - 1, largest]
            for _ in 0..<10 { sums.append(random.number(in: -100_000...largest)) }
            for sum in sums where sum <= largest {
                let (exact, narrow) = values(sum, shift: shift, multiplier: multiplier)
                #expect(exact == narrow, "\(sum) of at most \(largest), shift \(shift), multiplier \(multiplier)")
            }
        }
        #expect(allowed > 2000 && refused > 2000)
        // Where narrowing is refused, a byte can change: the multiplier is small, and there is no shift.
        for (largest, shift, multiplier) in [(228_470, 2, 430), (40_000, 0, 300)] {
            #expect(!PackedLayer.isNarrow(largestSum: largest, shift: shift, multiplier: multiplier))
            let (exact, narrow) = values(largest, shift: shift, multiplier: multiplier)
            #expect(exact != narrow)
        }
    }

    @Test func aQuantiserFallsIntoItsBucket() throws {
        let network = try Network(Self.bytes("random-s.bnw"))
        #expect(network.edges == [0, 18, 22, 25, 28, 32, 37, 255])
        #expect(network.bucket(quantiser: nil) == 0)
        #expect([0, 1, 18, 19, 37, 38, 51, 400].map { network.bucket(quantiser: $0) } == [0, 1, 1, 2, 6, 7, 7, 7])
        #expect(network.multiplicationsPerSample == 2088)
        let restoring = try Network(Self.bytes("random-restore.bnw"))
        #expect(restoring.scale == 1 && restoring.multiplicationsPerPosition == 9 * (4 * 16 + 16 * 16 + 16 * 32 + 32 * 4))
        #expect(restoring.multiplicationsPerSample == restoring.multiplicationsPerPosition / 4)
    }
}
