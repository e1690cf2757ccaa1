import Kernels
import Media

/// Changes brightness, contrast and colours, by one table for all of them.
@safe public final class ColorStep: PictureStep {
    public let kind = StepKind.color
    private let controls: ColorControls
    /// For the limited range, and for the full one.
    private let tables: (limited: ColorTable, full: ColorTable)
    private let workers: WorkerPool

    public init(_ controls: ColorControls, workers: WorkerPool) {
        self.controls = controls
        self.workers = workers
        tables = (
            ColorTable { controls.apply(to: $0, isFullRange: false) }, ColorTable { controls.apply(to: $0, isFullRange: true) }
        )
    }

    /// The tables are those of one setting.
    public func suits(_ settings: StepSettings) -> Bool { settings.color == controls }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard let input = unsafe input else { return .pending }
        let table = parameters.isFullRange ? tables.full : tables.limited
        let height = unsafe output.y.height
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
