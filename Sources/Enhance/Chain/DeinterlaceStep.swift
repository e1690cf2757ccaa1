import Media

/// Makes one progressive picture of each interlaced one, at the moment of its first field. Pictures that are only marked as
/// interlaced stay as they are.
public final class DeinterlaceStep: PictureStep {
    public let kind = StepKind.deinterlace
    private let deinterlacer = Deinterlacer()

    public init() {}

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard let input = unsafe input else { return .pending }
        let (picture, before) = unsafe (input.picture, input.before)
        guard let isTopFirst = parameters.topFieldFirst, unsafe picture.y.height >= Deinterlacer.leastHeight else {
            return .unchanged
        }
        if let before = unsafe before, unsafe !deinterlacer.examine(picture, before: before) { return .unchanged }
        unsafe deinterlacer.make(.first, of: picture, before: before, isTopFirst: isTopFirst, into: output)
        return .written
    }

    public func reset() { deinterlacer.reset() }
}
