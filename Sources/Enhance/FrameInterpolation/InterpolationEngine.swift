import Kernels
import Media

/// The last two pictures of a sequence, the motion between them, and new pictures at times between: what all
/// interpolating processors share. Takes one call at a time; allocates nothing after `init`.
@safe final class InterpolationEngine: PiecewiseWork, @unchecked Sendable {
    let configuration: FrameInterpolationConfiguration
    let outputSize: PictureSize
    private let workers: WorkerPool
    private let flow: FlowEstimator
    private let pictures: [InterpolationPicture]
    /// Which of the pictures is the newer one, and how many there are.
    private var newest = 0
    private(set) var count = 0
    private var hasFlow = false
    private var isFlowComplete = true

    private let layers: [MotionLayer]
    /// What the second and third layers make.
    private let drafts: [Picture]
    /// The time that the last picture took to make once its motion was known: what must be left of the time to stop.
    private var lastSynthesisTime = Nanoseconds.zero

    // The call in hand.
    private enum Stage { case load, decide, smooth, synthesise, mix, hold }
    private var stage = Stage.load
    private var source: (PictureView, PictureView)?
    private var destination: MutablePictureView?
    private var layer = 0
    private var phase = 128
    private var stop: MonotonicTime?

    /// Rows of cells in one piece of work.
    private static let bandHeight = 3
    /// Output rows of luma in one piece of work of mixing.
    private static let mixHeight = 64

