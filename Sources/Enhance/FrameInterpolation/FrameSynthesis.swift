import Kernels
import Media

/// The steps in which pictures are taken in and new ones are made, each cut into bands for several threads: what
/// interpolation and extrapolation share. Takes one call at a time; allocates nothing after `init`.
@safe final class FrameSynthesis: PiecewiseWork, @unchecked Sendable {
    let configuration: FrameInterpolationConfiguration
    let outputSize: PictureSize
    let workers: WorkerPool

    /// Two pictures, the earlier one first.
    typealias Pair = (before: InterpolationPicture, after: InterpolationPicture)

    /// What motion a layer's cells are decided from; fields of the layer's level.
    @unsafe enum Motion {
        /// Between a pair: its own fields, and those from it to the pictures around it.
        case between(forward: MotionVectors, backward: MotionVectors, outer: (MotionVectors, MotionVectors)?)
        /// Beyond a pair: from its second picture to the first, from that to the one before, and two numbers for each
        /// cell.
        case ahead(last: MotionVectors, before: MotionVectors, trials: UnsafeMutablePointer<Int32>)
    }

    // The step in hand.
    private enum Step { case load, attempt, decide, smooth, synthesise, mix, hold }
    private var step = Step.load
    private var source: (picture: InterpolationPicture, small: PictureView, enhanced: PictureView)?
    private var pair: Pair?
    private var layer: MotionLayer?
    private var motion: Motion?
    private var drafts: (Picture, Picture)?
    private var target: MutablePictureView?
    private var nearer: InterpolationPicture?
    private var phase = 128
    private let taps = BlendTaps()
    private var stop: MonotonicTime?

    /// Output rows of luma in one piece of work that treats all samples alike.
    private static let bandHeight = 32

