/// Reads the headers of MPEG-1 and MPEG-2 access units (ITU-T H.262, 6.2). The quantiser comes from the decoder, which sees
/// that of each macroblock.
struct MPEG2UnitReader: AccessUnitReader {
    private var sequences = MPEG2Sequences()
    /// Pictures that others may refer to, since decoding began; not counted beyond 2.
    private var references = 0
    /// The present group's first pictures do not refer to the group before.
    private var isClosed = false
    /// Only B pictures have come since the newest entry point. They are shown before it.
    private var isBehindEntry = false

    init() {}

    var reordering: Int? { sequences.newest?.reordering }

    mutating func reset() { references = 0 }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        var header: MPEG2PictureHeader?
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: unit[at...])
            let type = unsafe MPEG2UnitType(rest)
            if case .slice = type {
                summary.hasSlice = header != nil
                break
            }
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            let part = unsafe UnsafeRawBufferPointer(rebasing: unit[at..<(next.map { $0 - 3 } ?? unit.count)])
            switch type {
            case .sequence, .sequenceExtension, .displayExtension: unsafe sequences.read(part, type)
            case .group:
                summary.beginsGroup = true
                // Behind 25 bits of a time code.
                isClosed = part.count > 4 && (unsafe part[4] & 0x40 != 0)
            case .picture: unsafe header = header ?? MPEG2PictureHeader(part)
            default: break
            }
        }
        guard let header, summary.hasSlice else { return summary }
        summary.displayPlace = header.displayPlace
        summary.isReference = header.kind != .bidirectional && header.kind != .means
        summary.leads = header.kind == .bidirectional && isBehindEntry
        if header.kind != .bidirectional { isBehindEntry = header.kind == .intra }
        switch header.kind {
        case .intra where sequences.newest != nil:
            // Pictures that follow it and are shown before it may refer to the group before.
            summary.recoveryFrameCount = 0
            summary.isRefresh = summary.beginsGroup && isClosed
            references = min(references + 1, 2)
        case .intra, .means: summary.precedesEntryPoint = references == 0
        case .predicted:
            summary.precedesEntryPoint = references == 0
            if references > 0 { references = 2 }
        case .bidirectional: summary.precedesEntryPoint = references < (isClosed ? 1 : 2)
        }
        return summary
    }
}
