/// Follows the NAL units of an H.264 byte stream (ITU-T H.264, annex B) while it grows, and finds where one access unit
/// ends and the next begins (7.4.1.2.3). It reads every byte once, keeps no bytes, and never reads past those it has.
///
/// A pure value. It allocates only where a sequence parameter set is new.
public struct AccessUnitScanner {
    /// What is known of the access unit that is being scanned.
    public struct Picture: Sendable {
        public internal(set) var hasSlice = false
        public internal(set) var sliceCount = 0
        /// `first_mb_in_slice` of the newest slice.
        public internal(set) var lastFirstMacroblock = 0
        /// `pic_parameter_set_id` of the newest slice.
        public internal(set) var parameterSet = 0
        public internal(set) var isInstantaneousRefresh = false
        public internal(set) var hasRecoveryPoint = false
        /// The first slice is one field of a frame, of this parity; its other field may follow.
        var field: Field?
        var hasBothFields = false
    }

    struct Field: Equatable, Sendable {
        var frameNumber: Int
        var isBottom: Bool

        init?(_ header: SliceHeader) {
            guard let number = header.frameNumber, let isBottom = header.isBottomField else { return nil }
            (frameNumber, self.isBottom) = (number, isBottom)
        }

        func isOther(of first: Field) -> Bool { frameNumber == first.frameNumber && isBottom != first.isBottom }
    }

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

    public private(set) var picture = Picture()
    /// Everything before this offset is scanned.
    public private(set) var position = 0
    /// Offset of the header byte of the NAL unit whose end is not yet found; -1 when there is none.
    private var openNAL = -1
    /// Where the access unit would be cut if the next slice is not the second field of this picture.
    private var possibleStart = -1
    /// A unit is complete, and the next bytes must begin another.
    private var expectsNewUnit = true

    public private(set) var parameterSets = ParameterSets()

    public init() {}

    /// Forgets the bytes before `offset`, where a new unit begins, or all of them.
    public mutating func cut(at offset: Int) {
        picture = Picture()
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
            // The type and, of a slice, the first bits of its header; all of it where fields are possible.
            let needed = start + 3 + (parameterSets.mayHaveFields ? 20 : 2)
            if needed > bytes.count, !isEnd {
                let type = start + 3 < bytes.count ? unsafe NALUnitType(header: bytes[start + 3]) : .slice
                if type == .slice || type == .refreshSlice || type == .laterPartition {
                    position = start
                    return .nothing
                }
            }
            guard start + 3 < bytes.count else { break }
            unsafe closeNAL(bytes, end: start)
            position = start + 3
            openNAL = start + 3
            let begin = unsafe start > 0 && bytes[start - 1] == 0 ? start - 1 : start
            if let finding = unsafe classify(bytes, nal: start + 3, begin: begin) { return finding }
        }
        if isEnd { unsafe closeNAL(bytes, end: bytes.count) }
        return .nothing
    }

    private mutating func classify(_ bytes: UnsafeRawBufferPointer, nal: Int, begin: Int) -> Finding? {
        let type = unsafe NALUnitType(header: bytes[nal])
        switch type {
        case .slice, .refreshSlice:
            let header = unsafe SliceHeader(UnsafeRawBufferPointer(rebasing: bytes[nal...]), parameterSets)
            // `first_mb_in_slice` is 0. The bit is there even where the rest of the header is cut off.
            let isFirst = nal + 1 < bytes.count && (unsafe bytes[nal + 1] & 0x80 != 0)
            let field = Field(header)
            if picture.hasSlice, isFirst {
                let isSecondField =
                    !picture.hasBothFields && (picture.field.map { field?.isOther(of: $0) ?? false } ?? false)
                if !isSecondField {
                    let start = possibleStart >= 0 ? possibleStart : begin
                    // Seen again as the first slice of its own unit.
                    position = start
                    openNAL = -1
                    return .unitEnd(start)
                }
                picture.hasBothFields = true
            }
            possibleStart = -1
            let begins = !picture.hasSlice && isFirst && expectsNewUnit
            if !picture.hasSlice { picture.field = field }
            picture.hasSlice = true
            picture.sliceCount += 1
            picture.lastFirstMacroblock = header.firstMacroblock
            picture.parameterSet = header.pictureParameterSet
            if type == .refreshSlice { picture.isInstantaneousRefresh = true }
            return begins ? start(begin) : .continuation(begin)
        case .supplementalInformation, .sequenceParameterSet, .pictureParameterSet, .accessUnitStart:
            if picture.hasSlice {
                if picture.field != nil, !picture.hasBothFields {
                    if possibleStart < 0 { possibleStart = begin }
                    return nil
                }
                position = begin
                openNAL = -1
                return .unitEnd(begin)
            }
            return expectsNewUnit ? start(begin) : nil
        case .laterPartition, .other:
            return nil
        }
    }

    private mutating func start(_ begin: Int) -> Finding {
        expectsNewUnit = false
        return .unitStart(begin)
    }

    private mutating func closeNAL(_ bytes: UnsafeRawBufferPointer, end: Int) {
        guard openNAL >= 0, openNAL < end else { return }
        let nal = unsafe UnsafeRawBufferPointer(rebasing: bytes[openNAL..<end])
        switch unsafe NALUnitType(header: nal[0]) {
        case .supplementalInformation:
            if unsafe SupplementalInformation.recoveryFrameCount(in: nal) != nil { picture.hasRecoveryPoint = true }
        case .sequenceParameterSet: unsafe parameterSets.readSequence(nal)
        case .pictureParameterSet: unsafe parameterSets.readPicture(nal)
        default: break
        }
        openNAL = -1
    }
}
