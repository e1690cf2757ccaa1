import Enhance
import Kernels
import Media
import Testing

@Suite struct MotionBlurTests {
    private let size = PictureSize(width: 160, height: 120)
    private let scene = MotionScene()

    /// Blurs the picture before the last, or where they have ended the last.
    private func blur(
        _ pictures: [TestPicture], enhanced: [TestPicture]? = nil, strength: Double = 100, ends: Bool = false,
        flows: [FlowPair?]? = nil, kernels: Kernels = .best, threads: Int = 1
    ) throws -> (TestPicture, MotionBlurResult) {
        let enhanced = enhanced ?? pictures
        var configuration = FrameInterpolationConfiguration(size: pictures[0].size)
        configuration.scaleFactor = enhanced[0].size.width / pictures[0].size.width
        configuration.kernels = kernels
        let session = try MotionBlur(configuration, workers: WorkerPool(threadCount: threads))
        for index in pictures.indices {
            try session.push(pictures[index].view, enhanced: enhanced[index].view, flow: flows?[index])
        }
        if ends { session.finish() }
        let output = TestPicture(enhanced[0].size)
        return (output, try session.blur(strength: strength, into: output.mutableView))
    }

    /// The mean of what a camera sees from one time to another, in samples that things move by.
    private func seen(_ x: Double, _ y: Double, from first: Double, to last: Double) -> TestPicture {
        let shots = (0..<24).map { shot in
            let time = first + (last - first) * (Double(shot) + 0.5) / 24
            return scene.picture(size, movedBy: x * time, y * time)
        }
        return TestPicture(size) { plane, column, row in
            UInt8((Double(shots.reduce(0) { $0 + $1.sample(plane, column, row) }) / 24).rounded())
        }
    }

    @Test(arguments: [(5.5, 2.0, 100.0), (14, -7, 100), (14, -7, 40)]) func itIsWhatACameraSees(
        x: Double, y: Double, strength: Double
    ) throws {
        let pictures = [-1.0, 0, 1].map { scene.picture(size, movedBy: x * $0, y * $0) }
        let half = strength / 200
        let truth = seen(x, y, from: -half, to: half)
        let (output, result) = try blur(pictures, strength: strength)
        #expect(result.before > 1 && result.before == result.after && !result.isPending)
        #expect(output.paddingIsIntact)
        for plane in 0..<2 {
            let noise = output.noise(against: truth, border: 24, plane: plane)
            let sharp = pictures[1].noise(against: truth, border: 24, plane: plane)
            #expect(noise > 38 && noise > sharp + 6, "plane \(plane): \(noise) dB, \(sharp) without")
        }
        // Without a picture on a side, the shutter opens, or closes, with the picture.
        let (first, opening) = try blur(Array(pictures[1...]), strength: strength)
        #expect(opening.before == 0 && opening.after == result.after)
        let (last, closing) = try blur(Array(pictures[..<2]), strength: strength, ends: true)
        #expect(closing.after == 0 && closing.before == result.before)
        #expect(first.noise(against: seen(x, y, from: 0, to: half), border: 24) > 38)
        #expect(last.noise(against: seen(x, y, from: -half, to: 0), border: 24) > 38)
    }

    @Test func aCutIsNotBlurredOver() throws {
        let pictures = [-1.0, 0].map { scene.picture(size, movedBy: 6 * $0, 0) }
        let other = MotionScene(seed: 40)
        let (next, result) = try blur(pictures + [other.picture(size, movedBy: 0, 0)])
        #expect(result.after == 0 && result.before > 1)
        #expect(next.difference(from: try blur(pictures, ends: true).0) == nil)
        // Between two cuts there is nothing but the picture.
        let (alone, none) = try blur([
            other.picture(size, movedBy: 0, 0), pictures[1], MotionScene(seed: 9).picture(size, movedBy: 0, 0),
        ])
        #expect(none.before == 0 && none.after == 0 && alone.difference(from: pictures[1]) == nil)
        #expect(try blur([pictures[0]], ends: true).0.difference(from: pictures[0]) == nil)
    }

    @Test(arguments: FrameInterpolationTests.sizes) func whatRestsStaysAsItIs(size: PictureSize) throws {
        let picture = TestPicture(size, seed: 4)
        for strength in [1.0, 50, 100] {
            let (output, result) = try blur([picture, picture, picture], strength: strength)
            #expect(output.difference(from: picture) == nil && result.before == 1 && result.after == 1)
        }
    }

