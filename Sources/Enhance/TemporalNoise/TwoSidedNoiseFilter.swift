import Kernels
import Media

/// Takes noise out of a recorded sequence of pictures: a picture is compared with filtered ones before it and after it. It takes
/// away more noise than ``TemporalNoiseFilter``, needs about four times as long, and gives pictures late.
///
/// A ``FrameProcessor``. Push pictures in the order of time, and take what is ready after each. ``finish()`` ends the sequence. A
/// sequence of one picture is fine: it is filtered alone. A filter may move from thread to thread; to use it from two at once is a
/// programming error and stops the program. Nothing is allocated after `init`.
public final class TwoSidedNoiseFilter: @unsafe FrameProcessor {
    public let configuration: TemporalNoiseConfiguration
    private let steps: NoiseSteps
    private let forwardFlow: FlowEstimator
    private let backwardFlow: FlowEstimator
    private var tracker = NoiseTracker()
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    /// A ring of pictures that wait.
    private let slots: [Slot]
    private var first = 0
    private var count = 0
    /// How many of them can be taken.
    private var ready = 0
    private var hasEnded = false
    /// The picture that was pushed last, if there is one in this sequence.
    private var last: Slot?

    /// The sequence from its beginning, filtered forward: the picture before the next one, and room for that.
    private let forward: [FilteredPicture]
    private var newest = 0
    private var hasForward = false
    private let before: LumaPyramid
    /// The sequence filtered backward: luma of the picture after.
    private let after: LumaPyramid
    private let result: FilteredPicture

    /// How many pictures are made of one run backward, and how many more that run begins with.
    private static let period = 8
    private static let runIn = 4
    /// A picture is ready at the latest when so many more have been pushed.
    public static let longestDelay = period + runIn - 1
    public var lookahead: Int { Self.longestDelay }

    /// A picture that waits.
    private final class Slot {
        let picture: NoisyPicture
        let filtered: FilteredPicture
        let motion: MotionCopy
        var levels = NoiseLevels.none
        /// Whether `filtered` is the picture, filtered backward.
        var isFiltered = false

        init(size: PictureSize, motion: MotionCopy) {
            picture = NoisyPicture(size: size)
            filtered = FilteredPicture(size: size)
            self.motion = motion
        }
    }

