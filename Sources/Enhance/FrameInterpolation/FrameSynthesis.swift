import Kernels
import Media

/// The steps that interpolation and extrapolation share: they copy pictures, decide on motion and make new pictures.
/// Each step is cut into bands for several threads. Takes one call at a time; allocates nothing after `init`.
final class FrameSynthesis {
    let configuration: FrameInterpolationConfiguration
    let outputSize: PictureSize
    let workers: WorkerPool
    private let taps = BlendTaps()
    private let bands: OutputBands
    /// Where results have a size of their own: what makes it, and where new pictures are made before.
    private let resampler: PictureResampler?
    private let draft: Picture?
    /// Where the chroma samples of the pictures lie, as in ``ColorDescription/chromaLocation``.
    var chromaLocation: UInt8 = 0
    private var kernels: Kernels { configuration.kernels }

    /// Two pictures, the earlier one first.
    typealias Pair = (before: InterpolationPicture, after: InterpolationPicture)

    /// How much the motion that fits best counts, where each other one counts as 1.
    private let preference: Int

    /// The motion that a layer's cells are decided from: fields of the layer's level.
    @unsafe enum Motion {
        /// Between a pair: its own fields, and those between it and the pictures around it, where they are known.
        case between(
            forward: MotionVectors, backward: MotionVectors, earlier: NeighbourMotion?, later: NeighbourMotion?)
        /// Beyond a pair: from its second picture to the first, from that to the one before, and two numbers for each
        /// cell.
        case ahead(last: MotionVectors, before: MotionVectors, trials: UnsafeMutablePointer<Int32>)
    }

    /// - Throws: `unsupportedSize`.
    init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool, preference: Int
    ) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        self.preference = preference
        let enhancedSize = configuration.enhancedSize
        outputSize = configuration.outputSize ?? enhancedSize
        bands = OutputBands(size: enhancedSize)
        let resamples = outputSize != enhancedSize
        resampler =
            resamples
            ? PictureResampler(from: enhancedSize, to: outputSize, kernels: configuration.kernels, workers: workers) : nil
        draft = resamples ? Picture(size: enhancedSize) : nil
    }

    /// Where a new picture is made: where it is wanted, or in the size of the enhanced pictures.
    @unsafe func target(for destination: MutablePictureView) -> MutablePictureView {
        unsafe draft?.mutableView ?? destination
    }

    /// Brings a new picture to the size of the results.
    @unsafe func finish(into destination: MutablePictureView) {
        guard let draft else { return }
        unsafe resampler?.resample(draft.view, into: destination, chromaLocation: chromaLocation)
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
        unsafe try enhanced.check(size: configuration.enhancedSize, "an enhanced picture")
    }

    /// Copies a picture.
    @unsafe func load(_ source: PictureView, enhanced: PictureView, into picture: InterpolationPicture) {
        let step = unsafe LoadStep(kernels: kernels, source: source, enhanced: enhanced, picture: picture)
        workers.run(step, pieces: picture.pieces, order: .ownPartFirst)
    }

    /// Decides on the motion in every cell of a layer.
    /// - Parameter phase: the time of the new picture, in 1/256 of the way between the pair or, ahead, beyond it.
    @unsafe func decide(_ layer: MotionLayer, _ pair: Pair, _ motion: Motion, phase: Int) {
        var step = unsafe DecideStep(
            kernels: kernels,
            planes: MotionPair(
                pair.before.pyramid.levels[layer.level].view, pair.after.pyramid.levels[layer.level].view),
            motion: motion, phase: phase, preference: preference, cells: layer.decidedCells, isTrial: false)
        if case .ahead = unsafe motion {
            step.isTrial = true
            workers.run(step, pieces: layer.rows, order: .ownPartFirst)
            step.isTrial = false
        }
        workers.run(step, pieces: layer.rows, order: .ownPartFirst)
    }

    /// Makes the picture that a layer's cells describe. Rows that are not begun at the time to stop are copies.
    /// - Parameters:
    ///   - phase: where between the pair vectors are read, in 1/256.
    ///   - weight: the share of the second picture, in 1/256.
    ///   - nearer: the picture that rows are copied from.
    ///   - isPart: the picture becomes a part of a mean. It is made of fewer motions, which nobody sees there: in half of the time.
    @unsafe func synthesise(
        _ layer: MotionLayer, _ pair: Pair, phase: Int, weight: Int, into target: MutablePictureView,
        until stop: MonotonicTime?, nearer: InterpolationPicture, isPart: Bool = false
    ) {
        taps.fill(weight: weight)
        workers.run(SmoothStep(kernels: kernels, layer: layer), pieces: layer.rows, order: .ownPartFirst)
        let step = unsafe SynthesiseStep(
            kernels: kernels, pair: pair, layer: layer, phase: phase, taps: taps, isPart: isPart, target: target,
            stop: stop, nearer: nearer)
        workers.run(step, pieces: 2 * layer.blockRows, order: .ownPartFirst)
    }

    /// Mixes two pictures into one that is there; the first gets half of the weight.
    @unsafe func mix(_ drafts: (Picture, Picture), into target: MutablePictureView) {
        let step = unsafe MixStep(
            kernels: kernels, first: drafts.0.view, second: drafts.1.view, target: target, bands: bands)
        workers.run(step, pieces: bands.count, order: .ownPartFirst)
    }

    /// Copies a picture.
    @unsafe func hold(_ picture: InterpolationPicture, into target: MutablePictureView) {
        let step = unsafe HoldStep(picture: picture, target: target, bands: bands)
        workers.run(step, pieces: bands.count, order: .ownPartFirst)
    }
}
