import Enhance
import Media
import Testing

/// A part of the picture at the size of the whole.
@Suite struct CropStepTests {
    @Test(arguments: ["320x180", "320x180+100+40", "50%x50%", "50%x12.5%+10%+0%", "16x16+0+0", "100%x100%"])
    func textsComeBack(text: String) { #expect(StepSettings.Crop(text)?.description == text) }

    @Test(arguments: [
        "", "320", "320x", "15x180", "320x180+1", "320x180+1+", "-320x180", "50%x50", "50x50%", "50%x50%+1+1", "0%x50%",
        "101%x50%",
        "50%x50%+101%+0%", "320x180+-1+0", "1e3x100", "nanxnan", "16385x16", "1.2.3x16",
    ])
    func otherTextsAreRefused(text: String) { #expect(StepSettings.Crop(text) == nil) }

    /// The part lies in the picture, whatever was asked for, and begins and ends with whole chroma samples.
    @Test(
        arguments: [
            ("320x180+100+40", (100, 40, 320, 180)), ("320x180", (160, 90, 320, 180)), ("50%x25%+10%+0%", (64, 0, 320, 90)),
            ("9999x9999+5+5", (0, 0, 640, 360)), ("100x100+9999+9999", (540, 260, 100, 100)), ("101x101+3+5", (2, 4, 102, 102)),
            ("1%x1%", (312, 172, 16, 16)),
        ] as [(String, (Int, Int, Int, Int))])
    func thePartLiesInThePicture(text: String, expected: (Int, Int, Int, Int)) throws {
        let region = try #require(StepSettings.Crop(text)).region(of: PictureSize(width: 640, height: 360))
        #expect(region == expected)
    }

    @Test(arguments: [
        PictureSize(width: 1, height: 1), PictureSize(width: 17, height: 33), PictureSize(width: 8192, height: 2),
    ])
    func everySizeHasAPart(size: PictureSize) throws {
        for text in ["16x16+3+3", "50%x50%", "30%x70%+90%+90%", "9999x16"] {
            let (x, y, width, height) = try #require(StepSettings.Crop(text)).region(of: size)
            #expect(x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= size.width && y + height <= size.height)
            #expect(x % 2 == 0 && y % 2 == 0)
            var settings = StepSettings()
            settings.crop = StepSettings.Crop(text)
            let out = try run(TestPicture(size, seed: 3), settings)
            #expect(out.paddingIsIntact)
        }
    }

    private func run(_ picture: TestPicture, _ settings: StepSettings) throws -> TestPicture {
        let size = picture.size
        let workers = WorkerPool(threadCount: 2)
        let run = StepRun(size: size, try settings.makeSteps(at: .source, size: size, workers: workers))
        var times = StepValues(blank: Nanoseconds.zero)
        try run.process(StepInput(picture.view), StepParameters(settings), &times)
        let out = TestPicture(size)
        let (from, to) = (run.result(of: picture.view), out.mutableView)
        for (from, to) in [(from.y, to.y), (from.u, to.u), (from.v, to.v)] {
            for y in 0..<to.height { to.row(y).update(from: from.row(y), count: to.width) }
        }
        return out
    }

    /// The part alone decides: it comes out as a resampler makes it of a picture that has nothing else.
    @Test func nothingBesideThePartIsSeen() throws {
        let size = PictureSize(width: 96, height: 64)
        let whole = TestPicture(size, seed: 9)
        var settings = StepSettings()
        settings.crop = StepSettings.Crop("48x32+20+10")
        let part = PictureSize(width: 48, height: 32)
        let alone = TestPicture(part) { plane, x, y in
            UInt8(whole.sample(plane, x + (plane == 0 ? 20 : 10), y + (plane == 0 ? 10 : 5)))
        }
        let expected = TestPicture(size)
        PictureResampler(from: part, to: size, workers: WorkerPool(threadCount: 1))
            .resample(alone.view, into: expected.mutableView)
        #expect(try run(whole, settings).difference(from: expected) == nil)
    }

    /// All of the picture is no crop: there is no step, or it changes nothing.
    @Test func allOfThePictureIsNeutral() throws {
        let picture = TestPicture(PictureSize(width: 96, height: 64), seed: 9)
        var settings = StepSettings()
        settings.crop = StepSettings.Crop("100%x100%")
        #expect(settings.isNeutral(.crop))
        settings.crop = StepSettings.Crop("96x64")
        #expect(!settings.isNeutral(.crop))
        #expect(try run(picture, settings).difference(from: picture) == nil)
    }

    /// Another part needs another step.
    @Test func aStepIsForOnePart() throws {
        var settings = StepSettings()
        settings.crop = StepSettings.Crop("48x32")
        let step = try #require(
            try settings.makeStep(.crop, size: PictureSize(width: 96, height: 64), workers: WorkerPool(threadCount: 1)))
        #expect(step.suits(settings))
        settings.denoise = 1
        #expect(step.suits(settings))
        settings.crop = StepSettings.Crop("48x32+0+0")
        #expect(!step.suits(settings))
    }
}
