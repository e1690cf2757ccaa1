import Kernels
import Media

// The steps of PictureFusion, each with the arguments of one run.

/// Copies the picture that is there without the network. A piece is a band of rows.
@safe struct FusionLoadStep: PiecewiseWork {
    let luma: PlaneView
    let copy: PaddedPlane
    let bands: OutputBands

    func perform(piece: Int, worker: Int) { unsafe copy.load(luma, rows: bands.rows(piece, plane: 0)) }
}

/// Finds the motion by way of the pictures beyond the pair. A piece is a row of cells.
@safe struct BeyondStep: PiecewiseWork {
    let layer: MotionLayer
    let neighbours: FusionNeighbours
    let phase: Int
    let result: MotionBeyond
    var isSecond: Bool

    func perform(piece: Int, worker: Int) {
        unsafe Kernels.decideMotionBeyond(
            layer.cells, columns: layer.columns, totalRows: layer.rows, before: neighbours.backward, after: neighbours.forward,
            phase: phase, into: result, isSecond: isSecond, rows: piece..<piece + 1)
    }
}

/// Draws what two pictures say each, by the same motion. A piece is a row of blocks.
@safe struct DrawStep: PiecewiseWork {
    let kernels: Kernels
    let pair: FrameSynthesis.Pair
    let layer: MotionLayer
    let cells: UnsafePointer<MotionCell>
    let withOthers: Bool
    let phase: Int
    /// Those of each picture.
    let taps: BlendTaps
    let drawn: (PaddedPlane, PaddedPlane)
    /// What is drawn; nil: everything.
    let needed: NeededBlocks?

    func perform(piece: Int, worker: Int) {
        unsafe kernels.synthesise(
            MotionPair(pair.before.luma.view, pair.after.luma.view), into: drawn.0.writable, cells: cells,
            columns: layer.columns, rows: layer.rows, cellSize: layer.cellSize(plane: 0), shift: layer.shift, phase: phase,
            taps: taps, withOthers: withOthers, blockRows: piece..<piece + 1, second: drawn.1.writable,
            needed: needed)
        let rows = layer.rows(ofBlocks: piece, plane: 0, height: drawn.0.height)
        drawn.0.extend(rows: rows)
        drawn.1.extend(rows: rows)
    }
}

/// Finds where something moves, and then what of the network that needs. A piece is a band of rows of blocks.
@safe struct MovingBlocksStep: PiecewiseWork {
    let fusion: Fusion
    let phase: Int
    var isSecond: Bool

    private static let blockRows = 4

    var pieces: Int { unsafe (fusion.blockRows + Self.blockRows - 1) / Self.blockRows }

    func perform(piece: Int, worker: Int) {
        let first = piece * Self.blockRows
        let rows = unsafe first..<min(first + Self.blockRows, fusion.blockRows)
        if isSecond { unsafe fusion.findReach(rows: rows) } else { unsafe fusion.findMotion(phase: phase, rows: rows) }
    }
}

/// A step of the network. A piece is a band of rows.
@safe struct FuseStep: PiecewiseWork {
    let fusion: Fusion
    let step: Int
    let scratch: UnsafeMutableRawPointer
    let scratchStride: Int

    /// The first step makes the rows around a band again, so bands are not too low.
    private static let height = 16

    var rows: Int { unsafe fusion.rows(step: step) }
    var pieces: Int { (rows + Self.height - 1) / Self.height }

    func perform(piece: Int, worker: Int) {
        let first = piece * Self.height
        unsafe fusion.perform(
            step: step, rows: first..<min(first + Self.height, rows), scratch: scratch + worker * scratchStride)
    }
}