    init(
        _ configuration: FrameInterpolationConfiguration, effort: InterpolationEffort, workers: WorkerPool
    ) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        outputSize = configuration.size.scaled(by: configuration.scaleFactor)
        pictures = (0..<2).map { _ in
            InterpolationPicture(size: configuration.size, scaleFactor: configuration.scaleFactor)
        }
        let shape = pictures[0].pyramid
        flow = FlowEstimator(
            shape: shape, finestLevel: effort.levels.min() ?? 0, iterations: effort.iterations,
            kernels: configuration.kernels)
        // A small picture has not all levels.
        let levels = effort.levels.allSatisfy { $0 < shape.levels.count } ? effort.levels : [flow.finestLevel]
        layers = levels.map { [flow] level in
            let field = unsafe flow.forward(level: level)
            return unsafe MotionLayer(
                level: level, columns: field.columns, rows: field.rows,
                enlargement: configuration.scaleFactor == 2 ? 1 : 0)
        }
        drafts = layers.dropFirst().map { [outputSize] _ in Picture(size: outputSize) }
    }

    /// Forgets all pictures: what comes next has nothing to do with them.
    func reset() {
        count = 0
        flow.reset()
    }

    /// Takes the next picture of the sequence; it is copied.
    @unsafe func push(_ source: PictureView, enhanced: PictureView) throws(EnhanceError) {
        unsafe try source.check(size: configuration.size, "a source picture")
        unsafe try enhanced.check(size: outputSize, "an enhanced picture")
        newest = 1 - newest
        count = min(count + 1, 2)
        hasFlow = false
        unsafe self.source = unsafe (source, enhanced)
        stage = .load
        workers.run(self, pieces: InterpolationPicture.pieces)
        unsafe self.source = nil
    }

    /// Makes the picture at a phase between the last two.
    @unsafe func synthesise(
        phase: Double, into destination: MutablePictureView, until stop: MonotonicTime?
    ) throws(EnhanceError) -> FrameInterpolationResult {
        guard phase > 0, phase < 1 else {
            throw EnhanceError(.badParameter, "phase \(phase) is not between 0 and 1: give the picture itself there")
        }
        guard count == 2 else {
            throw EnhanceError(.missingPicture, "a picture between two needs both: push \(2 - count) more before")
        }
        unsafe try destination.readOnly.check(size: outputSize, "the destination")

        let start = MonotonicTime.now()
        var result = FrameInterpolationResult()
        if !hasFlow {
            isFlowComplete = flow.estimate(
                from: before.pyramid, to: after.pyramid, until: stop.map { $0 + -lastSynthesisTime }, with: workers)
            hasFlow = true
            result.flowTime = MonotonicTime.now() - start
        }
        let begin = MonotonicTime.now()
        self.phase = min(max(Int((phase * 256).rounded()), 1), 255)
        self.stop = stop
        unsafe self.destination = unsafe destination
        result.method = makePicture()
        unsafe self.destination = nil
        let end = MonotonicTime.now()
        result.synthesisTime = end - begin
        result.isComplete = isFlowComplete && (stop.map { end < $0 } ?? true)
        if result.isComplete { lastSynthesisTime = result.synthesisTime }
        return result
    }

    private func makePicture() -> FrameInterpolationResult.Method {
        for layer in layers.indices {
            self.layer = layer
            // Later layers only refine what the first has made.
            if layer > 0, let stop, MonotonicTime.now() >= stop { return .motionCompensated }
            let bands = (layers[layer].rows + Self.bandHeight - 1) / Self.bandHeight
            run(.decide, pieces: bands)
            run(.smooth, pieces: bands)
            if layer == 0, layers[0].isSceneCut {
                run(.hold, pieces: 3)
                return .held
            }
            run(.synthesise, pieces: 2 * synthesisBands)
        }
        if layers.count == 3, stop.map({ MonotonicTime.now() < $0 }) ?? true {
            run(.mix, pieces: (outputSize.height + Self.mixHeight - 1) / Self.mixHeight)
        }
        return .motionCompensated
    }

    private func run(_ stage: Stage, pieces: Int) {
        self.stage = stage
        workers.run(self, pieces: pieces)
    }

    private var before: InterpolationPicture { pictures[1 - newest] }
    private var after: InterpolationPicture { pictures[newest] }

    /// Bands of block rows; there is one block row more than there are rows of cells.
    private var synthesisBands: Int { (layers[layer].rows + Self.bandHeight) / Self.bandHeight }

    func perform(piece: Int, worker: Int) {
        let kernels = configuration.kernels
        let layer = layers[layer]
        let first = piece * Self.bandHeight
        switch stage {
        case .load:
            guard let (source, enhanced) = unsafe source else { return }
            unsafe pictures[newest].load(piece: piece, source: source, enhanced: enhanced, kernels: kernels)
        case .decide:
            let (forward, backward) = unsafe (flow.forward(level: layer.level), flow.backward(level: layer.level))
            unsafe kernels.decideMotion(
                MotionPair(before.pyramid.levels[layer.level].view, after.pyramid.levels[layer.level].view),
                forward: forward, backward: backward, phase: phase, into: layer.decidedCells,
                rows: first..<min(first + Self.bandHeight, layer.rows))
        case .smooth:
            unsafe kernels.smoothMotion(
                layer.decidedCells, into: layer.cells, columns: layer.columns, totalRows: layer.rows,
                rows: first..<min(first + Self.bandHeight, layer.rows))
        case .synthesise:
            // Luma first: it is more.
            if piece < synthesisBands {
                synthesise(plane: 0, band: piece)
            } else {
                synthesise(plane: 1, band: piece - synthesisBands)
                synthesise(plane: 2, band: piece - synthesisBands)
            }
        case .mix:
            for plane in 0..<3 {
                let height = plane == 0 ? Self.mixHeight : Self.mixHeight / 2
                let output = unsafe target(plane)
                unsafe kernels.mix(
                    drafts[0].view.plane(plane), drafts[1].view.plane(plane), into: output,
                    rows: min(piece * height, output.height)..<min((piece + 1) * height, output.height))
            }
        case .hold:
            unsafe hold(plane: piece, rows: 0..<target(piece).height, in: target(piece))
        }
    }

    /// Where the layer in hand goes.
    private func target(_ plane: Int) -> MutablePlaneView {
        if stage == .synthesise, layer > 0 { return unsafe drafts[layer - 1].mutableView.plane(plane) }
        return unsafe destination!.plane(plane)
    }

    private func synthesise(plane: Int, band: Int) {
        let layer = layers[layer]
        let windows = plane == 0 ? layer.lumaWindows : layer.chromaWindows
        let first = band * Self.bandHeight
        let blockRows = first..<min(first + Self.bandHeight, layer.rows + 1)
        let output = unsafe target(plane)
        if let stop, MonotonicTime.now() >= stop {
            unsafe hold(
                plane: plane, rows: windows.rows(ofBlocks: blockRows, height: output.height), in: output)
            return
        }
        unsafe configuration.kernels.synthesise(
            MotionPair(before.plane(plane).view, after.plane(plane).view), into: output, cells: layer.cells,
            columns: layer.columns, rows: layer.rows, shift: plane == 0 ? layer.shift : layer.shift - 1,
            phase: phase, weight: phase, windows: windows, blockRows: blockRows)
    }

    /// Copies rows of the picture that is nearer in time.
    private func hold(plane: Int, rows: Range<Int>, in output: MutablePlaneView) {
        let nearer = unsafe (phase <= 128 ? before : after).plane(plane).view
        for y in rows { unsafe output.row(y).update(from: nearer.row(y), count: output.width) }
    }
}
