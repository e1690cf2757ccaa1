import Enhance
import Media
import Testing

/// The mask of a chain: what it covers is gone, and nothing else changes.
@Suite struct MaskStepTests {
    private func settings(_ areas: PrivacyMask.Area...) -> StepSettings {
        var settings = StepSettings()
        settings.deinterlace = .off
        settings.mask = PrivacyMask(areas)
        return settings
    }

    private func masked(
        _ picture: TestPicture, _ settings: StepSettings, orientation: Orientation = .upright, isFullRange: Bool = false
    ) throws -> TestPicture {
        let workers = WorkerPool(threadCount: 1)
        let run = StepRun(
            size: picture.size, try settings.makeSteps(at: .decoded, size: picture.size, workers: workers))
        #expect(run.kinds == [.mask])
        var times = StepValues(blank: Nanoseconds.zero)
        try run.process(
            StepInput(picture.view), StepParameters(settings, isFullRange: isFullRange, orientation: orientation), &times)
        #expect(times[.mask] != nil)
        let out = TestPicture(picture.size)
        let (from, to) = (run.result(of: picture.view), out.mutableView)
        for (from, to) in [(from.y, to.y), (from.u, to.u), (from.v, to.v)] {
            for y in 0..<to.height { to.row(y).update(from: from.row(y), count: to.width) }
        }
        return out
    }

    private static let effects: [PrivacyMask.Effect] = [
        .pixelate(16), .blur(7), .fill(PrivacyMask.FillColor("grey")!),
    ]

    /// The caller's own picture stays as it is, and so does everything beside the area.
    @Test(arguments: [(64, 48), (63, 47), (17, 33), (2, 2)], effects) func nothingBesideAnAreaChanges(
        size: (Int, Int), effect: PrivacyMask.Effect
    ) throws {
        let size = PictureSize(width: size.0, height: size.1)
        let picture = TestPicture(size, seed: 5)
        let area = PrivacyMask.Area(x: 25, y: 50, width: 30, height: 40, effect)
        let out = try masked(picture, settings(area))
        let (left, top, width, height) = area.region(of: size, turn: PictureTurn(.upright))
        for (plane, step) in [(0, 1), (1, 2), (2, 2)] {
            let whole = step == 1 ? size : size.chroma
            let columns = left / step..<(left + width + step - 1) / step
            let rows = top / step..<(top + height + step - 1) / step
            var changed = 0
            for y in 0..<whole.height {
                for x in 0..<whole.width {
                    let isSame = out.sample(plane, x, y) == picture.sample(plane, x, y)
                    if columns.contains(x), rows.contains(y) { changed += isSame ? 0 : 1 } else { #expect(isSame) }
                }
            }
            #expect(changed > 0 || size.width < 64, "plane \(plane)")
        }
        #expect(picture.difference(from: TestPicture(size, seed: 5)) == nil && out.paddingIsIntact)
    }

    /// Pictures that differ in the area alone are the same behind a fill, and behind the others where the means are.
    @Test func whatIsCoveredIsGone() throws {
        let size = PictureSize(width: 64, height: 64)
        let area = PrivacyMask.Area(x: 25, y: 25, width: 50, height: 50, .fill(PrivacyMask.FillColor("#ff0000")!))
        let a = TestPicture(size) { _, x, y in UInt8(x * 3 + y) }
        let b = TestPicture(size) { plane, x, y in
            let (from, to) = plane == 0 ? (16, 48) : (8, 24)
            let isCovered = (from..<to).contains(x) && (from..<to).contains(y)
            return isCovered ? 255 - UInt8(x + y) : UInt8(x * 3 + y)
        }
        let (first, second) = (try masked(a, settings(area)), try masked(b, settings(area)))
        #expect(first.difference(from: second) == nil)
        // Red in BT.709, of the limited and of the full range.
        #expect([0, 1, 2].map { first.sample($0, 20, 20) } == [63, 102, 240])
        let full = try masked(a, settings(area), isFullRange: true)
        #expect([0, 1, 2].map { full.sample($0, 20, 20) } == [54, 99, 255])
        // A checkerboard has the same means as grey.
        let board = TestPicture(size) { _, x, y in (x + y) % 2 == 0 ? 100 : 156 }
        for effect in [PrivacyMask.Effect.pixelate(16), .blur(16)] {
            let out = try masked(board, settings(PrivacyMask.Area(x: 0, y: 0, width: 100, height: 100, effect)))
            #expect((0..<64).allSatisfy { out.sample(0, $0, 63 - $0) == 128 && out.sample(1, $0 / 2, 5) == 128 })
        }
    }

    /// An area is where people see it.
    @Test func aTurnedPictureIsMaskedAsItIsShown() throws {
        let size = PictureSize(width: 40, height: 80)
        let picture = TestPicture(size) { _, _, _ in 90 }
        let area = PrivacyMask.Area(x: 0, y: 0, width: 50, height: 50, .fill(PrivacyMask.FillColor("white")!))
        for rotation in [0, 16384, 32768, 49152] as [UInt16] {
            let orientation = Orientation(rotation: rotation)
            let out = try masked(picture, settings(area), orientation: orientation)
            let turn = PictureTurn(orientation)
            let upright = Picture(size: turn.size(of: size))
            turn.turn(out.view, into: upright.mutableView)
            let luma = upright.view.y
            #expect(luma.row(1)[1] == 235 && luma.row(luma.height / 2 - 1)[luma.width / 2 - 1] == 235, "\(rotation)")
            #expect(luma.row(luma.height / 2)[1] == 90 && luma.row(1)[luma.width / 2] == 90, "\(rotation)")
        }
    }

    /// More is hidden where an area is new or changed.
    @Test func settingsKnowWhoHidesMore() {
        let (a, b) = (
            PrivacyMask.Area(x: 0, y: 0, width: 10, height: 10, .blur(8)),
            PrivacyMask.Area(x: 50, y: 0, width: 10, height: 10, .blur(8))
        )
        let (none, one, both) = (StepSettings(), settings(a), settings(b, a))
        #expect(both.hides(allOf: one) && both.hides(allOf: none) && one.hides(allOf: one) && none.hides(allOf: none))
        #expect(!one.hides(allOf: both) && !none.hides(allOf: one) && !settings(b).hides(allOf: one))
        #expect(!none.holdsBypass && one.holdsBypass && !settings().holdsBypass)
    }
}
