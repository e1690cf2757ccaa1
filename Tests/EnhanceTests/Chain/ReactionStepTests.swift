import Media
import Testing

@testable import Enhance

@Suite struct ReactionStepTests {
    private let size = PictureSize(width: 160, height: 90)

    private func settings(_ kind: Reaction.Kind, begins: MonotonicTime, length: Nanoseconds = .seconds(5)) -> StepSettings {
        var settings = StepSettings()
        settings.reactions = [Reaction(kind, length: length, begins: begins, seed: 7)]
        return settings
    }

    /// How many samples of luma are changed.
    private func changed(_ settings: StepSettings, _ orientation: Orientation = .upright) throws -> Int {
        let run = StepRun(size: size, try settings.makeSteps(at: .result, size: size, workers: WorkerPool(threadCount: 1)))
        let picture = Picture(size: size)
        let view = picture.mutableView
        for plane in [view.y, view.u, view.v] {
            for y in 0..<plane.height { plane.row(y).update(repeating: 120, count: plane.width) }
        }
        var times = StepValues(blank: Nanoseconds.zero)
        try run.process(in: view, StepParameters(settings, matrix: 1, orientation: orientation), &times)
        return (0..<size.height).reduce(0) { sum, y in sum + (0..<size.width).count { view.y.row(y)[$0] != 120 } }
    }

    /// Every kind is to be seen in its middle, on pictures that are coded any way up, and covers little.
    @Test(arguments: Reaction.Kind.allCases, [0, 16384, 32768]) func everyKindIsSeen(kind: Reaction.Kind, turn: Int) throws {
        let reaction = settings(kind, begins: .now() - .seconds(2.2))
        let count = try changed(reaction, Orientation(rotation: UInt16(turn)))
        #expect(count > 20 && count < size.samples / 3, "\(count)")
    }

    @Test func nothingIsSeenBeforeAndAfter() throws {
        #expect(try changed(settings(.rain, begins: .now() + .seconds(60))) == 0)
        #expect(try changed(settings(.rain, begins: .now() - .seconds(6))) == 0)
        #expect(StepSettings().isNeutral(.reactions))
    }

    /// Shapes are near the picture at any time, and the same reaction looks the same each time.
    @Test(arguments: Reaction.Kind.allCases) func motionIsAPureValue(kind: Reaction.Kind) {
        let reaction = Reaction(kind, x: 0.2, y: 0.8, length: .seconds(3), begins: .now(), seed: 11)
        for step in 0...30 {
            let motion = ReactionMotion(reaction: reaction, time: Double(step) / 10, width: 16.0 / 9)
            for index in 0..<motion.count {
                guard let sprite = motion.sprite(index) else { continue }
                #expect((-1.5...3.5).contains(sprite.x) && (-1.5...2.5).contains(sprite.y), "\(sprite)")
                #expect(ReactionMotion.sizes.indices.contains(sprite.size) && (0..<5).contains(sprite.color))
                #expect(motion.sprite(index)?.x == sprite.x)
            }
        }
    }

    @Test func aStepShowsTheKindsThatItWasMadeFor() {
        let heart = settings(.heart, begins: .now())
        let step = ReactionStep(heart.reactions, size: size)
        #expect(step.suits(heart) && step.suits(StepSettings()))
        #expect(!step.suits(settings(.rain, begins: .now())))
    }
}
