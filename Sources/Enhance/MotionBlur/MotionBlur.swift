import Kernels
import Media

/// Blurs pictures of a sequence along their motion, as a camera does whose shutter stays open for a part of each interval.
///
/// The shutter is open around each picture, for half of the time before it and half after it. The result is the mean over that time:
/// of the picture itself, and of pictures between it and each neighbour, as many as the longest motion asks for. Where there is no
/// neighbour, at the ends of a sequence and at cuts, the shutter is open on the other side alone.
///
/// ```swift
/// try unsafe blur.push(small.view, enhanced: large.view)                                     // n
/// if blur.isReady { try unsafe blur.blur(strength: 50, into: blurred.mutableView) }          // n - 1
/// // …
/// blur.finish()                                                                              // n, at the end
/// try unsafe blur.blur(strength: 50, into: blurred.mutableView)
/// ```
///
/// A ``FrameProcessor``. Push frames in the order of time. The session copies them. A session may move from thread to thread;
/// to use it from two at once is a programming error and stops the program. Nothing is allocated after `init`.
public final class MotionBlur {
    private let synthesis: FrameSynthesis
    private let flow: FlowEstimator
    private let layer: MotionLayer
    /// Of cells twice as wide and high: enough for far motion, which leaves nothing sharp.
    private let coarseLayer: MotionLayer
    private let shutter: ShutterSums
    /// The picture before the blurred one, that, and the one after it.
    private let pictures: [InterpolationPicture]
    private var newest = 0
    private var count = 0
    private var hasEnded = false
    /// Of the last pair and the one before it.
    private var pairs = [PairFacts(), PairFacts()]
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    private struct PairFacts {
        var isCut = true
        /// The longest motion, in samples of the result before it gets a size of its own.
        var longest = 0.0
        var flowTime = Nanoseconds.zero
    }

