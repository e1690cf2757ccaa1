import Enhance
import Media
import Testing

/// Motion that was found beforehand.
@Suite struct GivenFlowTests {
    private let size = PictureSize(width: 131, height: 77)
    private let scene = MotionScene()

    private func pictures(_ count: Int) -> [TestPicture] {
        (0..<count).map { scene.picture(size, movedBy: 3 * Double($0), 1.5 * Double($0)) }
    }

    private func flow(_ first: TestPicture, _ second: TestPicture) throws -> FlowPair {
        let session = try OpticalFlow(OpticalFlowConfiguration(size: size))
        let flow = session.makeFlow()
        try session.process(PicturePair(first.view, second.view), into: flow, OpticalFlowParameters())
        return flow
    }

    private func between(
        _ variant: InterpolationVariant, _ pictures: [TestPicture], _ flows: [FlowPair?]
    ) throws -> TestPicture {
        let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
        for (picture, flow) in zip(pictures, [nil] + flows) {
            try session.push(picture.view, enhanced: picture.view, flow: flow)
        }
        session.finish()
        let output = TestPicture(size)
        #expect(try session.synthesise(phase: 0.5, into: output.mutableView).isComplete)
        return output
    }

    /// A session with a flow makes a picture as good as one that finds it, wherever among the pairs it is given.
    @Test(arguments: InterpolationVariant.allCases)
    func aGivenFlowServesAsWell(variant: InterpolationVariant) throws {
        let pictures = pictures(4)
        let truth = scene.picture(size, movedBy: 7.5, 3.75)
        let own = try between(variant, pictures, [nil, nil, nil]).noise(against: truth)
        let flows: [FlowPair?] = try zip(pictures, pictures.dropFirst()).map { try flow($0, $1) }
        for given in [flows, [nil, nil, flows[2]], [flows[0], nil, flows[2]], [nil, flows[1], nil]] {
            let noise = try between(variant, pictures, given).noise(against: truth)
            #expect(noise > own - 0.5, "\(noise) dB with a flow, \(own) without")
        }
    }

    /// What the caller writes into a field is what moves: with the motion reversed the picture is another.
    @Test(arguments: InterpolationVariant.allCases)
    func vectorsOfTheCallersOwnAreUsed(variant: InterpolationVariant) throws {
        let pictures = pictures(2)
        let truth = scene.picture(size, movedBy: 1.5, 0.75)
        func given(_ sign: Float, spacing: Int) throws -> FlowPair {
            let flow = FlowPair(
                forward: try FlowField(size: size, spacing: spacing), backward: try FlowField(size: size, spacing: spacing))
            for row in 0..<flow.forward.rows {
                for column in 0..<flow.forward.columns {
                    flow.forward[column, row] = FlowField.Vector(x: 3 * sign, y: 1.5 * sign)
                    flow.backward[column, row] = FlowField.Vector(x: -3 * sign, y: -1.5 * sign)
                }
            }
            return flow
        }
        for spacing in [4, 8] {
            let right = try between(variant, pictures, [try given(1, spacing: spacing)]).noise(against: truth)
            let wrong = try between(variant, pictures, [try given(-1, spacing: spacing)]).noise(against: truth)
            #expect(right > 38 && wrong < right - 6, "\(right) dB, and \(wrong) the other way")
        }
        // Nothing that stands in a field stops the program.
        let mad = try given(1, spacing: 4)
        for (column, value) in [Float.nan, .infinity, -.infinity, 1e30, -1e30].enumerated() {
            mad.forward[column, 3] = FlowField.Vector(x: value, y: -value)
            mad.backward[column, 5] = FlowField.Vector(x: -value, y: value)
        }
        #expect(try between(variant, pictures, [mad]).paddingIsIntact)
    }

    @Test func wrongFlowsAreRefused() throws {
        let pictures = pictures(2)
        let other = PictureSize(width: 64, height: 48)
        let wrong = FlowPair(forward: try FlowField(size: size), backward: try FlowField(size: other))
        let right = FlowPair(forward: try FlowField(size: size), backward: try FlowField(size: size))
        func code(_ body: () throws(EnhanceError) -> Void) -> EnhanceError.Code? {
            do throws(EnhanceError) { try body() } catch { return error.code }
            return nil
        }
        for variant in InterpolationVariant.allCases {
            let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
            func push(_ picture: TestPicture, _ flow: FlowPair?) -> EnhanceError.Code? {
                code { () throws(EnhanceError) in try session.push(picture.view, enhanced: picture.view, flow: flow) }
            }
            #expect(push(pictures[0], right) == .missingPicture)
            #expect(push(pictures[0], nil) == nil)
            #expect(push(pictures[1], wrong) == .sizeMismatch)
            #expect(push(pictures[1], right) == nil)
            session.finish()
            #expect(session.isReady)
            // The next picture begins another sequence.
            #expect(push(pictures[0], right) == .missingPicture)
        }
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: size))
        func push(_ picture: TestPicture, _ flow: FlowPair?) -> EnhanceError.Code? {
            code { () throws(EnhanceError) in try session.push(picture.view, enhanced: picture.view, flow: flow) }
        }
        #expect(push(pictures[0], right) == .missingPicture)
        #expect(push(pictures[0], nil) == nil)
        #expect(push(pictures[1], wrong) == .sizeMismatch)
        #expect(push(pictures[1], right) == nil)
        #expect(code { () throws(EnhanceError) in _ = try FlowField(size: size, spacing: 5) } == .badParameter)
        #expect(
            code { () throws(EnhanceError) in
                _ = try FlowField(size: PictureSize(width: 0, height: 1))
            } == .unsupportedSize)
    }

    /// One picture is no pair, and a call that makes nothing says so.
    @Test func onePictureIsPending() throws {
        let picture = pictures(1)[0]
        for variant in InterpolationVariant.allCases {
            let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
            let output = TestPicture(size)
            let input = FrameInterpolationInput(picture.view, enhanced: picture.view)
            let result = try session.process(input, into: output.mutableView, FrameInterpolationParameters())
            #expect(result.method == .pending)
            #expect(output.difference(from: TestPicture(size)) == nil)
            #expect(throws: EnhanceError.self) {
                try session.process(nil, into: output.mutableView, FrameInterpolationParameters())
            }
        }
    }
}
