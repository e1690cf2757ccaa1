import Measure
import Media

/// Luma planes as plain arrays, for tests that change them.
struct Luma: Equatable {
    var size: PictureSize
    var samples: [UInt8]

    init(size: PictureSize, samples: [UInt8]) {
        self.size = size
        self.samples = samples
    }

    init(_ size: PictureSize, _ sample: (_ x: Int, _ y: Int) -> Double) {
        self.size = size
        samples = []
        samples.reserveCapacity(size.width * size.height)
        for y in 0..<size.height {
            for x in 0..<size.width { samples.append(UInt8(max(0, min(255, sample(x, y).rounded())))) }
        }
    }

    subscript(x: Int, y: Int) -> Double {
        Double(samples[max(0, min(size.height - 1, y)) * size.width + max(0, min(size.width - 1, x))])
    }

    /// A frame of the test pattern.
    static func pattern(_ size: PictureSize, _ code: TimeCode, index: Int = 0) -> Luma {
        let pattern = TestPattern(size: size, framesPerSecond: 30)
        let picture = Picture(size: size)
        pattern.paint(picture.mutableView, code: code, index: index)
        return Luma(size) { x, y in Double(picture.view.y.row(y)[x]) }
    }

    func reading(near: WallTime) -> TimeCodeReading {
        samples.withUnsafeBufferPointer {
            TimeCodeReading(
                luma: PlaneView(base: $0.baseAddress!, stride: size.width, width: size.width, height: size.height),
                near: near)
        }
    }

    /// Resampled with a cubic (Catmull-Rom) kernel, overshoot included, widened when shrinking.
    func scaled(to target: PictureSize) -> Luma {
        func weights(_ position: Double, _ ratio: Double) -> [(Int, Double)] {
            let support = 2 * max(1, ratio)
            var taps: [(Int, Double)] = []
            for tap in Int((position - support).rounded(.up))...Int((position + support).rounded(.down)) {
                let t = abs(Double(tap) - position) / max(1, ratio)
                let weight = t < 1 ? (1.5 * t - 2.5) * t * t + 1 : t < 2 ? ((-0.5 * t + 2.5) * t - 4) * t + 2 : 0
                taps.append((tap, weight))
            }
            let sum = taps.reduce(0) { $0 + $1.1 }
            return taps.map { ($0.0, $0.1 / sum) }
        }
        let (rx, ry) = (
            Double(size.width) / Double(target.width), Double(size.height) / Double(target.height)
        )
        let columns = (0..<target.width).map { weights((Double($0) + 0.5) * rx - 0.5, rx) }
        let middle = Luma(PictureSize(width: target.width, height: size.height)) { x, y in
            columns[x].reduce(0) { $0 + self[$1.0, y] * $1.1 }
        }
        let rows = (0..<target.height).map { weights((Double($0) + 0.5) * ry - 0.5, ry) }
        return Luma(target) { x, y in rows[y].reduce(0) { $0 + middle[x, $1.0] * $1.1 } }
    }

    func blended(with other: Luma, phase: Double) -> Luma {
        Luma(size) { x, y in self[x, y] * (1 - phase) + other[x, y] * phase }
    }

    /// Left columns from here, the rest from the other: what a motion-compensated picture may do.
    func patched(with other: Luma, from column: Int) -> Luma {
        Luma(size) { x, y in x < column ? self[x, y] : other[x, y] }
    }
}
