import Enhance
import Media
import Testing

/// A processor as the checks below use it.
struct CheckedProcessor: Sendable, CustomTestStringConvertible {
    let name: String
    /// Runs the checks of ``ProcessorChecks`` on it.
    let check: @Sendable (ProcessorCheck) throws -> Void
    var testDescription: String { name }

    /// - Parameter feed: gives a session a picture of any size, with a buffer for the result that is right for the session.
    init<P: FrameProcessor & SendableMetatype>(
        _ type: P.Type, feed: @escaping @Sendable (P, TestPicture) throws(EnhanceError) -> Void
    ) where P.Resources == WorkerPool {
        name = "\(type)"
        check = { try $0.run(ProcessorChecks<P>(feed: feed)) }
    }

    /// All processors of the library. A new one is a line here.
    static let all = [
        CheckedProcessor(SuperResolutionSession.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.outputSize)
            try session.process(picture.view, into: output.mutableView, SuperResolutionParameters())
        },
        CheckedProcessor(OpticalFlow.self) { session, picture throws(EnhanceError) in
            try session.process(PicturePair(picture.view, picture.view), into: session.makeFlow(), OpticalFlowParameters())
        },
        CheckedProcessor(LowLatencyFrameInterpolation.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.outputSize)
            try session.process(
                FrameInterpolationInput(picture.view, enhanced: picture.view), into: output.mutableView,
                FrameInterpolationParameters())
        },
        CheckedProcessor(FrameRateConversion.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.outputSize)
            try session.process(
                FrameInterpolationInput(picture.view, enhanced: picture.view), into: output.mutableView,
                FrameInterpolationParameters())
        },
        CheckedProcessor(FrameExtrapolation.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.outputSize)
            try session.process(
                FrameInterpolationInput(picture.view, enhanced: picture.view), into: output.mutableView,
                FrameExtrapolationParameters())
        },
        CheckedProcessor(MotionBlur.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.outputSize)
            try session.process(
                FrameInterpolationInput(picture.view, enhanced: picture.view), into: output.mutableView, MotionBlurParameters())
        },
        CheckedProcessor(TemporalNoiseFilter.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.configuration.size)
            try session.process(picture.view, into: output.mutableView, TemporalNoiseParameters())
        },
        CheckedProcessor(TwoSidedNoiseFilter.self) { session, picture throws(EnhanceError) in
            let output = Picture(size: session.configuration.size)
            try session.process(picture.view, into: output.mutableView, TwoSidedNoiseParameters())
        },
    ]
}

enum ProcessorCheck: CaseIterable {
    case sizes, otherSize, cancellation

    func run<P>(_ checks: ProcessorChecks<P>) throws {
        switch self {
        case .sizes: try checks.takesAllSizes()
        case .otherSize: try checks.refusesOtherSizes()
        case .cancellation: try checks.canBeCancelled()
        }
    }
}

/// What all processors do alike.
struct ProcessorChecks<P: FrameProcessor> where P.Resources == WorkerPool {
    let feed: @Sendable (P, TestPicture) throws(EnhanceError) -> Void

    private func session(_ size: PictureSize) throws(EnhanceError) -> P {
        try P(P.Configuration(size: size), on: WorkerPool(threadCount: 1))
    }

    private func refusal(_ body: () throws(EnhanceError) -> Void) -> EnhanceError? {
        do throws(EnhanceError) { try body() } catch { return error }
        return nil
    }

    /// Odd and tiny sizes, one picture and several. Sizes outside of what it says are refused, with the sizes that are not.
    func takesAllSizes() throws {
        for (width, height) in [(1, 1), (2, 1), (1, 7), (5, 3), (33, 31), (64, 48)] {
            let size = PictureSize(width: width, height: height)
            let session = try session(size)
            #expect(session.configuration.supportedSizes.contains(size) && session.configuration.size == size)
            for seed in 0..<4 { try feed(session, TestPicture(size, seed: UInt64(seed))) }
        }
        let sizes = P.Configuration(size: PictureSize(width: 1, height: 1)).supportedSizes
        let outside = [(0, 16), (16, -1), (sizes.largest.width + 1, 16), (16, sizes.largest.height + 1)]
        for (width, height) in outside {
            let size = PictureSize(width: width, height: height)
            #expect(!sizes.contains(size))
            let error = try #require(refusal { () throws(EnhanceError) in _ = try self.session(size) })
            #expect(error.code == .unsupportedSize && error.message.contains("\(sizes.largest.width)"), "\(error)")
        }
    }

    /// A picture of another size is refused, and the sequence goes on after it.
    func refusesOtherSizes() throws {
        let size = PictureSize(width: 48, height: 32)
        let session = try session(size)
        try feed(session, TestPicture(size, seed: 1))
        for (width, height) in [(32, 48), (49, 32), (48, 31)] {
            let other = TestPicture(PictureSize(width: width, height: height), seed: 2)
            let error = try #require(refusal { () throws(EnhanceError) in try feed(session, other) })
            #expect(error.code == .sizeMismatch && error.message.contains("another session"), "\(error)")
        }
        for seed in 2..<5 { try feed(session, TestPicture(size, seed: UInt64(seed))) }
    }

    /// Each call after a cancellation is refused until the session is reset.
    func canBeCancelled() throws {
        let size = PictureSize(width: 48, height: 32)
        let session = try session(size)
        for seed in 0..<4 { try feed(session, TestPicture(size, seed: UInt64(seed))) }
        session.cancellation.cancel()
        for _ in 0..<2 {
            let error = try #require(refusal { () throws(EnhanceError) in try feed(session, TestPicture(size, seed: 9)) })
            #expect(error.code == .cancelled && error.message.contains("reset()"), "\(error)")
        }
        session.reset()
        #expect(!session.cancellation.isRequested)
        for seed in 0..<4 { try feed(session, TestPicture(size, seed: UInt64(seed))) }
    }
}

@Suite struct ProcessorTests {
    @Test(arguments: CheckedProcessor.all, ProcessorCheck.allCases)
    func allProcessorsAreAlike(processor: CheckedProcessor, check: ProcessorCheck) throws {
        try processor.check(check)
    }
}
