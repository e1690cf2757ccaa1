import Kernels
import Media

/// Keeps the last pictures of a sequence, finds the motion between them, and makes new pictures between two of them.
/// Takes one call at a time; allocates nothing after `init`.
final class InterpolationEngine {
    let synthesis: FrameSynthesis
    /// How many pictures after a pair are known when pictures are made between it.
    let lookahead: Int
    let cancellation = Cancellation()
    private let flow: FlowEstimator
    private let layers: [MotionLayer]
    /// The pictures that the second and the third layer make.
    private let drafts: [Picture]

    /// A ring: the current pair, and with lookahead one more on each side.
    private let pictures: [InterpolationPicture]
    private var newest = 0
    private var count = 0
    private var hasEnded = false
    /// How many of the last pairs have no motion yet.
    private var unknown = 0
    /// How many pictures were pushed.
    private var pushed = 0
    /// For each pair whose motion is kept, the last one first: how many pictures had been pushed with its second one, whether the
    /// motion was found in time, and whether there is a scene cut. Without lookahead the last is known once a picture was made.
    private var numbers = [0, 0, 0]
    private var isComplete = [true, true, true]
    private var isCut = [false, false, false]
    /// The noise in pictures between each pair: its standard deviation in levels.
    private var deviations = [0.0, 0.0, 0.0]
    /// nil where new pictures are made after super-resolution, which leaves no white noise.
    private let noise: SynthesisNoise?
    /// nil without a network.
    private let fusion: PictureFusion?
    /// The time that the last picture took to make once its motion was known. The search for motion leaves as much
    /// time.
    private var lastSynthesisTime = Nanoseconds.zero

    init(
        _ configuration: FrameInterpolationConfiguration, effort: InterpolationEffort, workers: WorkerPool
    ) throws(EnhanceError) {
        let synthesis = try FrameSynthesis(configuration, workers: workers, preference: effort.preference)
        self.synthesis = synthesis
        noise =
            configuration.scaleFactor == 1
            ? SynthesisNoise(size: configuration.size, kernels: configuration.kernels, workers: workers) : nil
        lookahead = effort.lookahead
        pictures = synthesis.makePictures(2 + 2 * effort.lookahead)
        let shape = pictures[0].pyramid
        let flow = FlowEstimator(
            shape: shape, finestLevel: effort.levels.min() ?? 0, iterations: effort.iterations,
            kernels: configuration.kernels, history: 2 + effort.lookahead)
        self.flow = flow
        // A small picture has not all levels.
        let levels = effort.levels.allSatisfy { $0 < shape.levels.count } ? effort.levels : [flow.finestLevel]
        layers = levels.map { synthesis.makeLayer(level: $0, of: flow) }
        drafts = layers.dropFirst().map { _ in Picture(size: configuration.enhancedSize) }
        fusion =
            lookahead == 0
            ? nil
            : configuration.fusion.map { [layers] network in
                PictureFusion(
                    network, size: configuration.enhancedSize, layers: layers, kernels: configuration.kernels,
                    workers: workers)
            }
    }

    /// Whether there are two pictures to make one between.
    var isReady: Bool { missing == 0 }

    /// How many more pictures must be pushed.
    private var missing: Int { max(2 + (hasEnded ? 0 : lookahead) - count, 0) }

    /// Forgets all pictures.
    func reset() {
        cancellation.clear()
        pushed = 0
        for age in numbers.indices { numbers[age] = 0 }
        count = 0
        unknown = 0
        hasEnded = false
        flow.reset()
        noise?.reset()
    }

    /// Ends the sequence: the current pair is the last two pictures.
    func finish() { hasEnded = true }

    /// Copies the next picture of the sequence, and its flow from the one before.
    @unsafe func push(_ source: PictureView, enhanced: PictureView, flow given: FlowPair?) throws(EnhanceError) {
        try cancellation.check()
        unsafe try synthesis.check(source, enhanced: enhanced)
        if let given {
            try given.check(size: synthesis.configuration.size)
            guard count > 0, !hasEnded else {
                throw EnhanceError(
                    .missingPicture, "a flow needs the picture before: push the first picture of a sequence without one")
            }
        }
        if hasEnded { reset() }
        // Motion is kept in the order of time.
        if given != nil, unknown > 0 { findMotion(until: nil) }
        pushed += 1
        newest = (newest + 1) % pictures.count
        count = min(count + 1, pictures.count)
        unknown = min(unknown + 1, count - 1)
        unsafe synthesis.load(source, enhanced: enhanced, into: pictures[newest])
        for age in stride(from: deviations.count - 1, to: 0, by: -1) { deviations[age] = deviations[age - 1] }
        deviations[0] = noise?.add(picture(age: 0), before: count > 1 ? picture(age: 1) : nil) ?? 0
        if let given {
            unknown -= 1
            let pair = pair(age: 0)
            beginPair()
            flow.adopt(given)
            isComplete[0] = true
            findCut(pair)
        }
    }

    /// Makes the picture at a phase between the current pair.
    @unsafe func synthesise(
        phase: Double, into destination: MutablePictureView, until stop: MonotonicTime?
    ) throws(EnhanceError) -> FrameInterpolationResult {
        try cancellation.check()
        try check(phase: phase)
        guard isReady else {
            throw EnhanceError(.missingPicture, "a picture between two needs both: push \(missing) more before")
        }
        unsafe try destination.readOnly.check(size: synthesis.outputSize, "the destination")

        let start = MonotonicTime.now()
        var result = FrameInterpolationResult()
        if unknown > 0 {
            findMotion(until: stop.map { $0 + -lastSynthesisTime })
            result.flowTime = MonotonicTime.now() - start
        }
        let begin = MonotonicTime.now()
        result.method = unsafe makePicture(
            phase: min(max(Int((phase * 256).rounded()), 1), 255), into: synthesis.target(for: destination), until: stop)
        try cancellation.check()
        unsafe synthesis.finish(into: destination)
        let end = MonotonicTime.now()
        result.synthesisTime = end - begin
        result.isComplete = isComplete[age] && (stop.map { end < $0 } ?? true)
        if result.isComplete { lastSynthesisTime = result.synthesisTime }
        return result
    }