    /// - Parameters:
    ///   - light: what the mean is taken of.
    ///   - workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, light: MotionBlurLight = .coded,
        workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        let effort = InterpolationEffort.live(for: configuration.size)
        synthesis = try FrameSynthesis(configuration, workers: workers, preference: effort.preference)
        pictures = synthesis.makePictures(3)
        flow = FlowEstimator(
            shape: pictures[0].pyramid, finestLevel: effort.levels[0], iterations: effort.iterations,
            kernels: configuration.kernels, history: 2)
        layer = synthesis.makeLayer(level: flow.finestLevel, of: flow)
        let coarsest = pictures[0].pyramid.levels.count - 1
        coarseLayer = synthesis.makeLayer(level: min(flow.finestLevel + 1, coarsest), of: flow)
        let table: LightTable? = if case .linear(let isFullRange) = light { LightTable(isFullRange: isFullRange) } else { nil }
        shutter = ShutterSums(
            size: configuration.enhancedSize, light: table, kernels: configuration.kernels, workers: workers)
    }

    public var configuration: FrameInterpolationConfiguration { synthesis.configuration }
    /// The size of the pictures that are written.
    public var outputSize: PictureSize { synthesis.outputSize }
    /// Where the chroma samples of the pictures lie, as in ``ColorDescription/chromaLocation``. It matters where the configuration
    /// has an output size.
    public var chromaLocation: UInt8 {
        get { synthesis.chromaLocation }
        set { synthesis.chromaLocation = newValue }
    }
    /// How many pictures after the one that is blurred must have been pushed.
    public var lookahead: Int { 1 }
    /// Whether there is a picture to blur: the one before the last, and after ``finish()`` the last.
    public var isReady: Bool { count > age }

    /// Adds the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``FrameInterpolationConfiguration/enhancedSize``.
    ///   - flow: the flow between the picture before and this one, where it was found beforehand. It is copied.
    /// - Throws: `sizeMismatch`, `missingPicture` for a flow without a picture before; the session is then as before.
    @unsafe public func push(
        _ source: PictureView, enhanced: PictureView, flow given: FlowPair? = nil
    ) throws(EnhanceError) {
        exclusive.begin()
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try synthesis.check(source, enhanced: enhanced)
        if let given {
            try given.check(size: configuration.size)
            guard count > 0, !hasEnded else {
                throw EnhanceError(
                    .missingPicture, "a flow needs the picture before: push the first picture of a sequence without one")
            }
        }
        if hasEnded { forget() }
        newest = (newest + 1) % pictures.count
        count = min(count + 1, pictures.count)
        unsafe synthesis.load(source, enhanced: enhanced, into: picture(age: 0))
        pairs[1] = pairs[0]
        pairs[0] = PairFacts()
        guard count > 1 else { return }
        let start = MonotonicTime.now()
        if let given {
            flow.adopt(given)
        } else {
            _ = flow.estimate(
                from: picture(age: 1).pyramid, to: picture(age: 0).pyramid, until: nil, with: synthesis.workers)
        }
        unsafe synthesis.decide(layer, pair(age: 0), motion(layer.level, age: 0, isAlone: true), phase: 128)
        pairs[0].isCut = layer.isSceneCut
        pairs[0].longest = layer.longestMotion
        pairs[0].flowTime = .now() - start
    }

    /// Blurs a picture.
    /// - Parameters:
    ///   - strength: how long the shutter is open, as per cent of the time between two pictures: 1 to 100. 50 is what a camera
    ///     with a shutter of 180° does.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    /// - Throws: `badParameter` for a strength out of range, `missingPicture` while not ``isReady``, `sizeMismatch`; nothing is
    ///   written then. `cancelled`; the destination may then be written in part.
    @discardableResult
    @unsafe public func blur(
        strength: Double, into destination: MutablePictureView
    ) throws(EnhanceError) -> MotionBlurResult {
        exclusive.begin()
        defer { exclusive.end() }
        try cancellation.check()
        try Self.check(strength: strength)
        guard isReady else {
            throw EnhanceError(.missingPicture, "there is no picture to blur: push the one after it, or call finish()")
        }
        unsafe try destination.readOnly.check(size: outputSize, "the destination")
        let start = MonotonicTime.now()
        let sides: (before: Int?, after: Int?) = (
            count > age + 1 && !pairs[age].isCut ? age : nil, age > 0 && !pairs[age - 1].isCut ? age - 1 : nil
        )
        // In 1/256 of the time between two pictures, on each side.
        let open = max(Int((128 * strength / 100).rounded()), 1)
        var result = MotionBlurResult(flowTime: age > 0 ? pairs[0].flowTime : .zero)
        let target = unsafe synthesis.target(for: destination)
        let current = picture(age: age)
        if sides.before == nil, sides.after == nil {
            unsafe synthesis.hold(current, into: target)
        } else {
            let isTwoSided = sides.before != nil && sides.after != nil
            result.before = sides.before.map { Self.samples(pairs[$0].longest, open) } ?? 0
            result.after = sides.after.map { Self.samples(pairs[$0].longest, open) } ?? 0
            let weights = (
                before: ShutterWeights(result.before, isTwoSided: isTwoSided),
                after: ShutterWeights(result.after, isTwoSided: isTwoSided)
            )
            shutter.begin(current, weight: weights.before.first + weights.after.first)
            if let pair = sides.before {
                try add(pair, weights.before, result.before) { 256 - open * $0 / result.before }
            }
            if let pair = sides.after { try add(pair, weights.after, result.after) { open * $0 / result.after } }
            unsafe shutter.write(into: target)
        }
        try cancellation.check()
        unsafe synthesis.finish(into: destination)
        result.synthesisTime = .now() - start
        return result
    }

    /// Adds the pictures of one side of the open time.
    /// - Parameter phase: where each lies in its pair, counted from 1 at the picture that is blurred.
    private func add(
        _ age: Int, _ weights: ShutterWeights, _ samples: Int, phase: (Int) -> Int
    ) throws(EnhanceError) {
        let pair = pair(age: age)
        let layer = samples > Self.fewSamples ? coarseLayer : layer
        for sample in 1...samples {
            try cancellation.check()
            let phase = min(max(phase(sample), 1), 255)
            // Where steps are short beside cells, two pictures have one decision.
            if samples <= Self.fewSamples || sample % 2 == 1 {
                unsafe synthesis.decide(layer, pair, motion(layer.level, age: age, isAlone: false), phase: phase)
            }
            unsafe synthesis.synthesise(
                layer, pair, phase: phase, weight: phase, into: shutter.draft.mutableView, until: nil, nearer: pair.before,
                isPart: samples > 1)
            shutter.addDraft(weight: sample == samples ? weights.last : weights.between)
        }
    }

    /// How many pictures the open time on one side takes: a power of two.
    private static func samples(_ longest: Double, _ open: Int) -> Int {
        let way = longest * Double(open) / 256
        guard way > 2, open > 1 else { return 1 }
        var samples = 2
        while samples < mostSamples, samples < open, way > Double(samples) * longestStep { samples *= 2 }
        return samples
    }

    private static let longestStep = 4.0
    private static let mostSamples = 8
    private static let fewSamples = 4

    /// Ends the sequence: the last picture is the next to blur. The next picture that is pushed begins another sequence.
    public func finish() {
        exclusive.begin()
        defer { exclusive.end() }
        hasEnded = true
    }

    /// Forgets the pictures, and that the session was cancelled. Call it after a gap, a seek or a change of the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        cancellation.clear()
        forget()
    }

    private func forget() {
        count = 0
        hasEnded = false
        flow.reset()
    }

    /// How many pictures there are after the one to blur.
    private var age: Int { hasEnded ? 0 : 1 }

    private func picture(age: Int) -> InterpolationPicture { pictures[(newest + pictures.count - age) % pictures.count] }
    private func pair(age: Int) -> FrameSynthesis.Pair { (picture(age: age + 1), picture(age: age)) }

    /// The motion of a pair, with what the other one says of how it changes where both belong to one scene.
    @unsafe private func motion(_ level: Int, age: Int, isAlone: Bool) -> FrameSynthesis.Motion {
        func forward(_ age: Int) -> MotionVectors { unsafe flow.forward(level: level, age: age) }
        func backward(_ age: Int) -> MotionVectors { unsafe flow.backward(level: level, age: age) }
        let isContinued = !isAlone && count > 2 && !pairs[0].isCut && !pairs[1].isCut
        let earlier =
            unsafe isContinued && age == 0 ? NeighbourMotion(outward: backward(1), inward: forward(1)) : nil
        let later = unsafe isContinued && age == 1 ? NeighbourMotion(outward: forward(0), inward: backward(0)) : nil
        return unsafe .between(forward: forward(age), backward: backward(age), earlier: earlier, later: later)
    }

    private static func check(strength: Double) throws(EnhanceError) {
        guard (1...100).contains(strength) else {
            throw EnhanceError(.badParameter, "a motion blur's strength is 1 to 100, not \(strength)")
        }
    }
}