    /// - Throws: `unsupportedSize`.
    init(_ configuration: FrameInterpolationConfiguration, workers: WorkerPool) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        outputSize = configuration.size.scaled(by: configuration.scaleFactor)
    }

    func makePictures(_ count: Int) -> [InterpolationPicture] {
        (0..<count).map { _ in
            InterpolationPicture(size: configuration.size, scaleFactor: configuration.scaleFactor)
        }
    }

    func makeLayer(level: Int, of flow: FlowEstimator) -> MotionLayer {
        let field = unsafe flow.forward(level: level)
        return unsafe MotionLayer(
            level: level, columns: field.columns, rows: field.rows, enlargement: configuration.scaleFactor == 2 ? 1 : 0)
    }

    /// - Throws: `sizeMismatch`, where pictures are not of this session's sizes.
    @unsafe func check(_ source: PictureView, enhanced: PictureView) throws(EnhanceError) {
        unsafe try source.check(size: configuration.size, "a source picture")
        unsafe try enhanced.check(size: outputSize, "an enhanced picture")
    }

    /// Copies a picture.
    @unsafe func load(_ source: PictureView, enhanced: PictureView, into picture: InterpolationPicture) {
        unsafe self.source = unsafe (picture, source, enhanced)
        run(.load, pieces: picture.pieces)
        unsafe self.source = nil
    }

    /// Decides on the motion in every cell of a layer.
    /// - Parameter phase: the time of the new picture, in 1/256 of the way between the pair or, ahead, beyond it.
    @unsafe func decide(_ layer: MotionLayer, _ pair: Pair, _ motion: Motion, phase: Int) {
        self.pair = pair
        self.layer = layer
        unsafe self.motion = unsafe motion
        self.phase = phase
        if case .ahead = unsafe motion { run(.attempt, pieces: layer.rows) }
        run(.decide, pieces: layer.rows)
        unsafe self.motion = nil
    }

    /// Makes the picture that a layer's cells describe. Rows that are not begun at the time to stop are copies.
    /// - Parameters:
    ///   - phase: where between the pair vectors are read, in 1/256.
    ///   - weight: how much the second picture counts, in 1/256.
    ///   - nearer: what rows are copied from.
    @unsafe func synthesise(
        _ layer: MotionLayer, _ pair: Pair, phase: Int, weight: Int, into target: MutablePictureView,
        until stop: MonotonicTime?, nearer: InterpolationPicture
    ) {
        self.pair = pair
        self.layer = layer
        self.phase = phase
        unsafe self.target = unsafe target
        self.stop = stop
        self.nearer = nearer
        taps.fill(weight: weight)
        run(.smooth, pieces: layer.rows)
        run(.synthesise, pieces: 2 * layer.blockRows)
        unsafe self.target = nil
    }

    /// Mixes two pictures into one that is there; the first gets half of the weight.
    @unsafe func mix(_ drafts: (Picture, Picture), into target: MutablePictureView) {
        self.drafts = drafts
        unsafe self.target = unsafe target
        run(.mix, pieces: bands)
        unsafe self.target = nil
    }

    /// Copies a picture.
    @unsafe func hold(_ picture: InterpolationPicture, into target: MutablePictureView) {
        nearer = picture
        unsafe self.target = unsafe target
        run(.hold, pieces: bands)
        unsafe self.target = nil
    }

    /// Bands of the output.
    private var bands: Int { (outputSize.height + Self.bandHeight - 1) / Self.bandHeight }

    /// A band's rows in a plane of the output.
    private func rows(ofBand band: Int, plane: Int) -> Range<Int> {
        let height = plane == 0 ? Self.bandHeight : Self.bandHeight / 2
        let end = plane == 0 ? outputSize.height : outputSize.chroma.height
        return min(band * height, end)..<min((band + 1) * height, end)
    }

    private func run(_ step: Step, pieces: Int) {
        self.step = step
        workers.run(self, pieces: pieces, order: .ownPartFirst)
    }

    func perform(piece: Int, worker: Int) {
        switch step {
        case .load:
            guard let source = unsafe source else { return }
            unsafe source.picture.load(
                piece: piece, source: source.small, enhanced: source.enhanced, kernels: configuration.kernels)
        case .attempt, .decide:
            decide(row: piece)
        case .smooth:
            let layer = layer!
            unsafe configuration.kernels.smoothMotion(
                layer.decidedCells, into: layer.cells, columns: layer.columns, totalRows: layer.rows,
                rows: piece..<piece + 1)
        case .synthesise:
            // Luma and chroma of a row lie side by side in the order, as they do in the steps before.
            if piece & 1 == 0 {
                synthesise(plane: 0, blockRow: piece >> 1)
            } else {
                synthesise(plane: 1, blockRow: piece >> 1)
                synthesise(plane: 2, blockRow: piece >> 1)
            }
        case .mix:
            let drafts = drafts!
            for plane in 0..<3 {
                unsafe configuration.kernels.mix(
                    drafts.0.view.plane(plane), drafts.1.view.plane(plane), into: target!.plane(plane),
                    rows: rows(ofBand: piece, plane: plane))
            }
        case .hold:
            for plane in 0..<3 { hold(plane: plane, rows: rows(ofBand: piece, plane: plane)) }
        }
    }

    private func decide(row: Int) {
        let rows = row..<row + 1
        guard let pair, let layer, let motion = unsafe motion else { return }
        let planes = unsafe MotionPair(
            pair.before.pyramid.levels[layer.level].view, pair.after.pyramid.levels[layer.level].view)
        switch unsafe motion {
        case .between(let forward, let backward, let outer):
            unsafe configuration.kernels.decideMotion(
                planes, forward: forward, backward: backward, outer: outer, phase: phase, into: layer.decidedCells,
                rows: rows)
        case .ahead(let last, let before, let trials):
            unsafe configuration.kernels.decideMotionAhead(
                planes, last: last, before: before, distance: phase, trials: trials, into: layer.decidedCells,
                isTrial: step == .attempt, rows: rows)
        }
    }

    private func synthesise(plane: Int, blockRow: Int) {
        guard let pair, let layer else { return }
        let windows = plane == 0 ? layer.lumaWindows : layer.chromaWindows
        let blockRows = blockRow..<blockRow + 1
        let output = unsafe target!.plane(plane)
        if let stop, MonotonicTime.now() >= stop {
            unsafe hold(plane: plane, rows: windows.rows(ofBlocks: blockRows, height: output.height))
            return
        }
        unsafe configuration.kernels.synthesise(
            MotionPair(pair.before.plane(plane).view, pair.after.plane(plane).view), into: output, cells: layer.cells,
            columns: layer.columns, rows: layer.rows, shift: plane == 0 ? layer.shift : layer.shift - 1,
            phase: phase, taps: taps, windows: windows, blockRows: blockRows)
    }

    private func hold(plane: Int, rows: Range<Int>) {
        let (output, picture) = unsafe (target!.plane(plane), nearer!.plane(plane).view)
        for y in rows { unsafe output.row(y).update(from: picture.row(y), count: output.width) }
    }
}
