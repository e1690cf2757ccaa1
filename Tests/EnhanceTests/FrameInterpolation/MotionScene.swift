import Foundation
import Media

/// A smooth texture without end. Its pictures differ by an exact motion.
struct MotionScene {
    /// Waves of many lengths and directions. Long ones are the strongest, as in natural pictures. Computed once, because
    /// pictures have many samples and tests run without optimisation.
    private let waves: [Wave]

    private struct Wave {
        let frequency, alongX, alongY, phase, strength: Double
    }

    init(seed: Double = 1) {
        waves = (0..<11).map { k in
            let direction = 2.4 * Double(k) + seed
            return Wave(
                frequency: 0.03 * pow(1.33, Double(k)), alongX: cos(direction), alongY: sin(direction), phase: 1.7 * Double(k),
                strength: pow(0.84, Double(k)))
        }
    }

    func level(_ x: Double, _ y: Double) -> Double {
        var sum = 0.0
        // By index: without optimisation, an array's iterator takes twice as long as all else here.
        for k in 0..<waves.count {
            let wave = waves[k]
            sum += sin(wave.frequency * (x * wave.alongX + y * wave.alongY) + wave.phase) * wave.strength
        }
        return min(max(128 + 30 * sum, 0), 255)
    }

    /// A picture whose content has moved by x, y.
    func picture(_ size: PictureSize, movedBy x: Double, _ y: Double) -> TestPicture {
        TestPicture(size) { plane, column, row in
            let scale = plane == 0 ? 1.0 : 2.0
            // A chroma sample lies in the middle of its four luma samples.
            let offset = plane == 0 ? 0 : 0.5
            return UInt8(
                (level(Double(column) * scale + offset - x, Double(row) * scale + offset - y)
                    * (plane == 0 ? 1 : 0.5) + (plane == 0 ? 0 : 64)).rounded())
        }
    }
}

extension TestPicture {
    /// The mean squared difference of luma within a border, as a signal-to-noise ratio in dB.
    func noise(against other: TestPicture, border: Int = 16, plane: Int = 0) -> Double {
        var (sum, count) = (0.0, 0.0)
        let shift = plane == 0 ? 0 : 1
        for y in (border >> shift)..<((size.height - border) >> shift) {
            for x in (border >> shift)..<((size.width - border) >> shift) {
                let d = Double(sample(plane, x, y)) - Double(other.sample(plane, x, y))
                sum += d * d
                count += 1
            }
        }
        return 10 * log10(65025 / max(sum / count, 1e-3))
    }
}