/// What the mean over the time of an open shutter is taken of.
public enum MotionBlurLight: Hashable, Sendable {
    /// Samples as they are coded, as most programs do: what is bright and small fades early.
    case coded
    /// Light in the scene, as in a camera: what is bright leaves bright traces. Luma becomes light by the curve of ITU-R BT.709, and
    /// chroma counts the more, the more light its luma stands for. It needs twice the memory.
    /// - isFullRange: whether luma is 0…255, or else 16…235.
    case linear(isFullRange: Bool)
}

/// What a blurred picture was made of.
public struct MotionBlurResult: Sendable {
    /// How many pictures were made on each side of it. Without any it is a copy.
    public var before = 0
    public var after = 0
    /// Whether nothing was written, because the picture after the one to blur is not known.
    public var isPending = false
    /// Time spent on finding motion, and on making the picture.
    public var flowTime = Nanoseconds.zero
    public var synthesisTime = Nanoseconds.zero
}

/// The parameters of one blurred picture.
public struct MotionBlurParameters: FrameProcessorParameters, BitwiseCopyable {
    /// How long the shutter is open, as per cent of the time between two pictures: 1 to 100.
    public var strength = 50.0

    public init() {}
    public init(strength: Double) { self.strength = strength }
}

extension MotionBlur: @unsafe FrameProcessor {
    public typealias Input = FrameInterpolationInput?

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: FrameInterpolationConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Adds the next picture, and blurs the one before it.
    /// - Parameters:
    ///   - input: the next picture; nil for the same one again, or after ``finish()``.
    ///   - output: a picture of ``outputSize``.
    /// - Throws: what ``push(_:enhanced:flow:)`` and ``blur(strength:into:)`` throw.
    @discardableResult
    @unsafe public func process(
        _ input: FrameInterpolationInput?, into output: MutablePictureView, _ parameters: MotionBlurParameters
    ) throws(EnhanceError) -> MotionBlurResult {
        if let input = unsafe input {
            // The destination is refused before the picture is taken.
            try Self.check(strength: parameters.strength)
            unsafe try output.readOnly.check(size: outputSize, "the destination")
            unsafe try push(input.source, enhanced: input.enhanced, flow: input.flow)
            if !isReady { return MotionBlurResult(isPending: true) }
        }
        return unsafe try blur(strength: parameters.strength, into: output)
    }
}
