/// Follows the NAL units of an H.264 byte stream (ITU-T H.264, annex B) while it grows, and finds where one access unit
/// ends and the next begins (7.4.1.2.3). It looks at every byte once, keeps no bytes, and never looks past those it has.
struct PictureScanner {
    /// What is known of the access unit in the making.
    struct Picture {
        var hasSlice = false
        var sliceCount = 0
        /// `first_mb_in_slice` of the newest slice.
        var lastFirstMacroblock = 0
        /// `pic_parameter_set_id` of the newest slice.
        var parameterSet = 0
        var isInstantaneousRefresh = false
        var hasRecoveryPoint = false
        /// The first slice is one field of a frame, of this parity; its other field may follow.
        var field: Field?
        var hasBothFields = false
    }

    struct Field: Equatable {
        var frameNumber: Int
        var isBottom: Bool
    }

    enum Finding: Equatable {
        /// All bytes are looked at.
        case nothing
        /// The first access unit begins at this offset; what lies before belongs to none.
        case unitStart(Int)
        /// The access unit ends at this offset, where the next begins. To be followed by ``cut(at:)``.
        case unitEnd(Int)
        /// A NAL unit that goes on with the present picture begins at this offset.
        case continuation(Int)
    }

    private(set) var picture = Picture()
    /// Everything before is looked at.
    private(set) var position = 0
    /// Start of the NAL unit whose end is not yet found, its header byte; -1 when there is none.
    private var openNAL = -1
    /// Where the access unit would be cut if the next slice is not the second field of this picture.
    private var possibleStart = -1
    /// A unit is complete, and the next bytes must begin another.
    private(set) var expectsNewUnit = true

    var parameterSets = ParameterSets()

    /// Forgets the bytes before `offset`, where a new unit begins, or all of them.
    mutating func cut(at offset: Int) {
        picture = Picture()
        position = max(0, position - offset)
        openNAL = openNAL >= offset ? openNAL - offset : -1
        possibleStart = -1
        expectsNewUnit = true
    }

    /// Forgets the bytes before the unit that was found to begin at `offset`; what was seen of it stays.
    mutating func discard(before offset: Int) {
        position -= offset
        openNAL -= offset
    }

    /// Looks at what was added since the last call.
    /// - Parameters:
    ///   - bytes: the whole unit so far, from its start.
    ///   - isEnd: nothing more will come before a decision: judge by what is there.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, isEnd: Bool = false) -> Finding {
        while let start = unsafe nextStartCode(bytes) {
            // The type and, of a slice, the first bits of its header; all of it where fields are possible.
            let needed = start + 3 + (parameterSets.mayHaveFields ? 20 : 2)
            if needed > bytes.count, !isEnd {
                let type = start + 3 < bytes.count ? (unsafe bytes[start + 3] & 0x1F) : 1
                if (1...5).contains(type) {
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
        let header = unsafe bytes[nal]
        let type = header & 0x1F
        switch type {
        case 1, 2, 5:
            let isFirst = nal + 1 < bytes.count && (unsafe bytes[nal + 1] & 0x80 != 0)
            let field = unsafe parameterSets.field(
                ofSlice: UnsafeRawBufferPointer(rebasing: bytes[nal...]), isInstantaneousRefresh: type == 5)
            if picture.hasSlice, isFirst {
                let isSecondField =
                    field != nil && !picture.hasBothFields && picture.field != nil
                    && picture.field!.frameNumber == field!.frameNumber
                    && picture.field!.isBottom != field!.isBottom
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
            var reader = unsafe RBSPReader(UnsafeRawBufferPointer(rebasing: bytes[nal...].prefix(24)))
            picture.lastFirstMacroblock = reader.unsigned()
            _ = reader.unsigned()
            picture.parameterSet = reader.unsigned()
            if type == 5 { picture.isInstantaneousRefresh = true }
            return begins ? start(begin) : .continuation(begin)
        case 6, 7, 8, 9, 15, 16, 17, 18:
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
        default:
            return nil
        }
    }

    private mutating func start(_ begin: Int) -> Finding {
        expectsNewUnit = false
        return .unitStart(begin)
    }

    /// The next 00 00 01 at or after `position`, or nil; then `position` is where the next search begins.
    private mutating func nextStartCode(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let p = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        let end = bytes.count - 2
        var i = position
        while i < end {
            let third = unsafe p[i + 2]
            if third > 1 {
                i += 3
            } else if third == 0 {
                i += 1
            } else if unsafe p[i] == 0 && p[i + 1] == 0 {
                return i
            } else {
                i += 3
            }
        }
        position = max(position, min(i, max(end, 0)))
        return nil
    }

    private mutating func closeNAL(_ bytes: UnsafeRawBufferPointer, end: Int) {
        guard openNAL >= 0, openNAL < end else { return }
        let nal = unsafe UnsafeRawBufferPointer(rebasing: bytes[openNAL..<end])
        switch unsafe nal[0] & 0x1F {
        case 6: if unsafe ParameterSets.hasRecoveryPoint(nal) { picture.hasRecoveryPoint = true }
        case 7: unsafe parameterSets.readSequence(nal)
        case 8: unsafe parameterSets.readPicture(nal)
        default: break
        }
        openNAL = -1
    }
}
