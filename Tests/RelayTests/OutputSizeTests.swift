import Codec
import Endpoint
import Media
import Schedule
import Settings
import TestStreams
import Testing

@testable import Relay

/// Outputs of any size, and frames that are synthesised for them.
@Suite(.timeLimit(.minutes(3))) struct OutputSizeTests {
    private func pictures(_ path: String, _ scratch: Scratch) throws -> (
        count: Int, sizes: Set<PictureSize>, shapes: Set<Rational>
    ) {
        let decoder = try VideoDecoder()
        var (count, sizes, shapes): (Int, Set<PictureSize>, Set<Rational>) = (0, [], [])
        for (number, unit) in TestStream.payloads(in: try scratch.read(path)).enumerated() {
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: Int64(number)) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                count += 1
                sizes.insert(picture.size)
                shapes.insert(picture.color.sampleAspectRatio)
            }
        }
        return (count, sizes, shapes)
    }

    @Test(arguments: StreamOptions.Scale.allCases, 0...1) func everyScaleIsSynthesisedToo(
        scale: StreamOptions.Scale, lookahead: Int
    ) throws {
        let scratch = try Scratch()
        let input = PictureSize(width: 98, height: 66)
        let report = try relay(try TestStream.video(frames: 20, size: input), scratch) {
            $0.options.scale = scale
            $0.options.lookahead = lookahead
            $0.settings.interpolate = 2
            $0.settings.steps.sharpness = 0.5
            $0.readsFramesOneByOne = true
            $0.awaitsProcessors = true
            $0.settings.tier = .base
            $0.weights.keep = 1e9
            $0.weights.climb = 1e9
            $0.weights.dwell = .zero
        }
        #expect(report.frames.synthesised == 19 && report.frames.dropped == 0, "\(report.frames)")
        let size = scale.output.size(of: input)
        #expect(size.width % 2 == 0 && size.height % 2 == 0)
        #expect(try pictures("out.ts", scratch).sizes == [size])
        #expect(Enlargement(from: input, to: size).doubles == (size.width >= 2 * input.width))
    }

    /// Networks double pictures, so those that leave a little larger are doubled for them alone.
    @Test(arguments: [
        (160, 96, false, false), (168, 100, false, false), (180, 108, false, true), (240, 144, false, true),
        (320, 190, false, true),
        (320, 192, true, true), (480, 288, true, true), (240, 94, false, false), (320, 96, false, true), (80, 48, false, false),
    ]) func picturesAreDoubledForNetworks(width: Int, height: Int, doubles: Bool, doublesRefined: Bool) {
        let (input, size) = (PictureSize(width: 160, height: 96), PictureSize(width: width, height: height))
        let (plain, refined) = (Enlargement(from: input, to: size), Enlargement(from: input, to: size, refined: true))
        #expect(plain.doubles == doubles && refined.doubles == doublesRefined)
        #expect((plain == refined) == (doubles == doublesRefined))
        #expect(refined.resamples == (size != input && size != input.scaled(by: 2)))
        #expect(refined.work >= plain.work && refined.largest.samples >= plain.largest.samples)
    }

    /// Doubled pictures of others would be too large to synthesise frames from.
    @Test func thereIsALargestPictureForNetworks() {
        for (width, doubles) in [(4096, true), (4100, false)] {
            let input = PictureSize(width: width, height: 2160)
            #expect(Enlargement(from: input, to: OutputSize.oneAndHalf.size(of: input), refined: true).doubles == doubles)
        }
    }

    /// The size is exact, and the samples make up for its shape.
    @Test(arguments: [(240, 100), (160, 120), (64, 64), (322, 194), (480, 288)]) func aSizeIsMetAndTheShapeIsKept(
        width: Int, height: Int
    ) throws {
        let scratch = try Scratch()
        let (input, size) = (PictureSize(width: 160, height: 96), PictureSize(width: width, height: height))
        let report = try relay(try TestStream.video(frames: 4, size: input), scratch) { $0.options.size = size }
        #expect(report.frames.emitted == 4)
        let outcome = try pictures("out.ts", scratch)
        #expect(outcome.count == 4 && outcome.sizes == [size])
        let shape = try #require(outcome.shapes.first)
        let shown = Double(width) * (shape.numerator > 0 ? shape.value : 1) / Double(height)
        #expect(outcome.shapes.count == 1 && abs(shown - 160.0 / 96) < 0.02, "\(outcome.shapes)")
    }

    /// A source that changes its size does not change that of the output, nor the shape of its pictures.
    @Test(arguments: StreamOptions.Scale.allCases.filter { $0 != .fit }) func aSizeIsKept(scale: StreamOptions.Scale) throws {
        let scratch = try Scratch()
        let sizes = [(160, 96), (320, 192), (96, 96), (160, 96)].map { PictureSize(width: $0.0, height: $0.1) }
        let stream = try TestStream.program(sizes.map { TestStream.Part(frames: 5, size: $0) })
        let report = try relay(stream, scratch) {
            $0.options.scale = scale
            $0.options.keepSize = true
            $0.settings.tier = .base
        }
        #expect(report.frames.emitted == 20, "\(report.frames)")
        let outcome = try pictures("out.ts", scratch)
        let size = scale.output.size(of: sizes[0])
        #expect(outcome.count == 20 && outcome.sizes == [size])
        let (width, height, wide) = (Double(size.width), Double(size.height), 160.0 / 96)
        let shapes = outcome.shapes.map { ($0.numerator > 0 ? $0.value : 1) * width / height }
        #expect(shapes.count == 2, "\(shapes)")
        #expect(shapes.allSatisfy { abs($0 - wide) < 0.02 || abs($0 - 1) < 0.02 }, "\(shapes)")
    }

    @Test func samplesThatAreNoSquaresStaySo() {
        var color = ColorDescription()
        color.sampleAspectRatio = Rational(16, 11)
        let input = PictureSize(width: 720, height: 576)
        #expect(color.shaped(from: input, to: PictureSize(width: 1440, height: 1152)) == color)
        // 1.8182 : 1 is shown in both.
        let shaped = color.shaped(from: input, to: PictureSize(width: 1280, height: 720))
        #expect(shaped.sampleAspectRatio == Rational(16 * 720 * 720, 11 * 576 * 1280))
        #expect(ColorDescription().shaped(from: input, to: PictureSize(width: 720, height: 578)) == ColorDescription())
    }
}
