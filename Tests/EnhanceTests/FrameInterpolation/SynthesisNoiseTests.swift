import Enhance
import KernelChecks
import Kernels
import Media
import Testing

/// What interpolation does with noise: see docs/design/interpolation.md.
@Suite struct SynthesisNoiseTests {
    /// A scene in motion, with nearly Gaussian noise of a standard deviation.
    private func picture(_ size: PictureSize, time: Double, deviation: Double) -> TestPicture {
        let clean = MotionScene().picture(size, movedBy: 3 * time, time)
        var random = CheckRandom(seed: UInt64(time * 2) + 1)
        return TestPicture(size) { plane, x, y in
            // The sum of twelve numbers from 0 to 1 has a variance of 1.
            let sum = (0..<12).reduce(0.0) { sum, _ in sum + Double(random.byte()) / 255 } - 6
            return UInt8(min(max(Double(clean.sample(plane, x, y)) + deviation * sum, 0), 255).rounded())
        }
    }

    /// The mean of both neighbours has 3 dB less noise than they have. Shrinking takes more.
    @Test(arguments: InterpolationVariant.allCases) func noiseIsShrunk(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        let pictures = (0..<4).map { picture(size, time: Double($0), deviation: 10) }
        let clean = MotionScene().picture(size, movedBy: variant == .quality ? 4.5 : 7.5, variant == .quality ? 1.5 : 2.5)
        let (output, _) = try variant.interpolate(pictures, finished: false)
        #expect(output.noise(against: clean) > pictures[1].noise(against: clean) + 7)
    }

    /// Every instruction set and every number of threads makes the same picture of noisy ones.
    @Test(arguments: [(17, 9), (16, 16), (131, 77)], InterpolationVariant.allCases)
    func everyLevelAndThreadCountGivesTheSame(size: (Int, Int), variant: InterpolationVariant) throws {
        let size = PictureSize(width: size.0, height: size.1)
        let pictures = (0..<4).map { picture(size, time: Double($0), deviation: 8) }
        let (reference, _) = try variant.interpolate(pictures, phase: 0.3, kernels: Kernels(limit: []), finished: false)
        #expect(reference.paddingIsIntact)
        for level in CPUFeatures.levels {
            for threads in [1, 2, 3] {
                let (output, _) = try variant.interpolate(
                    pictures, phase: 0.3, kernels: Kernels(limit: level), threads: threads, finished: false)
                #expect(output.difference(from: reference) == nil, "\(level.name), \(threads) threads")
            }
        }
    }

    /// A noisy picture that is repeated is repeated with its noise, whatever came before.
    @Test(arguments: InterpolationVariant.allCases) func aRepeatedPictureKeepsItsNoise(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        var pictures = (0..<4).map { picture(size, time: Double($0), deviation: 10) }
        pictures.append(pictures[3])
        let (output, _) = try variant.interpolate(pictures)
        #expect(output.difference(from: pictures[3]) == nil)
    }
}
