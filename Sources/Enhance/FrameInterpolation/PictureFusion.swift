import Kernels
import Media

/// The pictures around a pair, and the motion to them.
@safe struct FusionNeighbours {
    /// The picture before the pair and the one after it. Where one is not known or belongs to another scene: that of the pair.
    let pictures: FrameSynthesis.Pair
    /// From the pair's first picture to the one before it; nil where that is not known.
    let backward: MotionVectors?
    /// From the pair's second picture to the one after it; nil where that is not known.
    let forward: MotionVectors?
}

/// Improves a new picture's luma by a network. At each sample it mixes the picture with twelve others: the pair itself, what each
/// of the pair says by the motion of each layer, and what the pictures around say.
///
/// Where all of them agree the result is the same, so equal pictures stay equal. Where the picture is the mean of the pair, nothing
/// moves: it stays. Predictions are drawn, and the network is computed, only where other places need them. Takes one call at a time;
/// allocates nothing after `init`.
@safe final class PictureFusion {
    private let network: FusionNetwork
    private let kernels: Kernels
    private let workers: WorkerPool
    private let layers: [MotionLayer]
    private let size: PictureSize
    private let bands: OutputBands
    /// The picture as it was.
    private let made: PaddedPlane
    /// What each of two pictures says, in pairs: of each layer; of the pictures around; of the pair, by the motion beyond it.
    private let drawn: [PaddedPlane]
    private let beyond: MotionBeyond
    private let taps = BlendTaps()
    private let activations: AlignedMemory
    /// Where something moves.
    private let blocks: AlignedMemory
    /// For each thread.
    private let scratch: AlignedMemory
    private let scratchStride: Int

    /// The layers that the network knows. A small picture has one, which takes the place of the others.
    private static let layerCount = 3

    /// - Parameter layers: the first one's motion goes beyond the pair.
    init(_ network: FusionNetwork, size: PictureSize, layers: [MotionLayer], kernels: Kernels, workers: WorkerPool) {
        precondition(layers.count == 1 || layers.count == Self.layerCount)
        self.network = network
        self.kernels = kernels
        self.workers = workers
        self.layers = layers
        self.size = size
        bands = OutputBands(size: size)
        made = PaddedPlane(size: size)
        drawn = (0..<2 * layers.count + 4).map { _ in PaddedPlane(size: size) }
        beyond = MotionBeyond(count: layers[0].columns * layers[0].rows)
        taps.fillForEach()
        activations = AlignedMemory(byteCount: network.weights.activationBytes(size: size))
        blocks = unsafe AlignedMemory(byteCount: Fusion.blockBytes(size: size))
        scratchStride = network.weights.scratchBytes(size: size)
        scratch = AlignedMemory(byteCount: scratchStride * workers.threadCount)
    }

    /// Fuses a new picture's luma with the predictions. The layers' cells must be those of the new picture.
    /// - Parameters:
    ///   - phase: where it is between the pair, in 1/256.
    ///   - isOver: whether to stop. It is asked between the steps; the picture then stays as it is.
    @unsafe func fuse(
        _ luma: MutablePlaneView, _ pair: FrameSynthesis.Pair, _ neighbours: FusionNeighbours, phase: Int,
        unless isOver: () -> Bool
    ) {
        if isOver() { return }
        workers.run(
            unsafe FusionLoadStep(luma: luma.readOnly, copy: made, bands: bands), pieces: bands.count, order: .ownPartFirst)
        var fusion = unsafe Fusion(
            kernels, network.weights, made: made.view, output: luma, activations: activations.pointer(),
            blocks: blocks.pointer())
        for index in 0..<FusionWeights.predictionCount { unsafe fusion.setPrediction(index, prediction(index, pair).view) }
        var moving = unsafe MovingBlocksStep(fusion: fusion, phase: phase, isSecond: false)
        workers.run(moving, pieces: moving.pieces, order: .ownPartFirst)
        moving.isSecond = true
        workers.run(moving, pieces: moving.pieces, order: .ownPartFirst)
        guard unsafe draw(pair, neighbours, phase: phase, fusion.needed, unless: isOver) else { return }
        for number in 0..<FusionWeights.stepCount {
            if isOver() { return }
            let step = unsafe FuseStep(
                fusion: fusion, step: number, scratch: scratch.pointer(), scratchStride: scratchStride)
            workers.run(step, pieces: step.pieces, order: .ownPartFirst)
        }
    }

    /// Draws the predictions.
    /// - Parameter needed: what of them; nil: everything.
    /// - Returns: false where it stopped before.
    @unsafe private func draw(
        _ pair: FrameSynthesis.Pair, _ neighbours: FusionNeighbours, phase: Int, _ needed: NeededBlocks?,
        unless isOver: () -> Bool
    ) -> Bool {
        @unsafe func draw(
            _ pair: FrameSynthesis.Pair, _ layer: MotionLayer, _ cells: UnsafePointer<MotionCell>, withOthers: Bool,
            into first: Int
        ) {
            let step = unsafe DrawStep(
                kernels: kernels, pair: pair, layer: layer, cells: cells, withOthers: withOthers, phase: phase, taps: taps,
                drawn: (drawn[first], drawn[first + 1]), needed: needed)
            workers.run(step, pieces: layer.blockRows, order: .ownPartFirst)
        }
        for (index, layer) in layers.enumerated() {
            if isOver() { return false }
            unsafe draw(pair, layer, layer.cells, withOthers: true, into: 2 * index)
        }
        if isOver() { return false }
        let layer = layers[0]
        var step = BeyondStep(layer: layer, neighbours: neighbours, phase: phase, result: beyond, isSecond: false)
        workers.run(step, pieces: layer.rows, order: .ownPartFirst)
        step.isSecond = true
        workers.run(step, pieces: layer.rows, order: .ownPartFirst)
        unsafe draw(neighbours.pictures, layer, beyond.outer, withOthers: false, into: 2 * layers.count)
        if isOver() { return false }
        unsafe draw(pair, layer, beyond.inner, withOthers: false, into: 2 * layers.count + 2)
        return true
    }

    /// The predictions in the network's order: the pair, and what is drawn.
    private func prediction(_ index: Int, _ pair: FrameSynthesis.Pair) -> PaddedPlane {
        switch index {
        case 0: pair.before.luma
        case 1: pair.after.luma
        case 2..<2 + 2 * Self.layerCount: drawn[layers.count == 1 ? index & 1 : index - 2]
        default: drawn[index - 2 - 2 * (Self.layerCount - layers.count)]
        }
    }

    /// The picture as it was in the last call, which was for this pair and phase, and all of the predictions, drawn in full.
    @unsafe func withPlanes(
        _ pair: FrameSynthesis.Pair, _ neighbours: FusionNeighbours, phase: Int, _ body: (PlaneView) -> Void
    ) {
        _ = unsafe draw(pair, neighbours, phase: phase, nil, unless: { false })
        unsafe body(made.view)
        for index in 0..<FusionWeights.predictionCount { unsafe body(prediction(index, pair).view) }
    }
}
