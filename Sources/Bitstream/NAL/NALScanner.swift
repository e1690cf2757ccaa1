/// Finds NAL units in a byte stream (ITU-T H.264, annex B). No other code searches for start codes.
public enum NALScanner {
    /// Searches for the next start code, 00 00 01.
    /// - Parameters:
    ///   - bytes: read from `position` to the end, and no further.
    ///   - position: where the search begins. When no start code is found, it moves to where a search must begin when
    ///     more bytes have come.
    /// - Returns: the offset of the start code's first byte.
    static func startCode(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> Int? {
        guard let p = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        let end = bytes.count - 2
        var i = position
        while i < end {
            // The byte that would end the start code decides how far to step.
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

    /// The next NAL unit of a whole access unit.
    /// - Parameter start: where the search begins.
    /// - Returns: the offset of the NAL unit's header byte; nil when none follows.
    public static func nextUnit(in accessUnit: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var position = start
        guard let code = unsafe startCode(in: accessUnit, from: &position), code + 3 < accessUnit.count else {
            return nil
        }
        return code + 3
    }
}
