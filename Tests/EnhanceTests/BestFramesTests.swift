import Enhance
import Media
import Testing

/// Pictures that stand for a video: planted faults are not chosen, and every scene is.
@Suite struct BestFramesTests {
    private static let size = PictureSize(width: 320, height: 180)

    /// A scene of smooth shapes and fine texture, of its own for each seed.
    private func scene(_ seed: Int, shift: Int = 0) -> TestPicture {
        let picture = TestPicture(Self.size)
        let view = picture.mutableView
        func fill(_ plane: MutablePlaneView, _ level: (Int, Int) -> Int) {
            for y in 0..<plane.height { for x in 0..<plane.width { plane.row(y)[x] = UInt8(clamping: level(x + shift, y)) } }
        }
        fill(view.y) { x, y in
            let shapes = (x / (20 + 9 * seed) + y / (15 + 7 * ((seed * 3) % 5))) % 2 * 70
            return 60 + shapes + (x * (3 + seed) + y * 5) % 23 * 2 + (seed % 2 == 0 ? x / 6 : (320 - x) / 6)
        }
        fill(view.u) { x, y in 110 + (seed * 37) % 50 + x / 16 % 8 }
        fill(view.v) { x, y in 150 - (seed * 29) % 50 - y / 16 % 8 }
        return picture
    }

    private func changed(_ picture: TestPicture, _ body: (PlaneView, Int, Int) -> Int, chroma: Double = 1) -> TestPicture {
        let result = TestPicture(Self.size)
        let (from, to) = (picture.view, result.mutableView)
        for y in 0..<to.y.height { for x in 0..<to.y.width { to.y.row(y)[x] = UInt8(clamping: body(from.y, x, y)) } }
        for (source, target) in [(from.u, to.u), (from.v, to.v)] {
            for y in 0..<target.height {
                for x in 0..<target.width {
                    target.row(y)[x] = UInt8(clamping: 128 + Int(chroma * Double(Int(source.row(y)[x]) - 128)))
                }
            }
        }
        return result
    }

    private func blurred(_ picture: TestPicture, across: Int, down: Int) -> TestPicture {
        changed(picture) { plane, x, y in
            var (sum, count) = (0, 0)
            for dy in -down...down {
                for dx in -across...across {
                    sum += Int(plane.row(min(max(y + dy, 0), plane.height - 1))[min(max(x + dx, 0), plane.width - 1)])
                    count += 1
                }
            }
            return sum / count
        }
    }

    private func candidate(_ picture: TestPicture, before: TestPicture? = nil, quantiser: Double? = nil) -> BestFrames.Candidate
    {
        withExtendedLifetime((picture, before)) {
            BestFrames.Candidate(
                FrameMerit(picture.view, before: before?.view, quantiser: quantiser), FramePrint(picture.view))
        }
    }

    /// Three scenes of which most pictures have a fault: one good one of each is chosen.
    @Test func goodPicturesOfEveryScene() {
        var (candidates, good): ([BestFrames.Candidate], [Int: Int]) = ([], [:])
        for seed in 1...3 {
            let whole = scene(seed)
            let faulty = [
                changed(whole, { plane, x, y in 16 + (Int(plane.row(y)[x]) - 16) / 12 }, chroma: 0.1),
                changed(whole, { plane, x, y in 180 + Int(plane.row(y)[x]) / 5 }, chroma: 0.3),
                blurred(whole, across: 6, down: 0), blurred(whole, across: 3, down: 3),
                changed(whole) { plane, x, y in Int(plane.row(y / 8 * 8 + 3)[x / 8 * 8 + 3]) },
            ]
            for picture in faulty { candidates.append(candidate(picture)) }
            // While it moves fast.
            candidates.append(candidate(whole, before: scene(seed, shift: 40)))
            candidates.append(candidate(whole, quantiser: 46))
            good[candidates.count] = seed
            candidates.append(candidate(whole, before: scene(seed, shift: 0)))
        }
        let scores = BestFrames.scores(of: candidates)
        let chosen = BestFrames.choose(3, of: candidates, scores)
        #expect(Set(chosen) == Set(good.keys), "\(chosen), \(scores)")
        #expect(scores.allSatisfy { (0...1).contains($0) })
        // More than there are scenes.
        #expect(Set(BestFrames.choose(30, of: candidates, scores)).count == candidates.count)
        #expect(BestFrames.choose(3, of: [], []).isEmpty)
    }

    @Test func aPrintTellsScenesApart() {
        let prints = (1...5).map { seed in
            let picture = scene(seed)
            return withExtendedLifetime(picture) { FramePrint(picture.view) }
        }
        for (place, print) in prints.enumerated() {
            for other in prints[(place + 1)...] { #expect(print.distance(to: other) > FramePrint.oneScene) }
            let faded = changed(scene(place + 1), { plane, x, y in 120 + Int(plane.row(y)[x]) / 3 }, chroma: 0.8)
            withExtendedLifetime(faded) { #expect(print.distance(to: FramePrint(faded.view)) < FramePrint.oneScene) }
        }
    }

    /// Pictures of every size have a merit and a print.
    @Test(arguments: [(1, 1), (2, 2), (7, 3), (17, 200), (1300, 20)]) func anySizeIsJudged(width: Int, height: Int) {
        let picture = TestPicture(PictureSize(width: width, height: height), seed: 3)
        let found = candidate(picture, before: picture)
        #expect(found.merit.sharpness.isFinite && (0...1).contains(found.merit.exposure) && found.merit.steadiness == 1)
        #expect(found.print.distance(to: found.print) == 0)
    }
}
