/// Finds from `frame_num` (ITU-T H.264, 7.4.3) that reference pictures are missing before an access unit. libavcodec
/// fills in for missing pictures without saying so.
///
/// A pure value.
struct FrameNumberGapDetector: Sendable {
    var parameterSets = ParameterSets()
    /// `PrevRefFrameNum`; nil before the first picture.
    private var lastReference: Int?
    /// How many pictures the newest slice's sequence may hold back to reorder them; nil where it does not say.
    private(set) var reordering: Int?

    init() {}

    /// Forgets the last picture and keeps the parameter sets.
    mutating func reset() { lastReference = nil }

    /// Reads the first slice of an access unit.
    /// - Parameter nal: from its header byte on.
    /// - Returns: whether reference pictures before it are missing.
    mutating func readSlice(_ nal: UnsafeRawBufferPointer, isRefresh: Bool, isReference: Bool) -> Bool {
        let header = unsafe SliceHeader(nal, parameterSets)
        guard let sequence = parameterSets.knownSequence(ofPicture: header.pictureParameterSet) else { return false }
        reordering = sequence.reordering
        guard let number = header.frameNumber else { return false }
        defer { if isReference { lastReference = number } }
        guard !isRefresh, let last = lastReference, !sequence.allowsFrameNumberGaps else { return false }
        return number != last && number != (last + 1) & (1 << sequence.frameNumberBits - 1)
    }
}
