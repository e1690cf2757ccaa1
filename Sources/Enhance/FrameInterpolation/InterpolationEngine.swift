import Kernels
import Media

/// How much work an interpolation does for its quality.
struct InterpolationEffort: Sendable {
    /// The pyramid's level that motion is found at.
    var finestLevel: Int
    /// Steps of descent for a patch at most.
    var iterations: Int
}

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

    private let cells: AlignedMemory
    private let lumaWindows: BlendWindows
    private let chromaWindows: BlendWindows
    /// Samples of the output's luma to one of the plane that motion is found in: 2 ^ shift.
    private let shift: Int
    /// The time that the last picture took to make once its motion was known: what must be left of the time to stop.
    private var lastSynthesisTime = Nanoseconds.zero

    // The call in hand.
    private enum Stage { case load, decide, synthesise }
    private var stage = Stage.load
    private var source: (PictureView, PictureView)?
    private var destination: MutablePictureView?
    private var phase = 128
    private var stop: MonotonicTime?

    private static let decideRows = 3
    private static let lumaRows = 3
    private static let chromaRows = 6

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
        flow = FlowEstimator(
            shape: pictures[0].pyramid, finestLevel: effort.finestLevel, iterations: effort.iterations,
            kernels: configuration.kernels)
        shift = flow.finestLevel + (configuration.scaleFactor == 2 ? 1 : 0)
        lumaWindows = BlendWindows(cellSize: Kernels.motionStep << shift)
        chromaWindows = BlendWindows(cellSize: (Kernels.motionStep << shift) / 2)
        cells = AlignedMemory(byteCount: flow.columns * flow.rows * MemoryLayout<MotionCell>.stride)
    }

    /// Forgets all pictures: what comes next has nothing to do with them.
    func reset() {
        count = 0
        flow.reset()
    }

    /// Takes the next picture of the sequence; it is copied.
    @unsafe func push(_ source: PictureView, enhanced: PictureView) throws(EnhanceError) {
        unsafe try check(source, size: configuration.size, "a source picture")
        unsafe try check(enhanced, size: outputSize, "an enhanced picture")
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
        unsafe try check(destination.readOnly, size: outputSize, "the destination")

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
        stage = .decide
        workers.run(self, pieces: (flow.rows + Self.decideRows - 1) / Self.decideRows)
        unsafe self.destination = unsafe destination
        if isSceneCut {
            result.method = .held
            unsafe hold(in: destination)
        } else {
            stage = .synthesise
            workers.run(self, pieces: lumaBands + 2 * chromaBands)
        }
        unsafe self.destination = nil
        let end = MonotonicTime.now()
        result.synthesisTime = end - begin
        result.isComplete = isFlowComplete && (stop.map { end < $0 } ?? true)
        if result.isComplete { lastSynthesisTime = result.synthesisTime }
        return result
    }

    private var before: InterpolationPicture { pictures[1 - newest] }
    private var after: InterpolationPicture { pictures[newest] }

    private var lumaBands: Int { (flow.rows + Self.lumaRows) / Self.lumaRows }
    private var chromaBands: Int { (flow.rows + Self.chromaRows) / Self.chromaRows }

    func perform(piece: Int, worker: Int) {
        switch stage {
        case .load:
            guard let (source, enhanced) = unsafe source else { return }
            unsafe pictures[newest].load(
                piece: piece, source: source, enhanced: enhanced, kernels: configuration.kernels)
        case .decide:
            let first = piece * Self.decideRows
            unsafe configuration.kernels.decideMotion(
                MotionPair(
                    before.pyramid.levels[flow.finestLevel].view, after.pyramid.levels[flow.finestLevel].view),
                forward: flow.forward, backward: flow.backward, phase: phase, into: cellBase,
                rows: first..<min(first + Self.decideRows, flow.rows))
        case .synthesise:
            guard let destination = unsafe destination else { return }
            if piece < lumaBands {
                unsafe synthesise(0, destination.y, lumaWindows, shift, piece * Self.lumaRows, Self.lumaRows)
            } else if piece < lumaBands + chromaBands {
                unsafe synthesise(
                    1, destination.u, chromaWindows, shift - 1, (piece - lumaBands) * Self.chromaRows,
                    Self.chromaRows)
            } else {
                unsafe synthesise(
                    2, destination.v, chromaWindows, shift - 1,
                    (piece - lumaBands - chromaBands) * Self.chromaRows, Self.chromaRows)
            }
        }
    }

    private func synthesise(
        _ plane: Int, _ output: MutablePlaneView, _ windows: BlendWindows,
        _ shift: Int, _ first: Int, _ count: Int
    ) {
        let blockRows = first..<min(first + count, flow.rows + 1)
        if let stop, MonotonicTime.now() >= stop {
            let size = windows.cellSize
            unsafe hold(
                plane, in: output, rows: max(blockRows.lowerBound * size - size / 2, 0)..<min(
                    blockRows.upperBound * size - size / 2, output.height))
            return
        }
        unsafe configuration.kernels.synthesise(
            MotionPair(before.planes(plane).view, after.planes(plane).view), into: output, cells: cellBase,
            columns: flow.columns, rows: flow.rows, shift: shift, phase: phase, windows: windows,
            blockRows: blockRows)
    }

    private var cellBase: UnsafeMutablePointer<MotionCell> {
        unsafe cells.pointer().assumingMemoryBound(to: MotionCell.self)
    }

    /// Copies rows of the picture that is nearer in time.
    private func hold(
        _ plane: Int, in output: MutablePlaneView, rows: Range<Int>
    ) {
        let nearer = unsafe (phase <= 128 ? before : after).planes(plane).view
        for y in rows { unsafe output.row(y).update(from: nearer.row(y), count: output.width) }
    }

    private func hold(in destination: MutablePictureView) {
        unsafe hold(0, in: destination.y, rows: 0..<destination.y.height)
        unsafe hold(1, in: destination.u, rows: 0..<destination.u.height)
        unsafe hold(2, in: destination.v, rows: 0..<destination.v.height)
    }

    /// Whether most of the picture has no counterpart: more than 10 levels apart, over patches, in 60 of 100 cells.
    private var isSceneCut: Bool {
        var apart = 0
        let count = flow.columns * flow.rows
        for i in 0..<count where unsafe cellBase[i].difference > 10 * 64 { apart += 1 }
        return apart * 10 > count * 6
    }

    private func check(_ picture: PictureView, size: PictureSize, _ role: String) throws(EnhanceError) {
        guard unsafe picture.size == size else {
            throw unsafe EnhanceError(
                .sizeMismatch, "\(role) of \(picture.size) in a session that has \(size) there")
        }
        let fits = unsafe PictureSize(width: picture.u.width, height: picture.u.height) == size.chroma
            && PictureSize(width: picture.v.width, height: picture.v.height) == size.chroma
        guard fits else {
            throw EnhanceError(.sizeMismatch, "\(role)'s chroma planes are not half of the luma plane, rounded up")
        }
    }
}
