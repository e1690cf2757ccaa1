import Media

/// Shows a part of the picture at the size of the whole.
public final class CropStep: PictureStep {
    public let kind = StepKind.crop
    private let crop: StepSettings.Crop?
    private let region: PictureRegion
    /// Nil where the part is all of the picture.
    private let resampler: PictureResampler?

    public init(_ crop: StepSettings.Crop?, size: PictureSize, workers: WorkerPool) {
        self.crop = crop
        let (x, y, width, height) = crop?.region(of: size) ?? (0, 0, size.width, size.height)
        region = PictureRegion(x: x, y: y, width: width, height: height)
        let part = PictureSize(width: width, height: height)
        resampler = part == size ? nil : PictureResampler(from: part, to: size, workers: workers)
    }

    /// The filters are those of one part.
    public func suits(_ settings: StepSettings) -> Bool { settings.crop == crop }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard let input = unsafe input else { return .pending }
        guard let resampler else { return .unchanged }
        unsafe resampler.resample(
            input.picture.part(region), into: output, chromaLocation: parameters.chromaLocation)
        return .written
    }
}

extension PictureView {
    /// A part of the picture, in luma samples from an even place.
    @unsafe fileprivate func part(_ region: PictureRegion) -> PictureView {
        func part(_ plane: PlaneView, by step: Int) -> PlaneView {
            unsafe PlaneView(
                base: plane.row(region.y / step) + region.x / step, stride: plane.stride,
                width: (region.width + step - 1) / step, height: (region.height + step - 1) / step)
        }
        return unsafe PictureView(y: part(y, by: 1), u: part(u, by: 2), v: part(v, by: 2))
    }
}
