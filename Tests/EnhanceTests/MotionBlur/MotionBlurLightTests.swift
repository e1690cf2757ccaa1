import Enhance
import Foundation
import Media
import Testing

/// What a blurred picture is the mean of.
@Suite struct MotionBlurLightTests {
    private let size = PictureSize(width: 160, height: 120)

    /// An orange dot on black, with soft edges, so many samples to the right of the middle. Even numbers are whole samples of chroma.
    private func dot(_ shift: Int, isFullRange: Bool) -> TestPicture {
        let colour = isFullRange ? (black: 0.0, white: 255.0) : (black: 16, white: 235)
        return TestPicture(size) { plane, x, y in
            let step = plane == 0 ? 1 : 2
            let (x, y) = (x * step - 80 - shift, y * step - 60)
            let share = max(1 - Double(x * x + y * y) / 50, 0)
            let value = [colour.black + (colour.white - colour.black) * share, 128 - 50 * share, 128 + 60 * share][plane]
            return UInt8(value.rounded())
        }
    }

    /// Blurs the dot, which moves by 8 samples, over a whole interval: the mean of five pictures, two samples apart.
    private func blur(_ light: MotionBlurLight?, isFullRange: Bool, threads: Int = 1) throws -> TestPicture {
        let workers = WorkerPool(threadCount: threads)
        let configuration = FrameInterpolationConfiguration(size: size)
        let session =
            try light.map { try MotionBlur(configuration, light: $0, workers: workers) }
            ?? MotionBlur(configuration, workers: workers)
        for shift in [-8, 0, 8] {
            let picture = dot(shift, isFullRange: isFullRange)
            let flow = FlowPair(forward: try FlowField(size: size), backward: try FlowField(size: size))
            for row in 0..<flow.forward.rows {
                for column in 0..<flow.forward.columns {
                    flow.forward[column, row] = FlowField.Vector(x: 8, y: 0)
                    flow.backward[column, row] = FlowField.Vector(x: -8, y: 0)
                }
            }
            try session.push(picture.view, enhanced: picture.view, flow: shift == -8 ? nil : flow)
        }
        let output = TestPicture(size)
        let result = try session.blur(strength: 100, into: output.mutableView)
        #expect(result.before == 2 && result.after == 2 && output.paddingIsIntact)
        return output
    }

    /// The weights of pictures by how far the dot is, in 1/256.
    private let weights = [-4: 32, -2: 64, 0: 64, 2: 64, 4: 32]

    @Test(arguments: [false, true]) func withoutAWishCodesAreSummed(isFullRange: Bool) throws {
        let shots = weights.map { (dot($0, isFullRange: isFullRange), $1) }
        let wanted = TestPicture(size) { plane, x, y in
            UInt8((shots.reduce(128) { $0 + $1.0.sample(plane, x, y) * $1.1 }) >> 8)
        }
        for light in [nil, MotionBlurLight.coded] {
            #expect(try blur(light, isFullRange: isFullRange).difference(from: wanted) == nil)
        }
    }

    @Test(arguments: [false, true]) func linearIsTheMeanOfLight(isFullRange: Bool) throws {
        let output = try blur(.linear(isFullRange: isFullRange), isFullRange: isFullRange)
        let coded = try blur(.coded, isFullRange: isFullRange)
        let shots = weights.map { (dot($0, isFullRange: isFullRange), Double($1) / 256) }
        let (black, range) = isFullRange ? (0.0, 255.0) : (16, 219)
        // ITU-R BT.709's curve, from its text.
        func light(_ code: Int) -> Double {
            let value = (Double(code) - black) / range
            return value < 0.081 ? value / 4.5 : pow((value + 0.099) / 1.099, 1 / 0.45)
        }
        func code(_ light: Double) -> Double {
            black + range * (light < 0.018 ? 4.5 * light : 1.099 * pow(light, 0.45) - 0.099)
        }
        var brighter = 0
        for y in 0..<size.height {
            for x in 0..<size.width {
                let wanted = code(shots.reduce(0) { $0 + light($1.0.sample(0, x, y)) * $1.1 })
                #expect(abs(Double(output.sample(0, x, y)) - wanted) <= 1, "\(x), \(y)")
                brighter = max(brighter, output.sample(0, x, y) - coded.sample(0, x, y))
            }
        }
        #expect(brighter > 20)
        // The trace has the dot's colour, and is as strong in it as it is bright.
        let (x, y) = (43, 30)
        let (u, v) = (Double(output.sample(1, x, y) - 128), Double(output.sample(2, x, y) - 128))
        #expect(v > Double(coded.sample(2, x, y) - 128) && abs(u / v + 50 / 60) < 0.1, "\(u), \(v)")
        #expect(
            try blur(.linear(isFullRange: isFullRange), isFullRange: isFullRange, threads: 2).difference(from: output) == nil)
    }

    /// Also for odd and tiny sizes, codes beyond black and white, and colours that no screen has.
    @Test(arguments: FrameInterpolationTests.sizes) func whatRestsStaysAsItIs(size: PictureSize) throws {
        let picture = TestPicture(size, seed: 4)
        for isFullRange in [false, true] {
            let session = try MotionBlur(
                FrameInterpolationConfiguration(size: size), light: .linear(isFullRange: isFullRange))
            for _ in 0..<3 { try session.push(picture.view, enhanced: picture.view) }
            let output = TestPicture(size)
            try session.blur(strength: 100, into: output.mutableView)
            #expect(output.difference(from: picture) == nil)
        }
    }
}
