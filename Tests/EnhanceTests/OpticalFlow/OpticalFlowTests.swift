import Enhance
import Kernels
import Media
import Testing

@Suite struct OpticalFlowTests {
    static func flow(
        _ first: TestPicture, _ second: TestPicture, accuracy: OpticalFlowConfiguration.Accuracy = .fullSize,
        kernels: Kernels = .best, threads: Int = 1
    ) throws -> (forward: FlowField, backward: FlowField) {
        var configuration = OpticalFlowConfiguration(size: first.size)
        configuration.accuracy = accuracy
        configuration.kernels = kernels
        let session = try OpticalFlow(configuration, workers: WorkerPool(threadCount: threads))
        let (forward, backward) = (session.makeField(), session.makeField())
        #expect(try session.process(first.view, second.view, forward: forward, backward: backward))
        return (forward, backward)
    }

    @Test(arguments: [OpticalFlowConfiguration.Accuracy.halfSize, .fullSize])
    func aTranslationIsFoundToATenthOfASample(accuracy: OpticalFlowConfiguration.Accuracy) throws {
        let (size, scene) = (PictureSize(width: 192, height: 128), MotionScene())
        for (x, y) in [(1.0, 0.0), (-2.5, 4.25), (11.3, -6.7), (0.3, 0.2)] {
            let (forward, backward) = try Self.flow(
                scene.picture(size, movedBy: 0, 0), scene.picture(size, movedBy: x, y), accuracy: accuracy)
            // Only where both pictures show the content. The median, because a few patches lie in flat places.
            var errors: [Float] = []
            for row in 4..<forward.rows - 4 {
                for column in 4..<forward.columns - 4 {
                    let (f, b) = (forward[column, row], backward[column, row])
                    errors.append(max(abs(f.x - Float(x)), abs(f.y - Float(y))))
                    errors.append(max(abs(b.x + Float(x)), abs(b.y + Float(y))))
                }
            }
            errors.sort()
            #expect(errors[errors.count / 2] < 0.1, "motion \(x), \(y): median error \(errors[errors.count / 2])")
            #expect(errors[errors.count * 9 / 10] < 0.25, "motion \(x), \(y): \(errors[errors.count * 9 / 10])")
            let middle = forward.vector(x: 96, y: 64)
            #expect(abs(middle.x - Float(x)) < 0.25 && abs(middle.y - Float(y)) < 0.25)
        }
    }

    @Test func equalPicturesDoNotMove() throws {
        for size in FrameInterpolationTests.sizes {
            let picture = TestPicture(size, seed: 9)
            let (forward, backward) = try Self.flow(picture, picture)
            for row in 0..<forward.rows {
                for column in 0..<forward.columns {
                    let (f, b) = (forward[column, row], backward[column, row])
                    #expect(f.x == 0 && f.y == 0 && b.x == 0 && b.y == 0)
                }
            }
        }
    }

    @Test func everyLevelAndThreadCountGivesTheSame() throws {
        let size = PictureSize(width: 131, height: 99)
        let (first, second) = (TestPicture(size, seed: 1), TestPicture(size, seed: 2))
        let reference = try Self.flow(first, second, kernels: Kernels(limit: []))
        for threads in [1, 2] {
            let other = try Self.flow(first, second, threads: threads)
            for row in 0..<reference.forward.rows {
                for column in 0..<reference.forward.columns {
                    #expect(other.forward[column, row] == reference.forward[column, row])
                    #expect(other.backward[column, row] == reference.backward[column, row])
                }
            }
        }
    }

    @Test func wrongUseIsRefused() throws {
        let (small, large) = (TestPicture(PictureSize(width: 16, height: 16)), TestPicture(PictureSize(width: 32, height: 16)))
        let session = try OpticalFlow(OpticalFlowConfiguration(size: small.size))
        let other = try OpticalFlow(OpticalFlowConfiguration(size: large.size))
        let (field, fieldOfOther) = (session.makeField(), other.makeField())
        #expect(throws: EnhanceError.self) {
            try session.process(small.view, large.view, forward: field, backward: field)
        }
        #expect(throws: EnhanceError.self) {
            try session.process(small.view, small.view, forward: field, backward: fieldOfOther)
        }
        #expect(throws: EnhanceError.self) {
            try OpticalFlow(OpticalFlowConfiguration(size: PictureSize(width: 0, height: 4)))
        }
    }
}
