/// What a decoder must know of an H.264 access unit before it decodes it, read from the NAL units up to its first slice
/// (ITU-T H.264, annex B, 7.3.1, D.1.8).
public struct AccessUnitSummary: Equatable, Sendable {
    /// A slice of a coded picture was found.
    public var hasSlice = false
    /// The picture is an instantaneous decoding refresh: no later picture refers to one before it.
    public var isRefresh = false
    /// Later pictures may refer to this one (`nal_ref_idc` is not zero).
    public var isReference = false
    /// Reference pictures before it are missing.
    public var followsGap = false
    /// From the recovery point message: after how many frames the pictures are right again; nil without the message.
    public var recoveryFrameCount: Int?

    /// Decoding can start at this picture: it and all that are shown later need no earlier ones.
    public var isCleanStart: Bool { isRefresh || recoveryFrameCount == 0 }

    public init() {}

    /// Reads an access unit. Allocates only where a sequence parameter set is new.
    /// - Parameters:
    ///   - unit: a whole access unit in annex B form. Any bytes at all; not kept.
    ///   - detector: keeps parameter sets and frame numbers from unit to unit. All units of a stream must be read with
    ///     the same one, in decoding order.
    public init(_ unit: UnsafeRawBufferPointer, _ detector: inout FrameNumberGapDetector) {
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            let header = unsafe unit[at]
            let type = NALUnitType(header: header)
            if type == .slice || type == .refreshSlice {
                hasSlice = true
                isRefresh = type == .refreshSlice
                isReference = NALUnitType.isReference(header: header)
                followsGap = unsafe detector.readSlice(
                    UnsafeRawBufferPointer(rebasing: unit[at...]), isRefresh: isRefresh, isReference: isReference)
                return
            }
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            let nal = unsafe UnsafeRawBufferPointer(rebasing: unit[at..<(next.map { $0 - 3 } ?? unit.count)])
            switch type {
            case .sequenceParameterSet: unsafe detector.parameterSets.readSequence(nal)
            case .pictureParameterSet: unsafe detector.parameterSets.readPicture(nal)
            case .supplementalInformation where recoveryFrameCount == nil:
                recoveryFrameCount = unsafe SupplementalInformation.recoveryFrameCount(in: nal)
            default: break
            }
        }
    }
}
