import Kernels
import Media

/// Changes brightness, contrast and colours, by one table for all of them, a `.cube` file's among them.
@safe public final class ColorStep: PictureStep {
    public let kind = StepKind.color
    private let controls: ColorControls
    /// For pictures with BT.709's matrix and with BT.601's, which matter to a file's table alone.
    private typealias Tables = (bt709: ColorTable, bt601: ColorTable)
    private let limited: Tables
    /// No picture of a live stream needs them.
    private lazy var full = Self.tables(controls, isFullRange: true)
    private let workers: WorkerPool

    public init(_ controls: ColorControls, workers: WorkerPool) {
        self.controls = controls
        self.workers = workers
        limited = Self.tables(controls, isFullRange: false)
    }

    private static func tables(_ controls: ColorControls, isFullRange: Bool) -> Tables {
        func table(_ weights: LumaWeights) -> ColorTable {
            ColorTable { controls.apply(to: $0, isFullRange: isFullRange, weights: weights) }
        }
        let bt709 = table(.bt709)
        return (bt709, controls.lut?.table == nil ? bt709 : table(.bt601))
    }

    /// Pictures without a matrix have the usual one of their size.
    private static func isBT601(_ matrix: UInt8, height: Int) -> Bool {
        switch matrix {
        case 5, 6: true
        case 2: height < 720
        default: false
        }
    }

    /// The tables are those of one setting.
    public func suits(_ settings: StepSettings) -> Bool { settings.color == controls }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard let input = unsafe input else { return .pending }
        let height = unsafe output.y.height
        let tables = parameters.isFullRange ? full : limited
        let table = Self.isBT601(parameters.matrix, height: height) ? tables.bt601 : tables.bt709
        unsafe workers.run(
            Bands(picture: input.picture, output: output, table: table),
            pieces: (height + Bands.height - 1) / Bands.height)
        return .written
    }

    @safe private struct Bands: PiecewiseWork {
        static let height = 32
        let picture: PictureView
        let output: MutablePictureView
        let table: ColorTable

        func perform(piece: Int, worker: Int) {
            func plane(_ view: PlaneView) -> DeepPlane { unsafe DeepPlane(base: view.row(0), stride: view.stride) }
            let first = piece * Self.height
            unsafe Kernels.best.mapColors(
                (plane(picture.y), plane(picture.u), plane(picture.v)), isDeep: false, by: table, into: output, dithers: false,
                rows: first..<min(first + Self.height, output.y.height))
        }
    }
}
