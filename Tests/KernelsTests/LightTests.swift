import KernelChecks
import Kernels
import Media
import Testing

/// Sums of light, against references in floating point.
@Suite struct LightTests {
    private struct Samples {
        let size: PictureSize
        var bytes: [UInt8]

        init(_ size: PictureSize, _ random: inout CheckRandom, limit: ClosedRange<Int> = 0...255) {
            self.size = size
            bytes = (0..<size.width * size.height).map { _ in UInt8(limit.lowerBound + Int(random.byte()) % limit.count) }
        }

        func read(_ body: (PlaneView) -> Void) {
            bytes.withUnsafeBufferPointer {
                body(PlaneView(base: $0.baseAddress!, stride: size.width, width: size.width, height: size.height))
            }
        }

        mutating func write(_ body: (MutablePlaneView) -> Void) {
            bytes.withUnsafeMutableBufferPointer { [size] in
                body(MutablePlaneView(base: $0.baseAddress!, stride: size.width, width: size.width, height: size.height))
            }
        }
    }

    @Test(arguments: [true, false], [PictureSize(width: 1, height: 1), PictureSize(width: 35, height: 7)])
    func theMeanIsThatOfLight(isFullRange: Bool, size: PictureSize) {
        let table = LightTable(isFullRange: isFullRange)
        let (black, range) = isFullRange ? (0.0, 255.0) : (16, 219)
        func light(_ code: Double) -> Double { TransferCurves.scene(sdr: (code - black) / range) }
        var random = CheckRandom(seed: 12)
        let weights = [200, 40, 16]
        // Two colours that are far apart, in a way that a mean of codes would not show.
        let lumas = weights.map { _ in Samples(size, &random) }
        let chromas = weights.map { _ in Samples(size.chroma, &random) }
        var sums = [UInt32](repeating: 0, count: size.width * size.height)
        var chromaSums = [UInt32](repeating: 0, count: size.chroma.width * size.chroma.height)
        var (luma, chroma) = (Samples(size, &random), Samples(size.chroma, &random))
        let (rows, chromaRows) = (0..<size.height, 0..<size.chroma.height)
        sums.withUnsafeMutableBufferPointer { sums in
            chromaSums.withUnsafeMutableBufferPointer { chromaSums in
                let sums = LightSums(base: sums.baseAddress!, width: size.width)
                let chromaSums = LightSums(base: chromaSums.baseAddress!, width: size.chroma.width)
                for (index, weight) in weights.enumerated() {
                    lumas[index].read { luma in
                        Kernels.add(lightOf: luma, by: table, weight: weight, to: sums, rows: rows)
                        chromas[index].read {
                            Kernels.add(chroma: $0, of: luma, by: table, weight: weight, to: chromaSums, rows: chromaRows)
                        }
                    }
                }
                luma.write { Kernels.writeMean(ofLight: sums, by: table, into: $0, rows: rows) }
                luma.read { luma in
                    chroma.write { Kernels.writeMean(ofChroma: chromaSums, of: luma, by: table, into: $0, rows: chromaRows) }
                }
            }
        }
        for place in luma.bytes.indices {
            let mean = zip(weights, lumas).reduce(0) { $0 + light(Double($1.1.bytes[place])) * Double($1.0) / 256 }
            let code = Double(luma.bytes[place])
            #expect(mean > light(code - 0.51) && mean < light(code + 0.51), "\(place): \(code)")
        }
        /// Light over luma, where that of the four samples of a sample of chroma is their mean.
        func share(_ luma: Samples, _ x: Int, _ y: Int) -> Double {
            let columns = [2 * x, min(2 * x + 1, size.width - 1)], lines = [2 * y, min(2 * y + 1, size.height - 1)]
            let sum = lines.reduce(0) { sum, y in columns.reduce(sum) { $0 + Int(luma.bytes[y * size.width + $1]) } }
            let code = Double((sum + 2) / 4)
            return code > black ? light(code) / ((code - black) / range) : 1 / 4.5
        }
        for y in chromaRows {
            for x in 0..<size.chroma.width {
                let place = y * size.chroma.width + x
                var wanted = 0.0
                for (index, weight) in weights.enumerated() {
                    wanted += share(lumas[index], x, y) * (Double(chromas[index].bytes[place]) - 128) * Double(weight) / 256
                }
                wanted = min(max(128 + wanted / share(luma, x, y), 0), 255)
                #expect(abs(Double(chroma.bytes[place]) - wanted) < 0.6, "\(x), \(y)")
            }
        }
    }

    /// Every code is its own mean.
    @Test(arguments: [true, false]) func codesComeBack(isFullRange: Bool) {
        let table = LightTable(isFullRange: isFullRange)
        let codes = (0...255).map { UInt8($0) }
        var sums = [UInt32](repeating: 0, count: 256)
        var back = [UInt8](repeating: 0, count: 256)
        sums.withUnsafeMutableBufferPointer { sums in
            let sums = LightSums(base: sums.baseAddress!, width: 256)
            codes.withUnsafeBufferPointer {
                let plane = PlaneView(base: $0.baseAddress!, stride: 256, width: 256, height: 1)
                for weight in [1, 255] { Kernels.add(lightOf: plane, by: table, weight: weight, to: sums, rows: 0..<1) }
            }
            back.withUnsafeMutableBufferPointer {
                let plane = MutablePlaneView(base: $0.baseAddress!, stride: 256, width: 256, height: 1)
                Kernels.writeMean(ofLight: sums, by: table, into: plane, rows: 0..<1)
            }
        }
        #expect(back == codes)
    }
}
