/// Reads H.264 access units up to their first slice (ITU-T H.264, annex B, 7.3.1, D.1.8).
struct H264UnitReader: AccessUnitReader {
    private var detector = FrameNumberGapDetector()

    init() {}

    var reordering: Int? { detector.reordering }
    var color: StatedColor? { detector.parameterSets.newest.map { StatedColor($0.parameters.color) } }

    mutating func reset() { detector.reset() }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            let header = unsafe unit[at]
            let type = NALUnitType(header: header)
            if type == .slice || type == .refreshSlice {
                summary.hasSlice = true
                summary.isRefresh = type == .refreshSlice
                summary.isReference = NALUnitType.isReference(header: header)
                summary.followsGap = unsafe detector.readSlice(
                    UnsafeRawBufferPointer(rebasing: unit[at...]), isRefresh: summary.isRefresh,
                    isReference: summary.isReference)
                return summary
            }
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            let nal = unsafe UnsafeRawBufferPointer(rebasing: unit[at..<(next.map { $0 - 3 } ?? unit.count)])
            switch type {
            case .sequenceParameterSet: unsafe detector.parameterSets.readSequence(nal)
            case .pictureParameterSet: unsafe detector.parameterSets.readPicture(nal)
            case .supplementalInformation where summary.recoveryFrameCount == nil:
                summary.recoveryFrameCount = unsafe SupplementalInformation.recoveryFrameCount(in: nal)
            default: break
            }
        }
        return summary
    }
}
