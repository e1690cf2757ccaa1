/// Where AV1's access units begin and end in a transport stream (AOM, Carriage of AV1 in MPEG-2 TS, 3.2 and 3.3): all units
/// (OBU) from behind one frame to the end of the next. Other than there, a frame that is not shown makes one unit with the frame
/// that follows, as it does in a file: what comes out of a decoder are pictures that are shown.
struct AV1Grammar: UnitGrammar {
    private var sequence: AV1Sequence?
    private(set) var lastFault: BitstreamFault?
    private(set) var kept = KeptParameterSets()
    /// The newest frame, to which the tile groups behind it belong, is shown.
    private var showsNewest = true

    var newest: VideoParameters? { sequence?.parameters }

    var hasZeroByte: Bool { false }

    /// The unit's header, its size, and the first byte of a frame header. A unit that shows a stored frame may have no more.
    func needed(_ unit: UnsafeRawBufferPointer) -> Int {
        switch unsafe AV1Unit.Kind(rawValue: Int(unit[0] >> 3 & 15)) {
        case .frameHeader, .frame: unsafe 3 + Self.frontOffset(of: unit) + 1
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
        let at = unsafe frontOffset(of: unit)
        return at < unit.count ? unsafe unit[at] : 0
    }

    /// Where a frame header begins, or would begin at the earliest: behind the unit's header, its extension and its size.
    private static func frontOffset(of unit: UnsafeRawBufferPointer) -> Int {
        // None of them can need emulation prevention.
        let header = unsafe unit[0]
        var at = header & 4 != 0 ? 2 : 1
        if header & 2 != 0 {
            let end = at + 8
            while at < min(unit.count, end), unsafe unit[at] & 0x80 != 0 { at += 1 }
            at += 1
        }
        return at
    }

    private static func isShown(_ front: UInt8) -> Bool { front & 0x90 != 0 }

    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture) {
        // Tile groups may follow either.
        let kind = unsafe unit[0] >> 3 & 15
        if kind == 3 || kind == 6 {
            showsNewest = unsafe Self.isShown(Self.front(of: unit)) || sequence?.isStill ?? false
        }
        guard kind == 1, unit.count < 1024 else { return }
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
