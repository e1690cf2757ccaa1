/// Writes MPEG-2 headers that are right and slices that are none.
public enum MPEG2Stream {
    /// 720x576 at 25, 16:9 of the whole picture.
    public static func sequence(isMPEG1: Bool = false, isLowDelay: Bool = false, isProgressive: Bool = true) -> [UInt8] {
        var w = BitWriter()
        for (value, bits) in [(720, 12), (576, 12), (3, 4), (3, 4), (0x3FFFF, 18), (1, 1), (112, 10), (0, 3)] {
            w.bits(value, bits)
        }
        var bytes: [UInt8] = [0, 0, 1, 0xB3] + plain(w)
        if isMPEG1 { return bytes }
        var extended = BitWriter()
        for (value, bits) in [(1, 4), (0x44, 8), (isProgressive ? 1 : 0, 1), (1, 2), (0, 4), (0, 12), (1, 1), (0, 8)] {
            extended.bits(value, bits)
        }
        extended.bits(isLowDelay ? 1 : 0, 1)
        extended.bits(0, 7)
        bytes += [0, 0, 1, 0xB5] + plain(extended)
        return bytes
    }

    public static func group(isClosed: Bool) -> [UInt8] { [0, 0, 1, 0xB8, 0x00, 0x08, 0x00, isClosed ? 0x40 : 0x00] }

    /// - Parameters:
    ///   - kind: 1 for an intra picture, 2 for a predicted one, 3 for B.
    ///   - structure: 1 for a top field, 2 for a bottom field, 3 for a frame; nil for MPEG-1.
    public static func picture(place: Int, kind: Int, structure: Int? = 3, rows: Int = 2) -> [UInt8] {
        var w = BitWriter()
        for (value, bits) in [(place, 10), (kind, 3), (0xFFFF, 16), (0, 3)] { w.bits(value, bits) }
        var bytes: [UInt8] = [0, 0, 1, 0x00] + plain(w)
        if let structure {
            var coding = BitWriter()
            for (value, bits) in [(8, 4), (0xFFFF, 16), (0, 2), (structure, 2), (0, 8), (0, 8)] { coding.bits(value, bits) }
            bytes += [0, 0, 1, 0xB5] + plain(coding)
        }
        for row in 1...rows { bytes += [0, 0, 1, UInt8(row)] + [UInt8](repeating: 0x55, count: 20) }
        return bytes
    }

    /// Without trailing bits and emulation prevention, which MPEG video has not.
    private static func plain(_ w: BitWriter) -> [UInt8] {
        stride(from: 0, to: w.all.count, by: 8).map { at in
            (at..<(at + 8)).reduce(UInt8(0)) { $0 << 1 | ($1 < w.all.count && w.all[$1] ? 1 : 0) }
        }
    }
}
