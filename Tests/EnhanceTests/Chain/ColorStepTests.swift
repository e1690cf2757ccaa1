import Enhance
import Media
import Testing

/// Brightness, contrast and colours.
@Suite struct ColorStepTests {
    private func run(
        _ picture: TestPicture, isFullRange: Bool = false, matrix: UInt8 = 2, _ adjust: (inout ColorControls) -> Void
    ) throws -> TestPicture {
        var settings = StepSettings()
        adjust(&settings.color)
        let size = picture.size
        let run = StepRun(size: size, try settings.makeSteps(at: .source, size: size, workers: WorkerPool(threadCount: 2)))
        var times = StepValues(blank: Nanoseconds.zero)
        let parameters = StepParameters(settings, isFullRange: isFullRange, matrix: matrix)
        let out = TestPicture(size)
        try withExtendedLifetime(picture) {
            _ = try run.process(StepInput(picture.view), parameters, &times)
            let (from, to) = (run.result(of: picture.view), out.mutableView)
            for (from, to) in [(from.y, to.y), (from.u, to.u), (from.v, to.v)] {
                for y in 0..<to.height { to.row(y).update(from: from.row(y), count: to.width) }
            }
        }
        return out
    }

    /// A picture that has one colour.
    private func plain(_ y: UInt8, _ u: UInt8, _ v: UInt8, _ size: PictureSize = PictureSize(width: 33, height: 19))
        -> TestPicture
    {
        let picture = TestPicture(size)
        let view = picture.mutableView
        for (plane, value) in [(view.y, y), (view.u, u), (view.v, v)] {
            for row in 0..<plane.height { plane.row(row).update(repeating: value, count: plane.width) }
        }
        return picture
    }

    private func color(_ picture: TestPicture) -> (Int, Int, Int)? {
        func value(_ plane: PlaneView) -> Int? {
            let first = plane.row(0)[0]
            for y in 0..<plane.height { for x in 0..<plane.width where plane.row(y)[x] != first { return nil } }
            return Int(first)
        }
        return withExtendedLifetime(picture) {
            guard let y = value(picture.view.y), let u = value(picture.view.u), let v = value(picture.view.v) else {
                return nil
            }
            return (y, u, v)
        }
    }

    private func expect(
        _ picture: TestPicture, isFullRange: Bool = false, matrix: UInt8 = 2, becomes wanted: (Int, Int, Int),
        _ adjust: (inout ColorControls) -> Void
    ) throws {
        let found = try #require(color(try run(picture, isFullRange: isFullRange, matrix: matrix, adjust)))
        #expect(
            abs(found.0 - wanted.0) <= 1 && abs(found.1 - wanted.1) <= 1 && abs(found.2 - wanted.2) <= 1, "\(found), \(wanted)")
    }

    @Test func eachControlDoesWhatItSays() throws {
        let colour = plain(100, 90, 180)
        try expect(colour, becomes: (100 + 55, 90, 180)) { $0.brightness = 0.25 }
        try expect(colour, becomes: (126 - 13, 90, 180)) { $0.contrast = 0.5 }
        try expect(colour, becomes: (100, 128, 128)) { $0.saturation = 0 }
        try expect(colour, becomes: (100, 52, 232)) { $0.saturation = 2 }
        // ((100 - 16) / 219) to the power of 1 / 2.
        try expect(colour, becomes: (152, 90, 180)) { $0.gamma = 2 }
        // A tenth of chroma's range on white.
        try expect(plain(235, 128, 128), becomes: (235, 106, 150)) { $0.warmth = 1 }
        try expect(plain(16, 128, 128), becomes: (16, 128, 128)) { $0.warmth = 1 }
        try expect(plain(235, 128, 128), becomes: (235, 150, 106)) { $0.warmth = -1 }
        try expect(colour, isFullRange: true, becomes: (114, 90, 180)) { $0.contrast = 0.5 }
        try expect(plain(0, 128, 128), isFullRange: true, becomes: (64, 128, 128)) { $0.brightness = 0.25 }
    }

    @Test func theEndsHold() throws {
        try expect(plain(200, 128, 128), becomes: (0, 128, 128)) { $0.brightness = -1 }
        try expect(plain(100, 128, 128), becomes: (255, 128, 128)) { $0.brightness = 1 }
        try expect(plain(100, 0, 255), becomes: (100, 0, 255)) { $0.saturation = 2 }
        try expect(plain(10, 128, 128), becomes: (10, 128, 128)) { $0.gamma = 2 }
    }

    /// What is changed by next to nothing stays but for rounding, sample by sample.
    @Test(arguments: [PictureSize(width: 64, height: 48), PictureSize(width: 61, height: 35)]) func samplesStayInPlace(
        size: PictureSize
    ) throws {
        let picture = TestPicture(size, seed: 5)
        let out = try run(picture) { $0.brightness = 1e-9 }
        #expect(out.paddingIsIntact)
        withExtendedLifetime((picture, out)) {
            for y in 0..<size.height {
                for x in 0..<size.width { #expect(abs(Int(picture.view.y.row(y)[x]) - Int(out.view.y.row(y)[x])) <= 1) }
            }
        }
    }

    /// A table that exchanges colours, before the controls.
    @Test(arguments: [(UInt8(1), 63, 102, 240), (5, 82, 90, 240), (2, 82, 90, 240)])
    func aTableChangesColoursBeforeTheControls(matrix: UInt8, y: UInt8, u: UInt8, v: UInt8) throws {
        // Blue, green and red: what is red becomes blue.
        let rows = (0..<27).map { "\(Double($0 / 9) / 2) \(Double($0 / 3 % 3) / 2) \(Double($0 % 3) / 2)" }
        var file = try #require(CubeFile(path: "a.cube"))
        file.table = try CubeReader.read(Array(("LUT_3D_SIZE 3\n" + rows.joined(separator: "\n")).utf8))
        let blue = matrix == 1 ? (32, 240, 118) : (41, 240, 110)
        try expect(plain(y, u, v), matrix: matrix, becomes: blue) { $0.lut = file }
        try expect(plain(y, u, v), matrix: matrix, becomes: (blue.0 + 22, 128, 128)) {
            ($0.lut, $0.brightness, $0.saturation) = (file, 0.1, 0)
        }
        try expect(plain(100, 128, 128), matrix: matrix, becomes: (100, 128, 128)) { $0.lut = file }
        try expect(plain(254, 128, 128), isFullRange: true, matrix: matrix, becomes: (254, 128, 128)) { $0.lut = file }
    }

    @Test func whatIsNeutralIsNotThere() throws {
        #expect(StepSettings().isNeutral(.color))
        var settings = StepSettings()
        settings.color.warmth = 0.1
        #expect(!settings.isNeutral(.color))
        let step = ColorStep(settings.color, workers: WorkerPool(threadCount: 1))
        #expect(step.suits(settings))
        settings.color.gamma = 1.1
        #expect(!step.suits(settings))
    }
}
