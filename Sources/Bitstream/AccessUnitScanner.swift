/// Follows the units of a byte stream with start codes (ITU-T H.264 and H.265, annex B; ITU-T H.262; AV1 in MPEG-2 TS) while it
/// grows, and finds where one access unit ends and the next begins. It reads every byte once, keeps no bytes, and never
/// reads past those it has.
///
/// A pure value. It allocates only where a parameter set is new.
public struct AccessUnitScanner: Sendable {
    public enum Finding: Equatable, Sendable {
        /// All bytes are scanned.
        case nothing
        /// The first access unit begins at this offset; what lies before belongs to none.
        case unitStart(Int)
        /// The access unit ends at this offset, where the next begins. To be followed by ``cut(at:)``.
        case unitEnd(Int)
        /// A NAL unit that continues the present picture begins at this offset.
        case continuation(Int)
    }

    public private(set) var picture = ScannedPicture()
    /// Everything before this offset is scanned.
    public private(set) var position = 0
    /// Offset of the header byte of the NAL unit whose end is not yet found; -1 when there is none.
    private var openNAL = -1
    /// Where the access unit would be cut if the next slice is not the second field of this picture.
    private var possibleStart = -1
    /// A unit is complete, and the next bytes must begin another.
    private var expectsNewUnit = true

    private var grammar: any UnitGrammar

    public init(_ codec: VideoCodec = .h264) {
        switch codec {
        case .hevc: grammar = HEVCGrammar()
        case .mpeg2Video: grammar = MPEG2Grammar()
        case .av1: grammar = AV1Grammar()
        // VP8 and VP9 have no start codes and do not come in transport streams.
        case .h264, .vp8, .vp9: grammar = H264Grammar()
        }
    }

    /// The parameters of the present picture; the newest where those that it refers to are missing.
    public var parameters: VideoParameters? { grammar.parameters(of: picture) }
    /// The newest parameters that could be read.
    public var newestParameters: VideoParameters? { grammar.newest }
    /// Why the latest unreadable parameter set could not be read.
    public var lastFault: BitstreamFault? { grammar.lastFault }
    /// The newest parameter sets.
    public var keptSets: KeptParameterSets { grammar.kept }

    /// Forgets the bytes before `offset`, where a new unit begins, or all of them.
    public mutating func cut(at offset: Int) {
        picture = ScannedPicture()
        position = max(0, position - offset)
        openNAL = openNAL >= offset ? openNAL - offset : -1
        possibleStart = -1
        expectsNewUnit = true
    }

    /// Forgets the bytes before the unit that was found to begin at `offset`; what was seen of it stays.
    public mutating func discard(before offset: Int) {
        position -= offset
        openNAL -= offset
    }

    /// Scans what was added since the last call.
    /// - Parameters:
    ///   - bytes: the whole unit so far, from its start. Any bytes at all.
    ///   - isEnd: nothing more will come before a decision: judge by what is there.
    public mutating func scan(_ bytes: UnsafeRawBufferPointer, isEnd: Bool = false) -> Finding {
        while let start = unsafe NALScanner.startCode(in: bytes, from: &position) {
            guard start + 3 < bytes.count else {
                if isEnd { break }
                position = start
                return .nothing
            }
            let unit = unsafe UnsafeRawBufferPointer(rebasing: bytes[(start + 3)...])
            if !isEnd, unsafe start + grammar.needed(unit) > bytes.count {
                position = start
                return .nothing
            }
            unsafe closeNAL(bytes, end: start)
            position = start + 3
            openNAL = start + 3
            let begin = unsafe start > 0 && grammar.hasZeroByte && bytes[start - 1] == 0 ? start - 1 : start
            if let finding = unsafe classify(bytes, nal: start + 3, begin: begin) { return finding }
        }
        // What the next picture begins with may have come in part only.
        if isEnd, possibleStart < 0 { unsafe closeNAL(bytes, end: bytes.count) }
        return .nothing
    }

    /// Bytes are missing before those that come next. The NAL unit that they belong to is not read.
    public mutating func recordLoss() { openNAL = -1 }

    private mutating func classify(_ bytes: UnsafeRawBufferPointer, nal: Int, begin: Int) -> Finding? {
        let unit = unsafe UnsafeRawBufferPointer(rebasing: bytes[nal...])
        switch unsafe grammar.classify(unit, picture) {
        case .pictureStart(let facts):
            if picture.hasSlice {
                let isSecondField =
                    !picture.hasBothFields && (picture.field.map { facts.field?.isOther(of: $0) ?? false } ?? false)
                if !isSecondField {
                    // Seen again as the first slice of its own unit.
                    return end(possibleStart >= 0 ? possibleStart : begin)
                }
                picture.hasBothFields = true
            }
            let begins = !picture.hasSlice && expectsNewUnit
            record(facts)
            return begins ? start(begin) : .continuation(begin)
        case .slice(let facts):
            record(facts)
            return .continuation(begin)
        case .leading:
            if picture.hasSlice {
                if picture.field != nil, !picture.hasBothFields {
                    if possibleStart < 0 { possibleStart = begin }
                    return nil
                }
                return end(begin)
            }
            return expectsNewUnit ? start(begin) : nil
        case .other: return nil
        }
    }

    private mutating func record(_ facts: PictureFacts) {
        possibleStart = -1
        if !picture.hasSlice, let field = facts.field { picture.field = field }
        if facts.isEntryPoint { picture.isEntryPoint = true }
        guard facts.isSlice else { return }
        picture.hasSlice = true
        picture.sliceCount += 1
        picture.lastSlicePlace = facts.place
        picture.parameterSet = facts.parameterSet
    }

    private mutating func end(_ begin: Int) -> Finding {
        position = begin
        openNAL = -1
        return .unitEnd(begin)
    }

    private mutating func start(_ begin: Int) -> Finding {
        expectsNewUnit = false
        return .unitStart(begin)
    }

    private mutating func closeNAL(_ bytes: UnsafeRawBufferPointer, end: Int) {
        guard openNAL >= 0, openNAL < end else { return }
        let nal = unsafe UnsafeRawBufferPointer(rebasing: bytes[openNAL..<end])
        unsafe grammar.close(nal, &picture)
        openNAL = -1
    }
}
