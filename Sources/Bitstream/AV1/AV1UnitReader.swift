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

    init() {}

    var reordering: Int? { 0 }

    mutating func reset() { hasStarted = false }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        summary.isHidden = true
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
            return
        }
        let quantiser = header.quantiserIndex.map { QuantiserScale.vp9(index: $0) }
        for place in 0..<8 where header.refreshes >> place & 1 == 1 {
            stored[place] = header.size
            storedQuantisers[place] = quantiser ?? -1
        }
        if header.refreshes != 0 { summary.isReference = true }
        guard header.isShown else { return }
        summary.isHidden = false
        summary.quantiser = quantiser
        if header.kind == .key {
            summary.isRefresh = true
            summary.precedesEntryPoint = false
            hasStarted = true
        }
    }
}
