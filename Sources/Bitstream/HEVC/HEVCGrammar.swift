/// Where HEVC's access units begin and end (ITU-T H.265, 7.4.2.4.4). Only the base layer is looked at; units of other layers
/// belong to the access unit that they stand in.
struct HEVCGrammar: UnitGrammar {
    private var sets = HEVCParameterSets()

    var newest: VideoParameters? { sets.newest?.parameters }
    var lastFault: BitstreamFault? { sets.lastFault }
    var kept: KeptParameterSets { sets.kept }

    /// The header, and of a slice its front up to the address.
    func needed(_ unit: UnsafeRawBufferPointer) -> Int { unsafe unit[0] & 0x7F < 64 ? 3 + 12 : 5 }

    func classify(_ unit: UnsafeRawBufferPointer, _ picture: ScannedPicture) -> UnitPart {
        guard let type = unsafe HEVCUnitType(unit), type.layer == 0 else { return .other }
        guard type.isSlice else { return type.isLeading ? .leading : .other }
        let header = unsafe HEVCSliceHeader(unit, type, sets, readsQuantiser: false)
        var facts = PictureFacts()
        facts.place = header.address
        facts.parameterSet = header.pictureSet
        facts.isEntryPoint = type.isEntryPoint
        return header.isFirst ? .pictureStart(facts) : .slice(facts)
    }

    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture) {
        guard let type = unsafe HEVCUnitType(unit) else { return }
        if type.isSupplemental {
            if unsafe SupplementalInformation.recoveryFrameCount(in: unit, headerBytes: 2) != nil {
                picture.isEntryPoint = true
            }
        } else {
            unsafe sets.read(unit)
        }
    }

    func parameters(of picture: ScannedPicture) -> VideoParameters? {
        sets.sequence(ofPicture: picture.parameterSet)?.parameters
    }
}
