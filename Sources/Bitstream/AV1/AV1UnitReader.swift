/// Reads AV1 units without start codes: whole temporal units, as files have them, or access units of a transport stream
/// (``AV1StartCodes/remove(from:into:)``).
///
/// The quantiser is that of the frame that is shown. Segments and superblocks may differ from it.
struct AV1UnitReader: AccessUnitReader {
    private var sequence: AV1Sequence?
    private var sequenceBytes: [UInt8] = []
    private var stored = InlineArray<8, AV1FrameHeader.Size>(repeating: .init())
    private var storedQuantisers = InlineArray<8, Float>(repeating: -1)
    private var hasStarted = false
    /// Which stored frames are keyframes that have not been shown, a bit each. Where one is shown later, decoding can begin there.
    private var hiddenKeys = 0

    init() {}

    var reordering: Int? { 0 }
    var color: StatedColor? { sequence.map { StatedColor($0.parameters.color) } }

    mutating func reset() {
        hasStarted = false
        hiddenKeys = 0
    }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        summary.isHidden = true
        summary.leads = false
        summary.precedesEntryPoint = !hasStarted
        var at = 0
        while at < unit.count, let part = unsafe AV1Unit(UnsafeRawBufferPointer(rebasing: unit[at...])) {
            at += part.byteCount
            switch part.kind {
            case .sequenceHeader: unsafe readSequence(part.payload)
            case .frame, .frameHeader:
                guard let sequence,
                    let header = unsafe AV1FrameHeader(part.payload, part, sequence, stored: stored)
                else { continue }
                record(header, &summary)
            default: break
            }
        }
        summary.isHidden = summary.isHidden && summary.hasSlice
        return summary
    }

    private mutating func readSequence(_ payload: UnsafeRawBufferPointer) {
        if unsafe sequenceBytes.count == payload.count && sequenceBytes.elementsEqual(payload) { return }
        guard let new = unsafe try? AV1Sequence(payload) else { return }
        sequence = new
        sequenceBytes = unsafe Array(payload)
    }

    private mutating func record(_ header: AV1FrameHeader, _ summary: inout AccessUnitSummary) {
        summary.hasSlice = true
        if let place = header.showsExisting {
            summary.isHidden = false
            summary.isReference = true
            if storedQuantisers[place] >= 0 { summary.quantiser = storedQuantisers[place] }
            guard hiddenKeys >> place & 1 == 1 else { return }
            // It replaces all stored frames (7.21).
            for other in 0..<8 {
                stored[other] = stored[place]
                storedQuantisers[other] = storedQuantisers[place]
            }
            hiddenKeys = 0
            begin(&summary)
            return
        }
        let quantiser = header.quantiserIndex.map { QuantiserScale.vp9(index: $0) }
        for place in 0..<8 where header.refreshes >> place & 1 == 1 {
            stored[place] = header.size
            storedQuantisers[place] = quantiser ?? -1
        }
        if header.refreshes != 0 { summary.isReference = true }
        hiddenKeys &= ~header.refreshes
        guard header.isShown else {
            guard header.kind == .key else { return }
            hiddenKeys |= header.refreshes
            // The decoder needs it, although what is shown until then may refer to frames from before it.
            summary.precedesEntryPoint = false
            return
        }
        summary.isHidden = false
        summary.quantiser = quantiser
        if header.kind == .key { begin(&summary) }
    }

    private mutating func begin(_ summary: inout AccessUnitSummary) {
        summary.isRefresh = true
        summary.precedesEntryPoint = false
        hasStarted = true
    }
}
