import Media
import Testing

@testable import Enhance

@Suite struct OverlayStepTests {
    /// Draws each letter as a box as high as the line and half as wide.
    private final class Boxes: GlyphSource {
        func glyphs(of scalars: Set<UInt32>, height: Int, shape: Double) -> GlyphSet {
            var set = GlyphSet(ascent: height)
            set.coverage = [UInt8](repeating: 255, count: height * height / 2)
            for scalar in scalars {
                let isSpace = scalar == 32
                set.glyphs[scalar] = GlyphSet.Glyph(
                    width: isSpace ? 0 : height / 2, height: isSpace ? 0 : height, left: 0, top: height, advance: height / 2,
                    start: 0)
            }
            return set
        }
    }

    private let size = PictureSize(width: 64, height: 40)

    private func settings(_ text: String, images: [String: OverlayImage] = [:]) throws -> StepSettings {
        var settings = StepSettings()
        settings.overlay = try #require(Overlay.read(text)).get()
        settings.overlay?.material = OverlayMaterial(images: images, font: Boxes(), stream: "ab")
        return settings
    }

    private func grey(_ level: UInt8 = 100) -> Picture {
        let picture = Picture(size: size)
        let view = picture.mutableView
        for y in 0..<size.height { view.y.row(y).update(repeating: level, count: size.width) }
        for y in 0..<size.height / 2 {
            view.u.row(y).update(repeating: 128, count: size.width / 2)
            view.v.row(y).update(repeating: 128, count: size.width / 2)
        }
        return picture
    }

    /// Lays an overlay over a grey picture.
    private func show(_ settings: StepSettings, _ change: (inout StepParameters) -> Void = { _ in }) throws -> Picture {
        let run = StepRun(size: size, try settings.makeSteps(at: .result, size: size, workers: WorkerPool(threadCount: 1)))
        let picture = grey()
        var parameters = StepParameters(settings, matrix: 1)
        change(&parameters)
        var times = StepValues(blank: Nanoseconds.zero)
        try run.process(in: picture.mutableView, parameters, &times)
        return picture
    }

    /// The part where luma is not that of the grey picture.
    private func changed(_ picture: Picture) -> (x: ClosedRange<Int>, y: ClosedRange<Int>)? {
        var (columns, rows): ([Int], [Int]) = ([], [])
        for y in 0..<size.height {
            for x in 0..<size.width where picture.view.y.row(y)[x] != 100 { (columns, rows) = (columns + [x], rows + [y]) }
        }
        guard let left = columns.min(), let top = rows.min() else { return nil }
        return (left...columns.max()!, top...rows.max()!)
    }

    private let red = OverlayImage(
        size: PictureSize(width: 4, height: 4), samples: Array([[UInt8]](repeating: [255, 0, 0, 255], count: 16).joined()))

    @Test func anImageStandsWhereItIsPut() throws {
        let shown = try show(settings("-0%+10%:size=20%:image=/a.png", images: ["/a.png": red]))
        let area = try #require(changed(shown))
        #expect(area.x == 56...63 && area.y == 4...11)
        // Red in BT.709's limited range.
        #expect(shown.view.y.row(5)[60] == 63 && shown.view.u.row(3)[30] == 102 && shown.view.v.row(3)[30] == 240)
        #expect(shown.view.u.row(3)[27] == 128 && shown.view.u.row(6)[30] == 128)
    }

    /// A square image is a square where samples are twice as wide as high.
    @Test func imagesKeepTheirShape() throws {
        let shown = try show(settings("+0%+0%:size=20%:image=/a.png", images: ["/a.png": red])) {
            $0.sampleAspectRatio = Rational(2, 1)
        }
        let area = try #require(changed(shown))
        #expect(area.x == 0...3 && area.y == 0...7)
    }

    @Test func opacityMixes() throws {
        let shown = try show(settings("+0%+0%:size=20%:opacity=0.5:image=/a.png", images: ["/a.png": red]))
        #expect(abs(Int(shown.view.y.row(1)[1]) - (100 + 63) / 2) <= 1)
        #expect(abs(Int(shown.view.v.row(1)[1]) - (128 + 240) / 2) <= 1)
        let none = try show(settings("+0%+0%:size=20%:opacity=0:image=/a.png", images: ["/a.png": red]))
        #expect(changed(none) == nil)
    }

