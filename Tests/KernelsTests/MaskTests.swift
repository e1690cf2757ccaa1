import KernelChecks
import Kernels
import Testing

/// Masks on planes of 8 and 10 bits, against references that are written as the effects are described.
@Suite struct MaskTests {
    /// A plane with a border that no mask may write to.
    private struct Plane<Sample: FixedWidthInteger & UnsignedInteger>: Equatable {
        static var border: Int { 5 }
        let width, height: Int
        var samples: [Sample]

        init(_ width: Int, _ height: Int, seed: UInt64) {
            (self.width, self.height) = (width, height)
            var random = CheckRandom(seed: seed)
            let most = Sample.bitWidth > 8 ? 1023 : 255
            samples = (0..<(width + 2 * Self.border) * (height + 2 * Self.border)).map { _ in
                Sample((Int(random.byte()) << 8 | Int(random.byte())) & most)
            }
        }

        private func place(_ x: Int, _ y: Int) -> Int { (y + Self.border) * (width + 2 * Self.border) + x + Self.border }
        subscript(x: Int, y: Int) -> Int {
            get { Int(samples[place(x, y)]) }
            set { samples[place(x, y)] = Sample(newValue) }
        }

        mutating func apply(_ mask: (MaskPart) -> Void) {
            let (stride, start) = (width + 2 * Self.border, place(0, 0))
            let size = MemoryLayout<Sample>.size
            samples.withUnsafeMutableBytes {
                mask(
                    MaskPart(
                        samples: $0.baseAddress! + start * size, stride: stride * size, width: width, height: height,
                        isDeep: size > 1))
            }
        }

        /// Where the blocks of a length begin and end. The last takes what is left.
        static func blocks(_ length: Int, _ block: Int) -> [Range<Int>] {
            let count = max(1, length / block)
            return (0..<count).map { $0 * block..<($0 + 1 == count ? length : ($0 + 1) * block) }
        }

        func mean(_ columns: Range<Int>, _ rows: Range<Int>) -> Int {
            let sum = rows.reduce(0) { sum, y in columns.reduce(sum) { $0 + self[$1, y] } }
            return (sum + columns.count * rows.count / 2) / (columns.count * rows.count)
        }

        func pixelated(_ block: Int) -> Self {
            var out = self
            for rows in Self.blocks(height, block) {
                for columns in Self.blocks(width, block) {
                    let mean = mean(columns, rows)
                    for y in rows { for x in columns { out[x, y] = mean } }
                }
            }
            return out
        }

        /// The interpolation between the middles, in fractions.
        func blurred(_ block: Int) -> [[Double]] {
            let (rows, columns) = (Self.blocks(height, block), Self.blocks(width, block))
            func place(_ at: Int, _ blocks: [Range<Int>]) -> (Int, Int, Double) {
                let middles = blocks.map { Double($0.lowerBound + $0.upperBound - 1) / 2 }
                let first = middles.lastIndex { $0 <= Double(at) } ?? 0
                let next = min(first + 1, middles.count - 1)
                guard next > first, Double(at) > middles[first] else { return (first, first, 0) }
                return (first, next, (Double(at) - middles[first]) / (middles[next] - middles[first]))
            }
            let means = rows.map { rows in columns.map { Double(mean($0, rows)) } }
            return (0..<height).map { y in
                let (top, bottom, down) = place(y, rows)
                return (0..<width).map { x in
                    let (left, right, across) = place(x, columns)
                    let above = means[top][left] * (1 - across) + means[top][right] * across
                    let below = means[bottom][left] * (1 - across) + means[bottom][right] * across
                    return above * (1 - down) + below * down
                }
            }
        }
    }

    private static let sizes = [(1, 1), (3, 2), (7, 5), (16, 16), (17, 33), (31, 1), (64, 47), (129, 18), (300, 9)]

    private func check<Sample>(_: Sample.Type, _ width: Int, _ height: Int, block: Int)
    where Sample: FixedWidthInteger & UnsignedInteger {
        let plane = Plane<Sample>(width, height, seed: UInt64(width * 100 + height + block))
        let kernels = MaskKernels()
        var (filled, expected) = (plane, plane)
        filled.apply { kernels.fill($0, with: 77) }
        for y in 0..<height { for x in 0..<width { expected[x, y] = 77 } }
        #expect(filled == expected)

        var pixelated = plane
        pixelated.apply { kernels.pixelate($0, block: block) }
        #expect(pixelated == plane.pixelated(block))

        var blurred = plane
        blurred.apply { kernels.blur($0, block: block) }
        let smooth = plane.blurred(block)
        var most = 0.0
        var rest = blurred
        for y in 0..<height {
            for x in 0..<width {
                most = max(most, abs(Double(blurred[x, y]) - smooth[y][x]))
                rest[x, y] = plane[x, y]
            }
        }
        // Rounded to a whole number, and weights of 12 bits.
        #expect(most <= 0.7, "\(width)x\(height), \(block): \(most)")
        #expect(rest == plane, "the border stays")
    }

    @Test(arguments: [2, 3, 4, 16, 17, 256]) func effectsAreAsDescribed(block: Int) {
        for (width, height) in Self.sizes {
            check(UInt8.self, width, height, block: block)
            check(UInt16.self, width, height, block: block)
        }
    }

    /// Golden: one row, by hand. Blocks of 4 on 9 samples are one of 4 and one of 5.
    @Test func aRowByHand() {
        let row: [UInt8] = [10, 20, 30, 40, 100, 110, 120, 130, 140]
        func masked(_ mask: (MaskPart) -> Void) -> [UInt8] {
            var samples = row
            samples.withUnsafeMutableBytes {
                mask(MaskPart(samples: $0.baseAddress!, stride: 9, width: 9, height: 1, isDeep: false))
            }
            return samples
        }
        let kernels = MaskKernels()
        #expect(masked { kernels.pixelate($0, block: 4) } == [25, 25, 25, 25, 120, 120, 120, 120, 120])
        // The middles lie at 1.5 and 6: 95 levels on 4.5 samples.
        #expect(masked { kernels.blur($0, block: 4) } == [25, 25, 36, 57, 78, 99, 120, 120, 120])
        #expect(masked { kernels.fill($0, with: 16) } == Array(repeating: 16, count: 9))
    }
}
