import Enhance
import EnhanceNetworks
import Foundation
import Media
import Testing

/// The examples of the library's pages, run. A page's code stands here line by line.
@Suite struct ExampleTests {
    private let size = PictureSize(width: 96, height: 64)
    private let workers = WorkerPool(threadCount: 2)
    private let pictures = (0..<5).map {
        MotionScene().picture(PictureSize(width: 96, height: 64), movedBy: Double($0), 0).copied
    }

    final class Screen {
        var shown: [Picture] = []
    }

    @Test func superResolution() throws {
        let (small, large) = (pictures[0], Picture(size: size.scaled(by: 2)))
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.useShippedNetworks()
        let session = try SuperResolutionSession(configuration, on: workers)
        var parameters = SuperResolutionParameters(until: .now() + .milliseconds(20))
        parameters.tier = .neuralMedium
        let result = try unsafe session.process(small.view, into: large.mutableView, parameters)
        print("\(result.tilesMedium) tiles by the network, \(result.tilesLeft) left")
        #expect(result.tilesMedium + result.tilesLeft == session.grid.count)
    }

    @Test func opticalFlow() throws {
        let (first, second) = (pictures[0], pictures[2])
        let session = try OpticalFlow(OpticalFlowConfiguration(size: size), on: workers)
        let flow = session.makeFlow()
        try unsafe session.process(PicturePair(first.view, second.view), into: flow, OpticalFlowParameters())
        let middle = flow.forward.vector(x: Float(size.width) / 2, y: Float(size.height) / 2)
        print("the middle moves by \(middle.x), \(middle.y) samples")
        #expect(abs(middle.x - 2) < 0.25 && abs(middle.y) < 0.25)
    }

    @Test func lowLatencyInterpolation() throws {
        let (between, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let session = try LowLatencyFrameInterpolation(FrameInterpolationConfiguration(size: size), on: workers)
        for picture in pictures {
            let input = unsafe FrameInterpolationInput(picture.view, enhanced: picture.view)
            let result = try unsafe session.process(input, into: between.mutableView, FrameInterpolationParameters(phase: 0.5))
            if result.method != .pending { show(between) }
            show(picture)
        }
        #expect(screen.shown.count == 2 * pictures.count - 1)
    }

    @Test func rateConversion() throws {
        let (between, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let flows = try OpticalFlow(OpticalFlowConfiguration(size: size), on: workers)
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.fusion = .shipped
        let session = try FrameRateConversion(configuration, on: workers)
        var last: Picture?
        for picture in pictures {
            var input = unsafe FrameInterpolationInput(picture.view, enhanced: picture.view)
            if let last {
                let flow = flows.makeFlow()
                try unsafe flows.process(PicturePair(last.view, picture.view), into: flow, OpticalFlowParameters())
                unsafe input.flow = flow
            }
            let result = try unsafe session.process(input, into: between.mutableView, FrameInterpolationParameters())
            if result.method != .pending { show(between) }
            last = picture
        }
        session.finish()
        try unsafe session.process(nil, into: between.mutableView, FrameInterpolationParameters())
        show(between)
        #expect(screen.shown.count == pictures.count - 1)
    }

    @Test func extrapolation() throws {
        let (next, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: size), on: workers)
        for picture in pictures {
            show(picture)
            let input = unsafe FrameInterpolationInput(picture.view, enhanced: picture.view)
            try unsafe session.process(input, into: next.mutableView, FrameExtrapolationParameters(distance: 0.5))
            show(next)
        }
        #expect(screen.shown.count == 2 * pictures.count)
    }

    @Test func motionBlur() throws {
        let (blurred, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let session = try MotionBlur(FrameInterpolationConfiguration(size: size), on: workers)
        for picture in pictures {
            let input = unsafe FrameInterpolationInput(picture.view, enhanced: picture.view)
            let result = try unsafe session.process(input, into: blurred.mutableView, MotionBlurParameters(strength: 50))
            if !result.isPending { show(blurred) }
        }
        session.finish()
        try unsafe session.process(nil, into: blurred.mutableView, MotionBlurParameters(strength: 50))
        show(blurred)
        #expect(screen.shown.count == pictures.count)
    }

    @Test func noise() throws {
        let (clean, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let session = try TemporalNoiseFilter(TemporalNoiseConfiguration(size: size), on: workers)
        for picture in pictures {
            let parameters = TemporalNoiseParameters(strength: .automatic, until: .now() + .milliseconds(10))
            let result = try unsafe session.process(picture.view, into: clean.mutableView, parameters)
            print("took away noise of \(result.lumaDeviation) levels in luma")
            show(clean)
        }
        #expect(screen.shown.count == pictures.count)
    }

    @Test func noiseOfFiles() throws {
        let (clean, screen) = (Picture(size: size), Screen())
        func show(_ picture: Picture) { screen.shown.append(picture) }
        let session = try TwoSidedNoiseFilter(TemporalNoiseConfiguration(size: size), on: workers)
        let parameters = TwoSidedNoiseParameters(strength: .fixed(0.4))
        for picture in pictures {
            let result = try unsafe session.process(picture.view, into: clean.mutableView, parameters)
            if !result.isPending { show(clean) }
        }
        session.finish()
        while try unsafe session.process(nil, into: clean.mutableView, parameters).isPending == false { show(clean) }
        #expect(screen.shown.count == pictures.count)
    }

    @Test func anyProcessor() throws {
        func process<Processor: FrameProcessor>(
            _ type: Processor.Type, _ size: PictureSize, _ resources: Processor.Resources, _ input: Processor.Input,
            _ output: Processor.Output
        ) throws -> Processor? {
            var configuration = Processor.Configuration(size: size)
            guard configuration.supportedSizes.contains(size) else { return nil }
            let session = try Processor(configuration, on: resources)
            try unsafe session.process(input, into: output, Processor.Parameters())
            configuration.size = size
            return session
        }
        let large = Picture(size: size.scaled(by: 2))
        let session = try process(SuperResolutionSession.self, size, workers, pictures[0].view, large.mutableView)
        #expect(session?.outputSize == large.size)
        let huge = PictureSize(width: 100_000, height: 1)
        #expect(try process(SuperResolutionSession.self, huge, workers, pictures[0].view, large.mutableView) == nil)
    }

    /// Each page has an example, and what stands there was compiled and run here.
    @Test func pagesShowWhatRunsHere() throws {
        func lines(_ text: some StringProtocol) -> String {
            text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty }.joined(separator: "\n")
        }
        let tests = URL(filePath: #filePath)
        let here = lines(try String(contentsOf: tests, encoding: .utf8))
        var folder = tests
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        folder.append(path: "Sources/Enhance/Enhance.docc")
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
        #expect(pages.count >= 9)
        for page in pages where page != "Enhance.md" {
            let text = try String(contentsOf: folder.appending(path: page), encoding: .utf8)
            let blocks = text.matches(of: /(?s)```swift\n(.*?)```/).map { lines($0.1) }
            #expect(!blocks.isEmpty, "\(page) has no example")
            for block in blocks { #expect(here.contains(block), "\(page) shows other code than this file:\n\(block)") }
        }
    }
}
