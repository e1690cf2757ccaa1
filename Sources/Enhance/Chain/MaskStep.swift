import Kernels
import Media

/// Makes areas of pictures unrecognisable. What a picture shows there is gone from then on: nothing behind this step sees it.
///
/// Areas are those of each picture's own settings, so a change holds with the next picture.
public final class MaskStep: PictureStep {
    public let kind = StepKind.mask
    private let kernels = MaskKernels()

    public init() {}

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard unsafe input != nil else { return .pending }
        guard let mask = parameters.settings.mask else { return .unchanged }
        let turn = PictureTurn(parameters.orientation)
        for area in mask.areas {
            let (x, y, width, height) = unsafe area.region(of: output.size, turn: turn)
            func part(_ plane: MutablePlaneView, by step: Int) -> MaskPart {
                unsafe MaskPart(
                    samples: plane.row(y / step) + x / step, stride: plane.stride, width: (width + step - 1) / step,
                    height: (height + step - 1) / step, isDeep: false)
            }
            let planes = unsafe (part(output.y, by: 1), part(output.u, by: 2), part(output.v, by: 2))
            switch area.effect {
            case .fill(let color):
                let samples = color.samples(isFullRange: parameters.isFullRange)
                unsafe kernels.fill(planes.0, with: Int(samples.y))
                unsafe kernels.fill(planes.1, with: Int(samples.u))
                unsafe kernels.fill(planes.2, with: Int(samples.v))
            case .pixelate(let block):
                unsafe kernels.pixelate(planes.0, block: block)
                unsafe kernels.pixelate(planes.1, block: (block + 1) / 2)
                unsafe kernels.pixelate(planes.2, block: (block + 1) / 2)
            case .blur(let block):
                unsafe kernels.blur(planes.0, block: block)
                unsafe kernels.blur(planes.1, block: (block + 1) / 2)
                unsafe kernels.blur(planes.2, block: (block + 1) / 2)
            }
        }
        return .written
    }
}
