/// What the decoder's bookkeeping needs to know of an H.264 access unit before it is decoded, read from the NAL units
/// up to its first slice (ITU-T H.264 Annex B, 7.3.1, D.1.8). No state, no allocation, any bytes at all.
struct CodedUnitSummary: Equatable {
    /// A slice of a coded picture was found.
    var hasSlice = false
    /// The picture is an instantaneous decoding refresh: nothing before it is referred to after it.
    var isRefresh = false
    /// Later pictures may refer to this one (`nal_ref_idc` is not zero).
    var isReference = false
    /// From the recovery point message: how many frames until the pictures are right again; nil without the message.
    var recoveryFrameCount: Int?

    /// Decoding can start here, and pictures from here on (in output order) owe nothing to earlier ones.
    var isCleanStart: Bool { isRefresh || recoveryFrameCount == 0 }

    init() {}

    init(_ unit: UnsafeRawBufferPointer) {
        var at = unsafe Self.nextNAL(in: unit, from: 0)
        while at < unit.count {
            let header = unsafe unit[at]
            switch header & 0x1f {
            case 1, 2, 5:
                hasSlice = true
                isRefresh = header & 0x1f == 5
                isReference = header & 0x60 != 0
                return
            case 6:
                if recoveryFrameCount == nil {
                    recoveryFrameCount = unsafe Self.recoveryFrameCount(in: unit, from: at + 1)
                }
            default:
                break
            }
            at = unsafe Self.nextNAL(in: unit, from: at)
        }
    }

    /// The index of the byte after the next start code, or the unit's length.
    private static func nextNAL(in unit: UnsafeRawBufferPointer, from start: Int) -> Int {
        var i = start
        while i + 3 < unit.count {
            // The byte that would end the start code decides how far to step.
            let third = unsafe unit[i + 2]
            if third > 1 {
                i += 3
            } else if third == 1, unsafe unit[i] == 0, unsafe unit[i + 1] == 0 {
                return i + 3
            } else {
                i += 1
            }
        }
        return unit.count
    }

    /// Looks for payload type 6 in an SEI NAL unit. A recovery point whose count is split by an emulation prevention
    /// byte would need a count above 4096: not possible, `frame_num` has at most 16 bits and real counts are small.
    private static func recoveryFrameCount(in unit: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var i = start
        while i + 2 < unit.count, unsafe unit[i] != 0x80 {
            var type = 0
            var size = 0
            while i < unit.count, unsafe unit[i] == 0xff { (type, i) = (type + 255, i + 1) }
            guard i < unit.count else { return nil }
            type += unsafe Int(unit[i])
            i += 1
            while i < unit.count, unsafe unit[i] == 0xff { (size, i) = (size + 255, i + 1) }
            guard i < unit.count else { return nil }
            size += unsafe Int(unit[i])
            i += 1
            guard size <= unit.count - i else { return nil }
            if type == 6 {
                return unsafe exponentialGolomb(UnsafeRawBufferPointer(rebasing: unit[i..<(i + size)]))
            }
            i += size
        }
        return nil
    }

    /// The first ue(v) of the bytes (9.1); nil when they end before it does.
    private static func exponentialGolomb(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var window: UInt64 = 0
        for i in 0..<8 { window = window << 8 | (i < bytes.count ? unsafe UInt64(bytes[i]) : 0) }
        let zeros = window.leadingZeroBitCount
        guard zeros < 24, 2 * zeros + 1 <= 8 * bytes.count else { return nil }
        return Int(window >> UInt64(63 - 2 * zeros)) - 1
    }
}
