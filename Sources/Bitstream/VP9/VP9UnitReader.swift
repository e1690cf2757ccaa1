/// Reads VP9 frames and superframes (VP9 Bitstream & Decoding Process Specification, 6.2 and annex B).
///
/// The quantiser is that of the frame that is shown. Segments may differ from it.
struct VP9UnitReader: AccessUnitReader {
    private var hasStarted = false

    init() {}

    var reordering: Int? { 0 }

    mutating func reset() { hasStarted = false }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        summary.isHidden = true
        summary.precedesEntryPoint = !hasStarted
        var start = 0
        let frames = unsafe VP9UnitReader.sizes(of: unit)
        for size in frames where size > 0 && size <= unit.count - start {
            let frame = unsafe UnsafeRawBufferPointer(rebasing: unit[start..<(start + size)])
            start += size
            if let header = unsafe VP9FrameHeader(frame) { record(header, &summary) }
        }
        summary.isHidden = summary.isHidden && summary.hasSlice
        return summary
    }

    private mutating func record(_ header: VP9FrameHeader, _ summary: inout AccessUnitSummary) {
        summary.hasSlice = true
        if header.refreshes != 0 || header.showsExisting { summary.isReference = true }
        if header.isShown {
            summary.isHidden = false
            summary.quantiser = header.quantiserIndex.map { QuantiserScale.vp9(index: $0) } ?? summary.quantiser
        }
        if header.isKey {
            summary.isRefresh = true
            summary.precedesEntryPoint = false
            hasStarted = true
        }
    }

    /// The sizes of the frames in a superframe; that of the whole where it is none. Does not allocate for a single frame.
    private static func sizes(of unit: UnsafeRawBufferPointer) -> [Int] {
        guard let last = unsafe unit.last, last & 0xE0 == 0xC0 else { return [unit.count] }
        let (count, width) = (Int(last & 7) + 1, Int(last >> 3 & 3) + 1)
        let index = unit.count - 2 - count * width
        guard index >= 0, unsafe unit[index] == last else { return [unit.count] }
        return (0..<count).map { frame in
            (0..<width).reduce(0) { unsafe $0 | Int(unit[index + 1 + frame * width + $1]) << (8 * $1) }
        }
    }
}

/// An uncompressed header (VP9 specification, 6.2), up to the quantiser.
struct VP9FrameHeader {
    private(set) var isKey = false
    private(set) var isShown = true
    private(set) var showsExisting = false
    /// Which of the eight stored frames this one replaces, a bit each.
    private(set) var refreshes = 0
    /// `base_q_idx`.
    private(set) var quantiserIndex: Int?

    /// - Parameter frame: any bytes at all.
    /// - Returns: nil where it is no frame.
    init?(_ frame: UnsafeRawBufferPointer) {
        var r = unsafe RBSPReader(frame, headerBytes: 0, hasPrevention: false)
        guard r.bits(2) == 2 else { return nil }
        let profile = r.bit() | r.bit() << 1
        if profile == 3 { r.skip(1) }
        if r.flag() {
            showsExisting = true
            return
        }
        isKey = !r.flag()
        isShown = r.flag()
        let isResilient = r.flag()
        if isKey {
            guard r.bits(24) == 0x498342 else { return nil }
            Self.skipColor(&r, profile)
            refreshes = 0xFF
            Self.skipSize(&r)
        } else {
            let isIntra = !isShown && r.flag()
            if !isResilient { r.skip(2) }
            if isIntra {
                guard r.bits(24) == 0x498342 else { return nil }
                if profile > 0 { Self.skipColor(&r, profile) }
                refreshes = r.bits(8)
                Self.skipSize(&r)
            } else {
                refreshes = r.bits(8)
                r.skip(3 * 4)
                let isFound = r.flag() || r.flag() || r.flag()
                if !isFound { r.skip(32) }
                if r.flag() { r.skip(32) }
                r.skip(1)
                if !r.flag() { r.skip(2) }
            }
        }
        if !isResilient { r.skip(2) }
        r.skip(2 + 6 + 3)
        if r.flag(), r.flag() { for _ in 0..<6 where r.flag() { r.skip(7) } }
        let index = r.bits(8)
        if !r.isExhausted { quantiserIndex = index }
    }

    private static func skipColor(_ r: inout RBSPReader, _ profile: Int) {
        if profile >= 2 { r.skip(1) }
        if r.bits(3) != 7 {
            r.skip(1)
            if profile & 1 == 1 { r.skip(3) }
        } else if profile & 1 == 1 {
            r.skip(1)
        }
    }

    private static func skipSize(_ r: inout RBSPReader) {
        r.skip(32)
        if r.flag() { r.skip(32) }
    }
}
