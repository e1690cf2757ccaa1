/// Where the access units of MPEG-1 and MPEG-2 video begin and end (ITU-T H.222.0, 2.1.1; H.262, 6.1.1). The two fields of a
/// frame make one unit, as a decoder gives them out.
struct MPEG2Grammar: UnitGrammar {
    private var sequences = MPEG2Sequences()
    /// The newest picture header.
    private var kind: MPEG2PictureKind?
    private var displayPlace = 0

    var newest: VideoParameters? { sequences.newest }
    var lastFault: BitstreamFault? { sequences.lastFault }
    var kept: KeptParameterSets { sequences.kept }

    var hasZeroByte: Bool { false }

    func needed(_ unit: UnsafeRawBufferPointer) -> Int {
        switch unsafe unit[0] {
        case 0x00: 6
        // As far as the structure of the picture.
        case 0xB5: 8
        default: 4
        }
    }

    func classify(_ unit: UnsafeRawBufferPointer, _ picture: ScannedPicture) -> UnitPart {
        switch unsafe MPEG2UnitType(unit) {
        case .picture, .sequence, .group: return .leading
        case .codingExtension:
            var facts = PictureFacts()
            facts.isSlice = false
            // Behind the identifier and the four ranges of motion and a precision: 1 top field, 2 bottom field, 3 frame.
            let structure = unit.count > 3 ? unsafe unit[3] & 3 : 3
            if structure != 3 { facts.field = Field(frameNumber: displayPlace, isBottom: structure == 2) }
            return .pictureStart(facts)
        case .slice(let row):
            var facts = PictureFacts()
            facts.place = row
            facts.isEntryPoint = kind == .intra && picture.hasParameterSets
            return .slice(facts)
        case .sequenceExtension, .displayExtension, .other: return .other
        }
    }

    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture) {
        let type = unsafe MPEG2UnitType(unit)
        switch type {
        case .picture:
            let header = unsafe MPEG2PictureHeader(unit)
            kind = header?.kind
            displayPlace = header?.displayPlace ?? 0
        case .sequence, .sequenceExtension, .displayExtension:
            if !picture.hasSlice { picture.hasParameterSets = true }
            unsafe sequences.read(unit, type)
        default: break
        }
    }

    func parameters(of picture: ScannedPicture) -> VideoParameters? { sequences.newest }
}
