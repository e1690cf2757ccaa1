import Kernels
import Media

// The steps of FrameSynthesis, each with the arguments of one run.

/// The output in bands of rows, for steps that treat all samples alike.
struct OutputBands {
    let size: PictureSize
    /// Rows of luma.
    private static let height = 32

    var count: Int { (size.height + Self.height - 1) / Self.height }

    /// A band's rows in a plane: luma, u and v by number.
    func rows(_ band: Int, plane: Int) -> Range<Int> {
        let height = plane == 0 ? Self.height : Self.height / 2
        let end = plane == 0 ? size.height : size.chroma.height
        return min(band * height, end)..<min((band + 1) * height, end)
    }
}

/// Copies a picture. A piece is a band of all planes.
@safe struct LoadStep: PiecewiseWork {
    let kernels: Kernels
    let source: PictureView
    let enhanced: PictureView
    let picture: InterpolationPicture

    func perform(piece: Int, worker: Int) {
        unsafe picture.load(piece: piece, source: source, enhanced: enhanced, kernels: kernels)
    }
}

/// Decides on the motion in a layer's cells. A piece is a row of cells.
@safe struct DecideStep: PiecewiseWork {
    let kernels: Kernels
    let planes: MotionPair
    let motion: FrameSynthesis.Motion
    let phase: Int
    let preference: Int
    let cells: UnsafeMutablePointer<MotionCell>
    /// Extrapolation first tries the motion before on the last picture.
    var isTrial: Bool

    func perform(piece: Int, worker: Int) {
        let rows = piece..<piece + 1
        switch unsafe motion {
        case .between(let forward, let backward, let earlier, let later):
            unsafe kernels.decideMotion(
                planes, forward: forward, backward: backward, earlier: earlier, later: later, phase: phase,
                preference: preference, into: cells, rows: rows)
        case .ahead(let last, let before, let trials):
            unsafe kernels.decideMotionAhead(
                planes, last: last, before: before, distance: phase, trials: trials, into: cells, isTrial: isTrial,
                rows: rows)
        }
    }
}

/// Removes outliers from a layer's decided cells. A piece is a row of cells.
struct SmoothStep: PiecewiseWork {
    let kernels: Kernels
    let layer: MotionLayer

    func perform(piece: Int, worker: Int) {
        unsafe kernels.smoothMotion(
            layer.decidedCells, into: layer.cells, columns: layer.columns, totalRows: layer.rows,
            rows: piece..<piece + 1)
    }
}

/// Makes the picture that a layer's cells describe. A piece is a row of blocks: even numbers are luma, odd ones are the
/// chroma beside it, because the steps before have left both in the same core's cache.
@safe struct SynthesiseStep: PiecewiseWork {
    let kernels: Kernels
    let pair: FrameSynthesis.Pair
    let layer: MotionLayer
    let phase: Int
    let taps: BlendTaps
    let isPart: Bool
    let target: MutablePictureView
    let stop: MonotonicTime?
    let nearer: InterpolationPicture

    func perform(piece: Int, worker: Int) {
        if piece & 1 == 0 {
            synthesise(plane: 0, blockRow: piece >> 1)
        } else {
            synthesise(plane: 1, blockRow: piece >> 1)
            synthesise(plane: 2, blockRow: piece >> 1)
        }
    }

    private func synthesise(plane: Int, blockRow: Int) {
        let output = unsafe target.plane(plane)
        if let stop, MonotonicTime.now() >= stop {
            unsafe nearer.copy(
                plane, rows: layer.rows(ofBlocks: blockRow, plane: plane, height: output.height), into: output)
            return
        }
        unsafe kernels.synthesise(
            MotionPair(pair.before.plane(plane).view, pair.after.plane(plane).view), into: output, cells: layer.cells,
            columns: layer.columns, rows: layer.rows, cellSize: layer.cellSize(plane: plane),
            shift: plane == 0 ? layer.shift : layer.shift - 1, phase: phase, taps: taps, withOthers: plane == 0 && !isPart,
            alike: isPart ? 4 : 1, blockRows: blockRow..<blockRow + 1)
    }
}

/// Mixes two pictures into a third that is there. A piece is a band of all planes.
@safe struct MixStep: PiecewiseWork {
    let kernels: Kernels
    let first: PictureView
    let second: PictureView
    let target: MutablePictureView
    let bands: OutputBands

    func perform(piece: Int, worker: Int) {
        for plane in 0..<3 {
            unsafe kernels.mix(
                first.plane(plane), second.plane(plane), into: target.plane(plane),
                rows: bands.rows(piece, plane: plane))
        }
    }
}

/// Copies a picture to the output. A piece is a band of all planes.
@safe struct HoldStep: PiecewiseWork {
    let picture: InterpolationPicture
    let target: MutablePictureView
    let bands: OutputBands

    func perform(piece: Int, worker: Int) {
        for plane in 0..<3 {
            unsafe picture.copy(plane, rows: bands.rows(piece, plane: plane), into: target.plane(plane))
        }
    }
}
