/// Where H.264's access units begin and end (ITU-T H.264, 7.4.1.2.3).
struct H264Grammar: UnitGrammar {
    private(set) var sets = ParameterSets()
    private(set) var kept = KeptParameterSets()

    /// Of ``kept``.
    static let sequenceKeys = 0..<32
    static let pictureKeys = 256..<512

    var newest: VideoParameters? { sets.newest?.parameters }
    var lastFault: BitstreamFault? { sets.lastFault }

    func needed(_ unit: UnsafeRawBufferPointer) -> Int {
        switch unsafe NALUnitType(header: unit[0]) {
        // The type and, of a slice, the first bits of its header; all of it where fields are possible.
        case .slice, .refreshSlice, .laterPartition: 3 + (sets.mayHaveFields ? 20 : 2)
        default: 4
        }
    }

    func classify(_ unit: UnsafeRawBufferPointer, _ picture: ScannedPicture) -> UnitPart {
        let type = unsafe NALUnitType(header: unit[0])
        switch type {
        case .slice, .refreshSlice:
            let header = unsafe SliceHeader(unit, sets)
            var facts = PictureFacts()
            if let number = header.frameNumber, let isBottom = header.isBottomField {
                facts.field = Field(frameNumber: number, isBottom: isBottom)
            }
            facts.place = header.firstMacroblock
            facts.parameterSet = header.pictureParameterSet
            facts.isEntryPoint = type == .refreshSlice
            // `first_mb_in_slice` is 0. The bit is there even where the rest of the header is cut off.
            let isFirst = unit.count > 1 && (unsafe unit[1] & 0x80 != 0)
            return isFirst ? .pictureStart(facts) : .slice(facts)
        case .supplementalInformation, .sequenceParameterSet, .pictureParameterSet, .accessUnitStart: return .leading
        case .laterPartition, .other: return .other
        }
    }

    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture) {
        switch unsafe NALUnitType(header: unit[0]) {
        case .supplementalInformation:
            if unsafe SupplementalInformation.recoveryFrameCount(in: unit) != nil { picture.isEntryPoint = true }
        case .sequenceParameterSet:
            unsafe sets.readSequence(unit)
            var reader = unsafe RBSPReader(unit)
            reader.skip(24)
            let id = reader.unsigned()
            if id < 32 { unsafe kept.keep(unit, key: Self.sequenceKeys.lowerBound + id) }
        case .pictureParameterSet:
            if let id = unsafe sets.readPicture(unit) { unsafe kept.keep(unit, key: Self.pictureKeys.lowerBound + id) }
        default: break
        }
    }

    func parameters(of picture: ScannedPicture) -> VideoParameters? {
        sets.sequence(ofPicture: picture.parameterSet)?.parameters
    }
}