    @Test func textHasABoxAroundIt() throws {
        // A line of 8 rows: a quarter beside each end, and half of it for each letter.
        let shown = try show(settings("+0%+0%:size=20%:box=1:text=a {stream}"))
        let area = try #require(changed(shown))
        #expect(area.x == 0...2 + 4 * 4 + 2 - 1 && area.y == 0...7)
        #expect(shown.view.y.row(3)[0] == 16 && shown.view.y.row(3)[3] == 235 && shown.view.y.row(3)[8] == 16)
        #expect(shown.view.y.row(3)[12] == 235)
        let bare = try show(settings("+0%+0%:size=20%:box=0:color=#000000:text=a"))
        #expect(try #require(changed(bare)).x == 2...5)
    }

    @Test func fieldsFollowThePicture() throws {
        let settings = try settings("+0%+0%:size=20%:text={frame}")
        func width(_ number: UInt64) throws -> Int {
            try #require(changed(show(settings) { $0.moment.number = number })).x.upperBound + 1
        }
        #expect(try width(7) == 8 && width(1234) == 20)
        let time = try show(self.settings("+0%+0%:size=10%:text={timecode}")) { $0.moment.presented = .seconds(3661.5) }
        #expect(try #require(changed(time)).x.upperBound + 1 == 12 * 2 + 2)
        // Files have no latency.
        #expect(try #require(changed(show(self.settings("+0%+0%:size=20%:text=a{latency}")))).x.upperBound + 1 == 8)
    }

    @Test func anItemIsShownInItsTime() throws {
        let settings = try settings("+0%+0%:size=20%:from=2s:until=3s:image=/a.png", images: ["/a.png": red])
        for (time, isShown) in [(0.0, false), (1.99, false), (2.0, true), (2.99, true), (3.0, false)] {
            #expect(try (changed(show(settings) { $0.moment.presented = .seconds(time) }) != nil) == isShown, "\(time)")
        }
        // Live it counts from when it was set.
        let live = try show(settings) { ($0.moment.presented, $0.moment.arrived) = (.seconds(2.5), .now()) }
        #expect(changed(live) == nil)
    }

    /// What was laid on a turned picture is where it belongs once the picture is upright.
    @Test(arguments: 0..<4, [false, true])
    func picturesAreTurnedUpright(quarters: Int, isFlipped: Bool) throws {
        let text = "-10%+0%:size=20%:image=/a.png;+10%-0%:size=20%:text=a b"
        let orientation = Orientation(isFlippedHorizontally: isFlipped, rotation: UInt16(quarters * 16384))
        let turn = PictureTurn(orientation)
        let coded = try show(settings(text, images: ["/a.png": red])) { $0.orientation = orientation }
        let upright = Picture(size: turn.size(of: size))
        turn.turn(coded.view, into: upright.mutableView)
        // The same on a picture that is coded upright.
        let wanted = Picture(size: upright.size)
        let view = wanted.mutableView
        for y in 0..<upright.size.height { view.y.row(y).update(repeating: 100, count: upright.size.width) }
        for plane in [view.u, view.v] {
            for y in 0..<plane.height { plane.row(y).update(repeating: 128, count: plane.width) }
        }
        let steps = try settings(text, images: ["/a.png": red])
        let run = StepRun(
            size: upright.size, try steps.makeSteps(at: .result, size: upright.size, workers: WorkerPool(threadCount: 1)))
        var times = StepValues(blank: Nanoseconds.zero)
        try run.process(in: view, StepParameters(steps, matrix: 1), &times)
        for (a, b) in [(upright.view.y, wanted.view.y), (upright.view.u, wanted.view.u), (upright.view.v, wanted.view.v)] {
            for y in 0..<a.height { for x in 0..<a.width { #expect(a.row(y)[x] == b.row(y)[x], "\(x), \(y)") } }
        }
    }

    @Test func anotherOverlayNeedsAnotherStep() throws {
        let first = try settings("+0%+0%:text=a")
        let step = OverlayStep(try #require(first.overlay), size: size)
        #expect(step.suits(first))
        #expect(try !step.suits(settings("+0%+0%:text=b")))
        // The files may have been read again.
        #expect(try !step.suits(settings("+0%+0%:text=a")))
    }
}
