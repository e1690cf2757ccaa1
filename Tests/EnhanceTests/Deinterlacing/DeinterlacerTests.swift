import Enhance
import KernelChecks
import Kernels
import Media
import Testing

/// Fields of an exact motion, and the pictures that they come from.
@Suite struct DeinterlacerTests {
    private let size = PictureSize(width: 176, height: 96)
    private let scene = MotionScene()

    /// The scene at a moment, counted in fields.
    private func moment(_ field: Int, speed: Double) -> TestPicture {
        scene.picture(size, movedBy: speed * Double(field), 0.3 * speed * Double(field))
    }

    /// The rows of two pictures in turn.
    private func woven(even: TestPicture, odd: TestPicture) -> TestPicture {
        TestPicture(size) { plane, x, y in UInt8((y % 2 == 0 ? even : odd).sample(plane, x, y)) }
    }

    /// An interlaced picture whose first field is that of the given moment.
    private func interlaced(from field: Int, speed: Double, isTopFirst: Bool) -> TestPicture {
        let (first, second) = (moment(field, speed: speed), moment(field + 1, speed: speed))
        return isTopFirst ? woven(even: first, odd: second) : woven(even: second, odd: first)
    }

    @Test(arguments: [true, false]) func eachFieldBecomesThePictureOfItsMoment(isTopFirst: Bool) {
        let before = interlaced(from: 0, speed: 2.2, isTopFirst: isTopFirst)
        let picture = interlaced(from: 2, speed: 2.2, isTopFirst: isTopFirst)
        let deinterlacer = Deinterlacer()
        #expect(deinterlacer.examine(picture.view, before: before.view) && !deinterlacer.isProgressive)
        for (field, number) in [(Deinterlacer.Field.first, 2), (.second, 3)] {
            let truth = moment(number, speed: 2.2)
            let made = TestPicture(size)
            deinterlacer.make(
                field, of: picture.view, before: before.view, isTopFirst: isTopFirst, into: made.mutableView)
            for plane in 0..<3 {
                let (gained, before) = (made.noise(against: truth, plane: plane), picture.noise(against: truth, plane: plane))
                #expect(gained > before + 6, "\(field), plane \(plane): \(gained) dB after \(before) dB")
            }
            #expect(made.noise(against: truth) > 34 && made.paddingIsIntact)
            // The rows of the field itself stay.
            let parity = (field == .first) == isTopFirst ? 0 : 1
            for y in stride(from: parity, to: size.height, by: 2) {
                for x in 0..<size.width { #expect(made.sample(0, x, y) == picture.sample(0, x, y)) }
            }
        }
    }

    @Test func whatStandsStillKeepsEveryRow() {
        // Single rows, which a field alone cannot show.
        let still = TestPicture(size) { _, x, y in UInt8((x * 3 + (y % 4 < 2 ? 0 : 90)) & 255) }
        for field in [Deinterlacer.Field.first, .second] {
            let made = TestPicture(size)
            Deinterlacer().make(field, of: still.view, before: still.view, isTopFirst: true, into: made.mutableView)
            #expect(made.difference(from: still) == nil)
        }
    }

    @Test func theFirstPictureOfAStreamIsMadeFromOneField() {
        let picture = interlaced(from: 0, speed: 2.2, isTopFirst: true)
        let made = TestPicture(size)
        Deinterlacer().make(.first, of: picture.view, before: nil, isTopFirst: true, into: made.mutableView)
        let truth = moment(0, speed: 2.2)
        #expect(made.noise(against: truth) > picture.noise(against: truth) + 6 && made.paddingIsIntact)
    }

    @Test func aProgressivePictureThatMovesIsFoundOut() {
        let deinterlacer = Deinterlacer()
        var verdicts: [Bool] = []
        for number in 1...6 {
            let (before, picture) = (moment(2 * number - 2, speed: 1.5), moment(2 * number, speed: 1.5))
            verdicts.append(deinterlacer.examine(picture.view, before: before.view))
        }
        #expect(verdicts.last == false && deinterlacer.isProgressive)
        // Still pictures do not change the verdict, the first comb does.
        let still = moment(12, speed: 1.5)
        #expect(!deinterlacer.examine(still.view, before: still.view))
        let combed = interlaced(from: 14, speed: 1.5, isTopFirst: true)
        #expect(deinterlacer.examine(combed.view, before: still.view) && !deinterlacer.isProgressive)
    }

    @Test func aStillPictureCountsAsWhatItIsMarkedAs() {
        let deinterlacer = Deinterlacer()
        let still = moment(0, speed: 0)
        for _ in 0..<100 { #expect(deinterlacer.examine(still.view, before: still.view)) }
    }

    @Test(arguments: [(1, 4), (2, 5), (17, 19), (33, 6)]) func smallAndOddSizes(width: Int, height: Int) {
        let size = PictureSize(width: width, height: height)
        let (before, picture) = (TestPicture(size, seed: 1), TestPicture(size, seed: 2))
        let deinterlacer = Deinterlacer()
        _ = deinterlacer.examine(picture.view, before: before.view)
        for field in [Deinterlacer.Field.first, .second] {
            let (best, scalar) = (TestPicture(size), TestPicture(size))
            deinterlacer.make(field, of: picture.view, before: before.view, isTopFirst: true, into: best.mutableView)
            Deinterlacer(kernels: Kernels(limit: [])).make(
                field, of: picture.view, before: before.view, isTopFirst: true, into: scalar.mutableView)
            #expect(best.difference(from: scalar) == nil && best.paddingIsIntact)
        }
    }
}