    /// The longest motion says how many pictures are made.
    @Test func farMotionTakesMorePictures() throws {
        func samples(_ x: Double, _ strength: Double) throws -> Int {
            try blur([0.0, 1, 2].map { scene.picture(size, movedBy: x * $0, 0) }, strength: strength).1.after
        }
        #expect(try samples(1, 100) == 1)
        #expect(try samples(24, 100) > samples(5, 100) && samples(24, 100) > samples(24, 20))
        let large = [0.0, 1, 2].map { scene.picture(size.scaled(by: 2), movedBy: 24 * $0, 0) }
        let small = [0.0, 1, 2].map { scene.picture(size, movedBy: 12 * $0, 0) }
        #expect(try blur(small, enhanced: large).1.after > blur(small).1.after)
    }

    /// Every instruction set and every number of threads makes the same picture, also for odd and tiny sizes.
    @Test(arguments: FrameInterpolationTests.sizes) func everyLevelAndThreadCountGivesTheSame(size: PictureSize) throws {
        let pictures = [0.0, 4, 7].map { scene.picture(size, movedBy: $0, $0 / 2) }
        let (reference, _) = try blur(pictures, kernels: Kernels(limit: []))
        #expect(reference.paddingIsIntact)
        for threads in [1, 2] {
            #expect(try blur(pictures, threads: threads).0.difference(from: reference) == nil)
        }
    }

    @Test func motionMayBeGiven() throws {
        let pictures = [0.0, 6, 12].map { scene.picture(size, movedBy: $0, 0) }
        func flow(_ x: Float) throws -> FlowPair {
            let flow = FlowPair(forward: try FlowField(size: size), backward: try FlowField(size: size))
            for row in 0..<flow.forward.rows {
                for column in 0..<flow.forward.columns {
                    flow.forward[column, row] = FlowField.Vector(x: x, y: 0)
                    flow.backward[column, row] = FlowField.Vector(x: -x, y: 0)
                }
            }
            return flow
        }
        let truth = seen(6, 0, from: 0.5, to: 1.5)
        let found = try blur(pictures).0.noise(against: truth, border: 24)
        let given = try blur(pictures, flows: [nil, flow(6), flow(6)]).0.noise(against: truth, border: 24)
        let wrong = try blur(pictures, flows: [nil, flow(-6), flow(-6)]).0.noise(against: truth, border: 24)
        #expect(given > found - 0.5 && wrong < given - 6, "\(found), \(given), \(wrong)")
    }

    @Test func wrongUseIsRefused() throws {
        let picture = TestPicture(PictureSize(width: 16, height: 16))
        let session = try MotionBlur(FrameInterpolationConfiguration(size: picture.size))
        let flow = FlowPair(forward: try FlowField(size: picture.size), backward: try FlowField(size: picture.size))
        func code(_ body: () throws(EnhanceError) -> Void) -> EnhanceError.Code? {
            do throws(EnhanceError) { try body() } catch { return error.code }
            return nil
        }
        func blur(_ strength: Double) -> EnhanceError.Code? {
            code { () throws(EnhanceError) in _ = try session.blur(strength: strength, into: picture.mutableView) }
        }
        func push(_ flow: FlowPair?) -> EnhanceError.Code? {
            code { () throws(EnhanceError) in try session.push(picture.view, enhanced: picture.view, flow: flow) }
        }
        #expect(blur(50) == .missingPicture && push(flow) == .missingPicture && push(nil) == nil)
        #expect(blur(50) == .missingPicture)
        session.finish()
        for strength in [0, 0.9, 100.1, .nan] { #expect(blur(strength) == .badParameter) }
        // The next picture begins another sequence.
        #expect(blur(50) == nil && push(flow) == .missingPicture && push(nil) == nil && blur(50) == .missingPicture)
        let input = FrameInterpolationInput(picture.view, enhanced: picture.view)
        session.reset()
        let first = try session.process(input, into: picture.mutableView, MotionBlurParameters())
        let second = try session.process(input, into: picture.mutableView, MotionBlurParameters(strength: 100))
        #expect(first.isPending && !second.isPending && second.after == 1)
    }
}
