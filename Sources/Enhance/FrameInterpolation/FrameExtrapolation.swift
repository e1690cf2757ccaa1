import Kernels
import Media
import Synchronization

/// Pictures that follow the last one of a live sequence, predicted from the past alone: the added frames of a doubled rate
/// without any delay of the real ones.
///
/// Every part of the picture moves on as it did last. How far that is trusted was tried on the last picture: where the
/// motion before would have predicted it no better than the picture before it, a part stays where it is. Pictures are
/// copied; frames are given in the order of time, from one thread at a time; two at once stop the program. Nothing is
/// allocated after `init`.
@safe public final class FrameExtrapolation: PiecewiseWork, @unchecked Sendable {
    public let configuration: FrameInterpolationConfiguration
    /// The size of the pictures that are written.
    public let outputSize: PictureSize
    private let workers: WorkerPool
    private let flow: FlowEstimator
    private let layer: MotionLayer
    private let pictures: [InterpolationPicture]
    private let before: AlignedMemory
    private let trials: AlignedMemory
    private var newest = 0
    private var count = 0
    private let isBusy = Atomic<Bool>(false)

    // The call in hand.
    private enum Stage { case load, attempt, decide, smooth, synthesise, hold }
    private var stage = Stage.load
    private var source: (PictureView, PictureView)?
    private var destination: MutablePictureView?
    private var distance = 256
    private var stop: MonotonicTime?

