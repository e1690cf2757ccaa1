/// The front of a slice header (ITU-T H.264, 7.3.3): what shows where a picture begins and that one is missing.
struct SliceHeader {
    /// `first_mb_in_slice`: 0 for the first slice of a picture that arrives in order.
    let firstMacroblock: Int
    /// `pic_parameter_set_id`.
    let pictureParameterSet: Int
    /// `frame_num`; nil where the parameter sets that the slice refers to are unknown, or the header is cut off.
    let frameNumber: Int?
    /// Whether the slice belongs to the bottom field of a frame; nil for a slice of a frame.
    let isBottomField: Bool?

    /// - Parameters:
    ///   - nal: the slice from its header byte on; as many bytes as there are.
    ///   - sets: the parameter sets that came before it.
    init(_ nal: UnsafeRawBufferPointer, _ sets: borrowing ParameterSets) {
        var reader = unsafe RBSPReader(nal)
        firstMacroblock = reader.unsigned()
        _ = reader.unsigned()
        pictureParameterSet = reader.unsigned()
        guard let sequence = sets.knownSequence(ofPicture: pictureParameterSet) else {
            (frameNumber, isBottomField) = (nil, nil)
            return
        }
        if sequence.hasSeparateColourPlanes { _ = reader.bits(2) }
        let number = reader.bits(sequence.frameNumberBits)
        frameNumber = reader.isExhausted ? nil : number
        guard !sequence.isProgressive, reader.flag() else {
            isBottomField = nil
            return
        }
        let isBottom = reader.flag()
        isBottomField = reader.isExhausted ? nil : isBottom
    }
}
