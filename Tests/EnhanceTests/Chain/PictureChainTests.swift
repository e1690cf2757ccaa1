import Enhance
import EnhanceNetworks
import Media
import Testing

/// A chain does what its parts do one after the other.
@Suite struct PictureChainTests {
    private let size = PictureSize(width: 96, height: 64)
    private let workers = WorkerPool(threadCount: 2)

    private func noisy(_ count: Int) -> [TestPicture] {
        TemporalNoiseTests.Sequence(size, count: count, deviation: 8).noisy
    }

    private func enlarging(_ output: PictureSize) throws -> PictureEnlargement {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.outputSize = output
        configuration.useShippedNetworks()
        return try PictureEnlargement(configuration, workers: workers)
    }

    @Test(arguments: [PictureSize(width: 192, height: 128), PictureSize(width: 240, height: 160)])
    func itIsItsPartsOneAfterTheOther(output: PictureSize) throws {
        var settings = StepSettings()
        settings.denoise = 0.3
        let noise = try #require(try settings.makeStep(.denoise, size: size, workers: workers))
        var interpolating = FrameInterpolationConfiguration(size: size)
        interpolating.scaleFactor = 2
        interpolating.outputSize = output
        let chain = PictureChain(
            try enlarging(output), PictureSynthesis(between: try LowLatencyFrameInterpolation(interpolating, workers: workers)),
            steps: [noise])
        #expect(chain.kinds == [.denoise])

        let filter = try TemporalNoiseFilter(TemporalNoiseConfiguration(size: size), workers: workers)
        let session = try enlarging(output).session
        let between = try LowLatencyFrameInterpolation(interpolating, workers: workers)
        for (number, picture) in noisy(4).enumerated() {
            // The third picture has no time for the filter.
            let kinds: StepSet = number == 2 ? [] : [.denoise]
            let wish = PictureEnlargement.Wish(.neuralSmall, isWhole: true, SuperResolutionParameters(sharpness: 0.25))
            let made = TestPicture(output)
            var times = StepValues(blank: Nanoseconds.zero)
            _ = try chain.enlarge(picture.view, into: made.mutableView, StepParameters(settings), wish, &times, only: kinds)
            #expect(times.kinds == kinds)
            try chain.append(picture.view, made.view, chromaLocation: 0)

            let filtered = TestPicture(size)
            if kinds.isEmpty {
                filtered.mutableView.fill(from: picture.view)
            } else {
                try filter.process(picture.view, into: filtered.mutableView, .init(strength: .fixed(0.3)))
            }
            let expected = TestPicture(output)
            _ = try session.process(
                filtered.view, into: expected.mutableView, tier: .neuralSmall, SuperResolutionParameters(sharpness: 0.25))
            #expect(made.difference(from: expected) == nil, "picture \(number)")
            try between.push(filtered.view, enhanced: session.beforeResampling(filtered.view) ?? expected.view)

            let (ours, theirs) = (TestPicture(output), TestPicture(output))
            let method = try chain.synthesise(phase: 0.5, into: ours.mutableView)
            #expect((method == nil) == (number == 0))
            guard number > 0 else { continue }
            try between.synthesise(phase: 0.5, into: theirs.mutableView)
            #expect(ours.difference(from: theirs) == nil, "before picture \(number)")
        }
        chain.forget()
        let last = TestPicture(output)
        let method = try chain.synthesise(phase: 0.5, into: last.mutableView)
        withExtendedLifetime(last) { #expect(method == nil) }
    }

    /// Tiles are reused below a chain as without it, also where an overlay stands on what they became.
    @Test(arguments: [false, true]) func tilesAreReused(hasOverlay: Bool) throws {
        let output = size.scaled(by: 2)
        var settings = StepSettings()
        if hasOverlay {
            let white = OverlayImage(size: PictureSize(width: 8, height: 8), samples: [UInt8](repeating: 255, count: 256))
            settings.overlay = try #require(Overlay.read("+10%+10%:size=50%:image=/a.png")).get()
            settings.overlay?.material = OverlayMaterial(images: ["/a.png": white])
        }
        let chain = PictureChain(
            try enlarging(output), steps: try settings.makeSteps(at: .result, size: output, workers: workers))
        let picture = TestPicture(size, seed: 5)
        let wish = PictureEnlargement.Wish(.neuralMedium, isWhole: false, SuperResolutionParameters())
        let (made, enlarged) = (TestPicture(output), TestPicture(output))
        var results: [SuperResolutionResult] = []
        var times = StepValues(blank: Nanoseconds.zero)
        for number in 0..<2 {
            results.append(try chain.enlarge(picture.view, into: made.mutableView, StepParameters(settings), wish, &times))
            if number == 0 { enlarged.mutableView.fill(from: made.view) }
            #expect(made.difference(from: enlarged) == nil)
            try chain.finish(made.mutableView, StepParameters(settings, matrix: 1), &times)
            #expect((made.difference(from: enlarged) != nil) == hasOverlay)
        }
        withExtendedLifetime((picture, made)) {}
        let count = chain.enlarging.tileCount
        #expect(results[0].tilesMedium == count && results[1].tilesReused == count && results[1].tilesMedium == 0)
        #expect(chain.enlarging.staleTiles == 1)
    }

    /// A live filter and one for files answer to the same settings.
    @Test func aFilterForFilesGivesEveryPicture() throws {
        var settings = StepSettings()
        settings.denoise = nil
        let steps = try settings.makeSteps(at: .source, size: size, lookingAhead: true, workers: workers)
        let run = StepRun(size: size, steps)
        #expect(run.lookahead == TwoSidedNoiseFilter.longestDelay && run.kinds == [.denoise])
        var times = StepValues(blank: Nanoseconds.zero)
        var count = 0
        for picture in noisy(15) where try run.process(StepInput(picture.view), StepParameters(settings), &times) != nil {
            count += 1
        }
        while try run.drain(&times) != nil { count += 1 }
        #expect(count == 15)
        let luma = steps[0].figures.first { $0.name == "luma_deviation" }
        #expect((5...11).contains(luma?.value ?? 0), "\(steps[0].figures)")
    }
}

extension MutablePictureView {
    fileprivate func fill(from source: PictureView) {
        for (from, to) in [(source.y, y), (source.u, u), (source.v, v)] {
            for row in 0..<to.height { to.row(row).update(from: from.row(row), count: to.width) }
        }
    }
}