    private static let bandHeight = 3

    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        outputSize = configuration.size.scaled(by: configuration.scaleFactor)
        pictures = (0..<2).map { _ in
            InterpolationPicture(size: configuration.size, scaleFactor: configuration.scaleFactor)
        }
        let effort = InterpolationEffort.live(for: configuration.size)
        flow = FlowEstimator(
            shape: pictures[0].pyramid, finestLevel: effort.levels[0], iterations: effort.iterations,
            kernels: configuration.kernels)
        let field = unsafe flow.backward(level: flow.finestLevel)
        layer = unsafe MotionLayer(
            level: flow.finestLevel, columns: field.columns, rows: field.rows,
            enlargement: configuration.scaleFactor == 2 ? 1 : 0)
        before = AlignedMemory(byteCount: layer.columns * layer.rows * MemoryLayout<MotionVector>.stride)
        trials = AlignedMemory(byteCount: layer.columns * layer.rows * 2 * MemoryLayout<Int32>.stride)
    }

    /// Forgets the pictures: after a gap, a seek, a change of the source.
    public func reset() {
        count = 0
        flow.reset()
    }

    /// Takes the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``outputSize``.
    ///   - stop: when to be done with finding motion from the last picture, which is what costs time here.
    /// - Throws: `sizeMismatch`; the session is then as before.
    @unsafe public func push(
        _ source: PictureView, enhanced: PictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) {
        begin()
        defer { isBusy.store(false, ordering: .releasing) }
        unsafe try source.check(size: configuration.size, "a source picture")
        unsafe try enhanced.check(size: outputSize, "an enhanced picture")
        if count >= 2 {
            let field = unsafe flow.backward(level: layer.level)
            unsafe before.pointer().copyMemory(from: field.base, byteCount: before.byteCount)
        }
        newest = 1 - newest
        count = min(count + 1, 3)
        unsafe self.source = unsafe (source, enhanced)
        run(.load, pieces: InterpolationPicture.pieces)
        unsafe self.source = nil
        if count >= 2 {
            _ = flow.estimate(
                from: pictures[1 - newest].pyramid, to: pictures[newest].pyramid, until: stop, with: workers)
        }
    }

    /// Makes a picture that follows the last.
    /// - Parameters:
    ///   - distance: how long after it, in times of what the last two are apart: more than 0, at most 1.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. What is not done by then is a copy of the last picture.
    /// - Returns: `held` while there are not yet three pictures to learn from.
    /// - Throws: `badParameter` for a distance out of range, `missingPicture` without any picture, `sizeMismatch`;
    ///   nothing is written then.
    @discardableResult
    @unsafe public func synthesise(
        distance: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        begin()
        defer { isBusy.store(false, ordering: .releasing) }
        guard distance > 0, distance <= 1 else {
            throw EnhanceError(.badParameter, "distance \(distance) is not above 0 and at most 1")
        }
        guard count > 0 else {
            throw EnhanceError(.missingPicture, "nothing follows from no picture: push at least one before")
        }
        unsafe try destination.readOnly.check(size: outputSize, "the destination")

        let start = MonotonicTime.now()
        unsafe self.destination = unsafe destination
        self.distance = max(Int((distance * 256).rounded()), 1)
        self.stop = stop
        var result = FrameInterpolationResult()
        if count < 3 {
            result.method = .held
            run(.hold, pieces: 3)
        } else {
            let bands = (layer.rows + Self.bandHeight - 1) / Self.bandHeight
            run(.attempt, pieces: bands)
            run(.decide, pieces: bands)
            run(.smooth, pieces: bands)
            run(.synthesise, pieces: 2 * synthesisBands)
        }
        unsafe self.destination = nil
        let end = MonotonicTime.now()
        result.synthesisTime = end - start
        result.isComplete = stop.map { end < $0 } ?? true
        return result
    }

    private var synthesisBands: Int { (layer.rows + Self.bandHeight) / Self.bandHeight }

    private func run(_ stage: Stage, pieces: Int) {
        self.stage = stage
        workers.run(self, pieces: pieces)
    }

    /// A piece of the call in hand; for the worker threads only.
    public func perform(piece: Int, worker: Int) {
        let kernels = configuration.kernels
        let first = piece * Self.bandHeight
        let rows = min(first, layer.rows)..<min(first + Self.bandHeight, layer.rows)
        switch stage {
        case .load:
            guard let (source, enhanced) = unsafe source else { return }
            unsafe pictures[newest].load(piece: piece, source: source, enhanced: enhanced, kernels: kernels)
        case .attempt, .decide:
            let pair = unsafe MotionPair(
                pictures[1 - newest].pyramid.levels[layer.level].view,
                pictures[newest].pyramid.levels[layer.level].view)
            let earlier = unsafe MotionVectors(
                base: before.pointer().assumingMemoryBound(to: MotionVector.self), columns: layer.columns,
                rows: layer.rows)
            unsafe kernels.decideMotionAhead(
                pair, last: flow.backward(level: layer.level), before: earlier, distance: distance,
                trials: trials.pointer().assumingMemoryBound(to: Int32.self), into: layer.decidedCells,
                isTrial: stage == .attempt, rows: rows)
        case .smooth:
            unsafe kernels.smoothMotion(
                layer.decidedCells, into: layer.cells, columns: layer.columns, totalRows: layer.rows, rows: rows)
        case .synthesise:
            if piece < synthesisBands {
                synthesise(plane: 0, band: piece)
            } else {
                synthesise(plane: 1, band: piece - synthesisBands)
                synthesise(plane: 2, band: piece - synthesisBands)
            }
        case .hold:
            unsafe hold(plane: piece, rows: 0..<destination!.plane(piece).height)
        }
    }

    private func synthesise(plane: Int, band: Int) {
        let windows = plane == 0 ? layer.lumaWindows : layer.chromaWindows
        let first = band * Self.bandHeight
        let blockRows = first..<min(first + Self.bandHeight, layer.rows + 1)
        let output = unsafe destination!.plane(plane)
        if let stop, MonotonicTime.now() >= stop {
            unsafe hold(plane: plane, rows: windows.rows(ofBlocks: blockRows, height: output.height))
            return
        }
        // Vectors are as long as the way to go, and all of the picture comes from the last one.
        let last = unsafe pictures[newest].plane(plane).view
        unsafe configuration.kernels.synthesise(
            MotionPair(last, last), into: output, cells: layer.cells, columns: layer.columns, rows: layer.rows,
            shift: plane == 0 ? layer.shift : layer.shift - 1, phase: 256, weight: 0, windows: windows,
            blockRows: blockRows)
    }

    private func hold(plane: Int, rows: Range<Int>) {
        let (output, last) = unsafe (destination!.plane(plane), pictures[newest].plane(plane).view)
        for y in rows { unsafe output.row(y).update(from: last.row(y), count: output.width) }
    }

    private func begin() {
        precondition(
            isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged,
            "a session takes one frame at a time")
    }
}
