/// What the decoder's bookkeeping needs to know of an H.264 access unit before it is decoded, read from the NAL units
/// up to its first slice (ITU-T H.264 Annex B, 7.3.1, D.1.8). No allocation, any bytes at all.
struct CodedUnitSummary: Equatable {
    /// A slice of a coded picture was found.
    var hasSlice = false
    /// The picture is an instantaneous decoding refresh: nothing before it is referred to after it.
    var isRefresh = false
    /// Later pictures may refer to this one (`nal_ref_idc` is not zero).
    var isReference = false
    /// Reference pictures before it are missing.
    var followsGap = false
    /// From the recovery point message: how many frames until the pictures are right again; nil without the message.
    var recoveryFrameCount: Int?

    /// Decoding can start here, and pictures from here on (in output order) owe nothing to earlier ones.
    var isCleanStart: Bool { isRefresh || recoveryFrameCount == 0 }

    init() {}

    /// - Parameter watch: told of the parameter sets and of the slice.
    init(_ unit: UnsafeRawBufferPointer, _ watch: inout FrameNumberWatch) {
        var at = unsafe Self.nextNAL(in: unit, from: 0)
        while at < unit.count {
            let header = unsafe unit[at]
            let nal = unsafe UnsafeRawBufferPointer(rebasing: unit[at...])
            switch header & 0x1f {
            case 1, 2, 5:
                hasSlice = true
                isRefresh = header & 0x1f == 5
                isReference = header & 0x60 != 0
                followsGap = unsafe watch.readSlice(
                    nal, isRefresh: isRefresh, isReference: isReference)
                return
            case 7: unsafe watch.readSequence(nal)
            case 8: unsafe watch.readPicture(nal)
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

    /// Looks for payload type 6 in an SEI NAL unit.
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
                var reader = unsafe RBSPReader(UnsafeRawBufferPointer(rebasing: unit[i...]), skipping: 0)
                let count = reader.unsigned()
                return reader.isExhausted ? nil : count
            }
            i += size
        }
        return nil
    }
}
