/// Where AV1's access units begin and end in a transport stream (AOM, Carriage of AV1 in MPEG-2 TS, 3.2 and 3.3): all units
/// (OBU) from behind one frame to the end of the next. Other than there, a frame that is not shown makes one unit with the frame
/// that follows, as it does in a file: what comes out of a decoder are pictures that are shown.
struct AV1Grammar: UnitGrammar {
    private var sequence: AV1Sequence?
    private(set) var lastFault: BitstreamFault?
    private(set) var kept = KeptParameterSets()
    /// The newest frame with tile groups of its own is shown.
    private var showsNewest = true

    var newest: VideoParameters? { sequence?.parameters }

    var hasZeroByte: Bool { false }

    /// The unit's header, its size, and the front of a frame header.
    func needed(header: UInt8) -> Int {
        switch AV1Unit.Kind(rawValue: Int(header >> 3 & 15)) {
        case .frameHeader, .frame: 3 + 12
        default: 4
        }
    }

    func classify(_ unit: UnsafeRawBufferPointer, _ picture: ScannedPicture) -> UnitPart {
        let header = unsafe unit[0]
        switch AV1Unit.Kind(rawValue: Int(header >> 3 & 15)) {
        case .temporalDelimiter, .sequenceHeader, .metadata, .padding: return .leading
        case .frameHeader, .frame:
            let front = unsafe Self.front(of: unit)
            let isStill = sequence?.isStill ?? false
            guard isStill || Self.isShown(front) else { return .leading }
            var facts = PictureFacts()
            // Tile groups follow a frame header of its own.
            facts.isSlice = front & 0x80 != 0 || header >> 3 & 15 == 6
            facts.isEntryPoint = picture.hasParameterSets && (isStill || front & 0xF0 == 0x10)
            return .pictureStart(facts)
        case .tileGroup: return showsNewest ? .slice(PictureFacts()) : .other
        default: return .other
        }
    }

    /// The first byte of a frame header: whether a stored frame is shown (1 bit), the type of the frame (2 bits; 0 for a key
    /// frame), whether it is shown.
    private static func front(of unit: UnsafeRawBufferPointer) -> UInt8 {
        // The header, its extension and the size come first; none of them can need emulation prevention.
        let header = unsafe unit[0]
        var at = header & 4 != 0 ? 2 : 1
        if header & 2 != 0 {
            while at < unit.count, unsafe unit[at] & 0x80 != 0 { at += 1 }
            at += 1
        }
        return at < unit.count ? unsafe unit[at] : 0
    }

    private static func isShown(_ front: UInt8) -> Bool { front & 0x90 != 0 }

    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture) {
        if unsafe unit[0] >> 3 & 15 == 3 {
            showsNewest = unsafe Self.isShown(Self.front(of: unit)) || sequence?.isStill ?? false
        }
        guard unsafe unit[0] >> 3 & 15 == 1, unit.count < 1024 else { return }
        picture.hasParameterSets = true
        if unsafe kept.holds(unit) { return }
        var plain: [UInt8] = []
        unsafe AV1StartCodes.appendPlain(unit, to: &plain)
        unsafe plain.withUnsafeBytes { bytes in
            guard let whole = unsafe AV1Unit(bytes) else { return }
            do throws(BitstreamFault) {
                sequence = unsafe try AV1Sequence(whole.payload)
                unsafe kept.keep(unit, key: 0)
            } catch {
                lastFault = error
            }
        }
    }

    func parameters(of picture: ScannedPicture) -> VideoParameters? { sequence?.parameters }
}