    func check(phase: Double) throws(EnhanceError) {
        guard phase > 0, phase < 1 else {
            throw EnhanceError(.badParameter, "phase \(phase) is not between 0 and 1: at 0 and 1 use the picture itself")
        }
    }

    /// How many pictures there are after the current pair.
    private var age: Int { hasEnded ? 0 : lookahead }

    private func picture(age: Int) -> InterpolationPicture {
        pictures[(newest + pictures.count - age) % pictures.count]
    }

    private func pair(age: Int) -> FrameSynthesis.Pair { (picture(age: age + 1), picture(age: age)) }

    /// Finds the motion of all pairs that have none yet, in the order of time.
    private func findMotion(until stop: MonotonicTime?) {
        while unknown > 0 {
            unknown -= 1
            let pair = pair(age: unknown)
            beginPair()
            isComplete[0] = flow.estimate(
                from: pair.before.pyramid, to: pair.after.pyramid, until: stop, with: synthesis.workers)
            findCut(pair)
        }
    }

    /// Makes room for what is known of a pair.
    private func beginPair() {
        for age in stride(from: isCut.count - 1, to: 0, by: -1) {
            numbers[age] = numbers[age - 1]
            isCut[age] = isCut[age - 1]
            isComplete[age] = isComplete[age - 1]
        }
        numbers[0] = pushed - unknown
    }

    /// Finds out whether there is a scene cut between a pair whose motion was found last, where lookahead needs to know.
    private func findCut(_ pair: FrameSynthesis.Pair) {
        isCut[0] = false
        guard lookahead > 0 else { return }
        let level = layers[0].level
        unsafe synthesis.decide(
            layers[0], pair,
            .between(forward: flow.forward(level: level), backward: flow.backward(level: level), earlier: nil, later: nil),
            phase: 128)
        isCut[0] = layers[0].isSceneCut
    }

    /// Whether the pair before one whose motion is kept is known too, and both belong to one scene.
    private func isContinued(age: Int) -> Bool {
        numbers[age + 1] > 0 && numbers[age + 1] == numbers[age] - 1 && !isCut[age] && !isCut[age + 1]
    }

    /// The motion of the current pair, and of the pairs around it where they belong to the same scene.
    @unsafe private func motion(level: Int) -> FrameSynthesis.Motion {
        func forward(_ age: Int) -> MotionVectors { unsafe flow.forward(level: level, age: age) }
        func backward(_ age: Int) -> MotionVectors { unsafe flow.backward(level: level, age: age) }
        let earlier =
            unsafe isContinued(age: age)
            ? NeighbourMotion(outward: backward(age + 1), inward: forward(age + 1)) : nil
        let later =
            unsafe age > 0 && isContinued(age: age - 1)
            ? NeighbourMotion(outward: forward(age - 1), inward: backward(age - 1)) : nil
        return unsafe .between(forward: forward(age), backward: backward(age), earlier: earlier, later: later)
    }

    @unsafe private func makePicture(
        phase: Int, into destination: MutablePictureView, until stop: MonotonicTime?
    ) -> FrameInterpolationResult.Method {
        let pair = pair(age: age)
        let nearer = phase <= 128 ? pair.before : pair.after
        for (index, layer) in layers.enumerated() {
            // Later layers only refine the first one's picture.
            if index > 0, cancellation.isRequested || (stop.map { MonotonicTime.now() >= $0 } ?? false) {
                return .motionCompensated
            }
            unsafe synthesis.decide(layer, pair, motion(level: layer.level), phase: phase)
            if lookahead == 0 { isCut[age] = layer.isSceneCut }
            if index == 0, isCut[age] {
                unsafe synthesis.hold(nearer, into: destination)
                return .held
            }
            unsafe synthesis.synthesise(
                layer, pair, phase: phase, weight: phase,
                into: index == 0 ? destination : drafts[index - 1].mutableView, until: stop, nearer: nearer)
        }
        if drafts.count == 2, stop.map({ MonotonicTime.now() < $0 }) ?? true {
            unsafe synthesis.mix((drafts[0], drafts[1]), into: destination)
        }
        unsafe noise?.shrink(destination, deviation: deviations[age], phase: phase, until: stop)
        if FusionNetwork.phases.contains(phase) {
            unsafe fusion?.fuse(destination.y, pair, neighbours, phase: phase) {
                cancellation.isRequested || (stop.map { MonotonicTime.now() >= $0 } ?? false)
            }
        }
        return .motionCompensated
    }

    /// The predictions of the last picture, which was between the current pair at this phase, in 1/256.
    @unsafe func withFusionPlanes(phase: Int, _ body: (PlaneView) -> Void) {
        unsafe fusion?.withPlanes(pair(age: age), neighbours, phase: phase, body)
    }

    /// The pictures around the current pair, where they belong to the same scene.
    private var neighbours: FusionNeighbours {
        let isAfter = age > 0 && isContinued(age: age - 1)
        let isBefore = isContinued(age: age)
        let level = layers[0].level
        return unsafe FusionNeighbours(
            pictures: (picture(age: isBefore ? age + 2 : age + 1), picture(age: isAfter ? age - 1 : age)),
            backward: isBefore ? flow.backward(level: level, age: age + 1) : nil,
            forward: isAfter ? flow.forward(level: level, age: age - 1) : nil)
    }
}
