/// Reads HEVC access units up to their first slice (ITU-T H.265, annex B, 7.3.6.1).
///
/// The quantiser is that of the first slice. Blocks may differ from it (`cu_qp_delta`), which only an entropy decoder sees.
struct HEVCUnitReader: AccessUnitReader {
    private var sets = HEVCParameterSets()
    /// An entry point, or a picture with a recovery point message, has come.
    private var hasStarted = false
    /// Nothing before the newest entry point was decoded: the pictures that refer to it cannot be.
    private var skipsLeading = false
    private var sequenceEnded = false

    private(set) var reordering: Int?
    /// Of the newest unit at which decoding can begin.
    private var light = LightMessages()
    var color: StatedColor? { sets.newest.map { StatedColor($0.parameters.color, light) } }

    init() {}

    mutating func reset() {
        hasStarted = false
        skipsLeading = false
    }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        // What ends a sequence stands behind the slices of the unit before, or comes first where that unit was delivered early.
        var beginsSequence = sequenceEnded
        var messages = LightMessages()
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: unit[at...])
            guard let type = unsafe HEVCUnitType(rest) else { break }
            if type.isSlice, type.layer == 0 {
                if !summary.hasSlice { unsafe readSlice(rest, type, beginsSequence: beginsSequence, &summary) }
                // Of a unit's end only the last bytes matter.
                sequenceEnded = unsafe endsSequence(unit)
                if type.isEntryPoint { light = messages }
                return summary
            }
            if type.endsSequence { beginsSequence = true }
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            let nal = unsafe UnsafeRawBufferPointer(rebasing: unit[at..<(next.map { $0 - 3 } ?? unit.count)])
            if type.isSupplemental { unsafe SupplementalInformation.readLight(in: nal, into: &messages) }
            if type.isSupplemental, summary.recoveryFrameCount == nil {
                summary.recoveryFrameCount = unsafe SupplementalInformation.recoveryFrameCount(in: nal, headerBytes: 2)
            } else {
                unsafe sets.read(nal)
            }
        }
        sequenceEnded = beginsSequence
        return summary
    }

    private mutating func readSlice(
        _ nal: UnsafeRawBufferPointer, _ type: HEVCUnitType, beginsSequence: Bool, _ summary: inout AccessUnitSummary
    ) {
        let header = unsafe HEVCSliceHeader(nal, type, sets, readsQuantiser: true)
        let sequence = sets.sequence(ofPicture: header.pictureSet)
        reordering = sequence?.parameters.reordering
        summary.hasSlice = true
        summary.isRefresh = type.isEntryPoint && !type.isCleanRandomAccess
        if type.isCleanRandomAccess { summary.recoveryFrameCount = 0 }
        // A picture of a lower temporal layer may serve those above it.
        let isHighest = type.temporalLayer + 1 >= sequence?.temporalLayers ?? 1
        summary.isReference = !(type.isSubLayerNonReference && isHighest)
        summary.quantiser = header.quantiser.map { Float(max(0, $0)) }
        summary.leads = type.isLeadingPicture
        summary.isField = sequence.map { !$0.parameters.isProgressive } ?? false
        if type.isEntryPoint {
            // 8.1.3: the first picture, one behind the end of a sequence, and all but CRA.
            skipsLeading = !hasStarted || beginsSequence || !type.isCleanRandomAccess
            hasStarted = true
        } else if summary.recoveryFrameCount != nil {
            hasStarted = true
        }
        summary.precedesEntryPoint = !hasStarted || (type.isSkippedLeading && skipsLeading)
    }

    /// Whether a unit that ends a sequence stands last.
    private func endsSequence(_ unit: UnsafeRawBufferPointer) -> Bool {
        guard unit.count >= 5 else { return false }
        let tail = unsafe UnsafeRawBufferPointer(rebasing: unit[max(0, unit.count - 12)...])
        var next = unsafe NALScanner.nextUnit(in: tail, from: 0)
        while let at = next {
            if let type = unsafe HEVCUnitType(UnsafeRawBufferPointer(rebasing: tail[at...])), type.endsSequence { return true }
            next = unsafe NALScanner.nextUnit(in: tail, from: at)
        }
        return false
    }
}
