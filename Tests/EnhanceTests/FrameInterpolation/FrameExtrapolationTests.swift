import Enhance
import Kernels
import Media
import Testing

@Suite struct FrameExtrapolationTests {
    static func extrapolate(
        _ pictures: [TestPicture], distance: Double, kernels: Kernels = .best, threads: Int = 1,
        until stop: MonotonicTime? = nil
    ) throws -> (TestPicture, FrameInterpolationResult) {
        var configuration = FrameInterpolationConfiguration(size: pictures[0].size)
        configuration.kernels = kernels
        let session = try FrameExtrapolation(configuration, workers: WorkerPool(threadCount: threads))
        for picture in pictures { try session.push(picture.view, enhanced: picture.view) }
        let output = TestPicture(pictures[0].size)
        return (output, try session.synthesise(distance: distance, into: output.mutableView, until: stop))
    }

    @Test func steadyMotionGoesOn() throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let pictures = [0.0, 1, 2].map { scene.picture(size, movedBy: 4 * $0, -2 * $0) }
        for distance in [0.5, 1] {
            let truth = scene.picture(size, movedBy: 8 + 4 * distance, -4 - 2 * distance)
            let (output, result) = try Self.extrapolate(pictures, distance: distance)
            #expect(result.method == .motionCompensated)
            #expect(output.noise(against: truth) > 35, "distance \(distance)")
            #expect(output.noise(against: truth) > pictures[2].noise(against: truth) + 10)
        }
    }

    /// Motion is found when a picture is made, also where none was made for a while.
    @Test func motionGoesOnAfterPicturesThatNothingWasMadeFrom() throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: size))
        let output = TestPicture(size)
        for index in 0..<12 {
            let picture = scene.picture(size, movedBy: 4 * Double(index), 0)
            try session.push(picture.view, enhanced: picture.view)
            guard index >= 2, index % 4 != 3 else { continue }
            for distance in index == 6 ? [0.5, 1] : [0.5] {
                let result = try session.synthesise(distance: distance, into: output.mutableView)
                let truth = scene.picture(size, movedBy: 4 * (Double(index) + distance), 0)
                #expect(result.method == .motionCompensated && result.isComplete)
                #expect(output.noise(against: truth) > 35, "picture \(index), distance \(distance)")
            }
        }
    }

    /// The session does not continue motion that would have predicted the last picture wrongly.
    @Test func motionThatTurnsBackIsNotTrusted() throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let pictures = [0.0, 5, 0].map { scene.picture(size, movedBy: $0, 0) }
        let (output, _) = try Self.extrapolate(pictures, distance: 1)
        #expect(output.noise(against: pictures[2], border: 0) > 40)
    }

    /// Nine cells whose motion was right, among others where it was no better than none. Over a whole interval they are
    /// trusted, because only their own trials count. Over a shorter distance they are not, because the trials around
    /// them count too.
    @Test(arguments: [(256, 256), (128, 256 * 9 * 3 / 49), (1, 256 * 9 * 3 / 121)])
    func trialsFromAfarCountForShortWays(distance: Int, confidence: Int) {
        let (columns, rows, middle) = (25, 25, 12)
        let picture = TestPicture(PictureSize(width: 4 * columns, height: 4 * rows))
        var vectors = Array(repeating: MotionVector(x: 0, y: 0), count: columns * rows)
        var trials = (0..<columns * rows).flatMap { i -> [Int32] in
            let isNear = abs(i % columns - middle) <= 1 && abs(i / columns - middle) <= 1
            return [isNear ? 0 : 1000, 1000]
        }
        let cells = UnsafeMutablePointer<MotionCell>.allocate(capacity: columns * rows)
        defer { cells.deallocate() }
        vectors.withUnsafeMutableBufferPointer { vectors in
            let field = MotionVectors(base: vectors.baseAddress!, columns: columns, rows: rows)
            trials.withUnsafeMutableBufferPointer { trials in
                Kernels.best.decideMotionAhead(
                    MotionPair(picture.view.y, picture.view.y), last: field, before: field, distance: distance,
                    trials: trials.baseAddress!, into: cells, isTrial: false, rows: 0..<rows)
            }
        }
        #expect(Int(cells[middle * columns + middle].disagreement) == 256 - confidence)
        #expect(cells[0].disagreement == 256)
    }

    @Test func withoutAPastThePictureIsRepeated() throws {
        let picture = TestPicture(PictureSize(width: 37, height: 23), seed: 2)
        for count in 1...4 {
            let (output, result) = try Self.extrapolate(Array(repeating: picture, count: count), distance: 0.5)
            #expect(output.difference(from: picture) == nil)
            #expect((result.method == .held) == (count < 3))
        }
    }

    @Test(arguments: FrameInterpolationTests.sizes) func everyLevelAndThreadCountGivesTheSame(size: PictureSize) throws {
        let scene = MotionScene()
        let pictures = [0.0, 3, 7, 10].map { scene.picture(size, movedBy: $0, $0 / 2) }
        let (reference, _) = try Self.extrapolate(pictures, distance: 0.5, kernels: Kernels(limit: []))
        #expect(reference.paddingIsIntact)
        for threads in [1, 2] {
            let (output, _) = try Self.extrapolate(pictures, distance: 0.5, threads: threads)
            #expect(output.difference(from: reference) == nil)
        }
    }

    @Test func tooLittleTimeRepeats() throws {
        let (size, scene) = (PictureSize(width: 131, height: 77), MotionScene())
        let pictures = [0.0, 3, 6].map { scene.picture(size, movedBy: $0, 0) }
        let (output, result) = try Self.extrapolate(pictures, distance: 1, until: MonotonicTime(nanoseconds: 1))
        #expect(!result.isComplete)
        #expect(output.difference(from: pictures[2]) == nil)
    }

    @Test func wrongUseIsRefused() throws {
        let picture = TestPicture(PictureSize(width: 16, height: 16))
        #expect(throws: EnhanceError.self) { try Self.extrapolate([picture], distance: 0) }
        #expect(throws: EnhanceError.self) { try Self.extrapolate([picture], distance: 1.01) }
        #expect(throws: EnhanceError.self) { try Self.extrapolate([picture], distance: .nan) }
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: picture.size))
        #expect(throws: EnhanceError.self) { try session.synthesise(distance: 0.5, into: picture.mutableView) }
    }
}