    /// - Parameter workers: the threads that share a picture's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: TemporalNoiseConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        self.configuration = configuration
        let size = configuration.size
        steps = try NoiseSteps(configuration, workers: workers)
        before = LumaPyramid(size: size)
        after = LumaPyramid(size: size)
        let shape = before
        // One level finer than live.
        let level = InterpolationEffort.live(for: size).levels[0] - 1
        func makeFlow() -> FlowEstimator {
            FlowEstimator(
                shape: shape, finestLevel: level, iterations: 5, kernels: configuration.kernels, directions: 1)
        }
        let backwardFlow = makeFlow()
        forwardFlow = makeFlow()
        self.backwardFlow = backwardFlow
        slots = (0..<Self.period + Self.runIn).map { _ in
            Slot(size: size, motion: unsafe MotionCopy(like: backwardFlow.forward(level: backwardFlow.finestLevel)))
        }
        forward = (0..<2).map { _ in FilteredPicture(size: size) }
        result = FilteredPicture(size: size)
    }

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: TemporalNoiseConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Forgets all pictures, the estimated noise, and that the session was cancelled.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        cancellation.clear()
        restart()
    }

    private func restart() {
        (first, count, ready) = (0, 0, 0)
        hasEnded = false
        hasForward = false
        last = nil
        tracker = NoiseTracker()
        forwardFlow.reset()
    }

    /// Adds the next picture of the sequence. The filter copies it.
    /// - Throws: `sizeMismatch`, `badParameter`, `tooManyPictures`; the filter is then as before. `cancelled`.
    @unsafe public func push(_ input: PictureView, _ parameters: TwoSidedNoiseParameters) throws(EnhanceError) {
        exclusive.begin("picture")
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try input.check(size: configuration.size, "the picture")
        try parameters.strength.check()
        guard count < slots.count, !hasEnded || count == 0 else {
            throw EnhanceError(
                .tooManyPictures, "\(count) pictures wait: take what is ready with next(into:) before the next push")
        }
        if hasEnded { restart() }
        let slot = slot(count)
        unsafe slot.picture.load(input, kernels: steps.kernels, with: steps.workers)
        switch parameters.strength {
        case .fixed(let strength):
            slot.levels = NoiseLevels(strength: strength)
        case .automatic:
            let estimate = steps.estimate(slot.picture, before: last?.picture)
            tracker.add(luma: estimate.luma, chroma: estimate.chroma)
            slot.levels = tracker.worthwhile.atLeast(codedWith: parameters.quantiser)
        }
        slot.isFiltered = false
        last = slot
        count += 1
    }

    /// Ends the sequence: all pictures that wait are ready. The next picture that is pushed after they were taken begins another
    /// sequence.
    public func finish() {
        exclusive.begin("picture")
        defer { exclusive.end() }
        hasEnded = true
    }

    /// Filters the next picture, in the order of ``push(_:_:)``.
    /// - Parameter output: of the configured size; every sample is written, and nothing around them.
    /// - Returns: nil where no picture is ready; nothing is written then.
    /// - Throws: `sizeMismatch`, `cancelled`.
    @unsafe public func next(into output: MutablePictureView) throws(EnhanceError) -> TemporalNoiseResult? {
        exclusive.begin("picture")
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try output.readOnly.check(size: configuration.size, "the output")
        let start = MonotonicTime.now()
        if ready == 0 {
            guard hasEnded || count == slots.count else { return nil }
            try filterBackward()
            ready = hasEnded ? count : count - Self.runIn
        }
        guard ready > 0 else { return nil }
        let slot = slot(0)
        var report = TemporalNoiseResult()
        if slot.levels.isNone {
            hasForward = false
            forwardFlow.reset()
            for index in 0..<3 { unsafe slot.picture.planes[index].copy(into: output.plane(index)) }
        } else {
            unsafe filter(slot, next: count > 1 ? self.slot(1) : nil, into: output)
        }
        report.lumaDeviation = slot.levels.luma
        report.chromaDeviation = slot.levels.chroma
        first = (first + 1) % slots.count
        count -= 1
        ready -= 1
        report.time = .now() - start
        return report
    }

    /// Adds the next picture, and filters the one that is ready then. The result is pending while none is: for the first
    /// ``lookahead`` pictures.
    /// - Parameters:
    ///   - input: the next picture; nil after ``finish()``, for the pictures that wait.
    ///   - output: as of ``next(into:)``.
    /// - Throws: what ``push(_:_:)`` and ``next(into:)`` throw.
    @discardableResult
    @unsafe public func process(
        _ input: PictureView?, into output: MutablePictureView, _ parameters: TwoSidedNoiseParameters
    ) throws(EnhanceError) -> TemporalNoiseResult {
        if let input = unsafe input {
            unsafe try output.readOnly.check(size: configuration.size, "the output")
            unsafe try push(input, parameters)
        }
        if let result = unsafe try next(into: output) { return result }
        var pending = TemporalNoiseResult()
        pending.isPending = true
        return pending
    }

    private func slot(_ number: Int) -> Slot { slots[(first + number) % slots.count] }

    /// Filters the pictures that wait, from the last to the second, and finds the motion of each to the one after it.
    private func filterBackward() throws(EnhanceError) {
        backwardFlow.reset()
        var following: Slot?
        for number in stride(from: count - 1, through: 0, by: -1) {
            try cancellation.check()
            let slot = slot(number)
            var reference: NoiseSteps.Reference?
            if let following, following.isFiltered {
                _ = backwardFlow.estimate(from: slot.picture.pyramid, to: after, until: nil, with: steps.workers)
                unsafe slot.motion.copy(backwardFlow.forward(level: backwardFlow.finestLevel))
                unsafe reference = unsafe self.reference(following.filtered, slot.motion.view)
            }
            slot.isFiltered = number > 0 && !slot.levels.isNone
            if slot.isFiltered {
                _ = unsafe steps.filter(
                    slot.picture, first: reference, second: nil, levels: slot.levels, into: slot.filtered, until: nil)
                unsafe after.load(steps.shown[0].view, kernels: steps.kernels)
            }
            following = slot
        }
    }

    @unsafe private func reference(_ picture: FilteredPicture, _ motion: MotionVectors) -> NoiseSteps.Reference {
        unsafe NoiseSteps.Reference(picture: picture, motion: motion, level: forwardFlow.finestLevel)
    }

    @unsafe private func filter(_ slot: Slot, next: Slot?, into output: MutablePictureView) {
        var past: NoiseSteps.Reference?
        if hasForward {
            _ = forwardFlow.estimate(from: slot.picture.pyramid, to: before, until: nil, with: steps.workers)
            unsafe past = unsafe reference(forward[newest], forwardFlow.forward(level: forwardFlow.finestLevel))
        }
        var future: NoiseSteps.Reference?
        if let next, next.isFiltered { unsafe future = unsafe reference(next.filtered, slot.motion.view) }
        _ = unsafe steps.filter(
            slot.picture, first: past, second: future, levels: slot.levels, into: result, until: nil)
        unsafe steps.copyShown(into: output)
        // What follows is compared with the past alone: the future would count twice.
        _ = unsafe steps.filter(
            slot.picture, first: past, second: nil, levels: slot.levels, into: forward[1 - newest], until: nil)
        unsafe before.load(steps.shown[0].view, kernels: steps.kernels)
        newest = 1 - newest
        hasForward = true
    }
}

/// A field of vectors that outlives the next search.
@safe private final class MotionCopy {
    private let vectors: AlignedMemory
    private let columns: Int
    private let rows: Int

    @unsafe init(like field: MotionVectors) {
        columns = unsafe field.columns
        rows = unsafe field.rows
        vectors = AlignedMemory(byteCount: columns * rows * MemoryLayout<MotionVector>.stride)
    }

    /// Valid while this copy lives.
    @unsafe var view: MotionVectors {
        unsafe MotionVectors(
            base: vectors.pointer().assumingMemoryBound(to: MotionVector.self), columns: columns, rows: rows)
    }

    @unsafe func copy(_ field: MotionVectors) { unsafe view.base.update(from: field.base, count: columns * rows) }
}

extension PaddedPlane {
    /// Copies the samples to a plane of the same size.
    @unsafe func copy(into output: MutablePlaneView) {
        let from = unsafe view
        for y in 0..<height { unsafe output.row(y).update(from: from.row(y), count: width) }
    }
}
