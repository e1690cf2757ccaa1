/// Notices from `frame_num` (ITU-T H.264, 7.4.3) that reference pictures are missing before a unit, which libavcodec
/// papers over without a word. Keeps of the parameter sets only what it takes to find that field. A pure value; any
/// bytes may be thrown at it.
struct FrameNumberWatch {
    private struct Sequence: BitwiseCopyable {
        var isKnown = false
        var bitCount: UInt8 = 0
        var hasColourPlanes = false
        var allowsGaps = false
        var reordering: UInt8?
    }
    private static let noSequence = UInt8.max

    private var sequences = InlineArray<32, Sequence>(repeating: Sequence())
    /// The sequence parameter set that each picture parameter set refers to.
    private var sequenceOfPicture = InlineArray<256, UInt8>(repeating: noSequence)
    /// `PrevRefFrameNum`; nil before the first picture.
    private var lastReference: Int?
    /// How far the newest slice's sequence reorders pictures; nil where it does not say.
    private(set) var reordering: Int?

    /// Forgets the last picture, keeps the parameter sets.
    mutating func reset() { lastReference = nil }

    /// Reads a sequence parameter set, given from its header byte on.
    mutating func readSequence(_ nal: UnsafeRawBufferPointer) {
        guard let set = unsafe try? SequenceParameterSet(nal) else { return }
        sequences[set.id] = Sequence(
            isKnown: true, bitCount: UInt8(set.frameNumberBits), hasColourPlanes: set.hasSeparateColourPlanes,
            allowsGaps: set.allowsFrameNumberGaps, reordering: set.reordering.map { UInt8($0) })
    }

    /// Reads a picture parameter set's two numbers (7.3.2.2).
    mutating func readPicture(_ nal: UnsafeRawBufferPointer) {
        var reader = unsafe RBSPReader(nal)
        let (id, sequence) = (reader.unsigned(), reader.unsigned())
        guard !reader.isExhausted, id < 256, sequence < 32 else { return }
        sequenceOfPicture[id] = UInt8(sequence)
    }

    /// A unit's first slice.
    /// - Returns: whether reference pictures before it are missing.
    mutating func readSlice(_ nal: UnsafeRawBufferPointer, isRefresh: Bool, isReference: Bool) -> Bool {
        var reader = unsafe RBSPReader(nal)
        _ = (reader.unsigned(), reader.unsigned())
        let picture = reader.unsigned()
        guard picture < 256, sequenceOfPicture[picture] < 32 else { return false }
        let sequence = sequences[Int(sequenceOfPicture[picture])]
        guard sequence.isKnown else { return false }
        reordering = sequence.reordering.map { Int($0) }
        if sequence.hasColourPlanes { _ = reader.bits(2) }
        let number = reader.bits(Int(sequence.bitCount))
        guard !reader.isExhausted else { return false }
        defer { if isReference { lastReference = number } }
        guard !isRefresh, let last = lastReference, !sequence.allowsGaps else { return false }
        return number != last && number != (last + 1) & (1 << Int(sequence.bitCount) - 1)
    }
}
