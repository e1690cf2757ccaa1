/// AV1 in the form that it has in a transport stream (AOM, Carriage of AV1 in MPEG-2 TS). No program here writes it.
public enum AV1Stream {
    /// Gives each unit of a temporal unit a start code and prevents start codes inside.
    public static func withStartCodes(_ unit: [UInt8], keepsSizes: Bool = true, dropsDelimiters: Bool = false) -> [UInt8] {
        var out: [UInt8] = []
        var at = 0
        while at < unit.count {
            let header = unit[at]
            let headerBytes = header & 4 != 0 ? 2 : 1
            var (size, place, sizeBytes) = (0, 0, 0)
            repeat {
                size |= Int(unit[at + headerBytes + sizeBytes] & 0x7F) << place
                place += 7
                sizeBytes += 1
            } while unit[at + headerBytes + sizeBytes - 1] & 0x80 != 0
            let end = at + headerBytes + sizeBytes + size
            var plain = Array(unit[at..<end])
            if !keepsSizes {
                plain.removeSubrange(headerBytes..<(headerBytes + sizeBytes))
                plain[0] &= ~2
            }
            if !(dropsDelimiters && header >> 3 & 15 == 2) {
                out += [0, 0, 1]
                var zeros = 0
                for byte in plain {
                    if zeros >= 2, byte <= 3 {
                        out.append(3)
                        zeros = 0
                    }
                    out.append(byte)
                    zeros = byte == 0 ? zeros + 1 : 0
                }
            }
            at = end
        }
        return out
    }

    /// The temporal units of an IVF file.
    public static func units(ofIVF file: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var at = 32
        while at + 12 <= file.count {
            let size = (0..<4).reduce(0) { $0 | Int(file[at + $1]) << (8 * $1) }
            units.append(Array(file[(at + 12)..<(at + 12 + size)]))
            at += 12 + size
        }
        return units
    }

    /// A unit with a start code. Its frame header is nothing but its first byte.
    public enum Part {
        case delimiter, hiddenFrame, shownFrame, shownKey, storedFrame, tiles
        /// A frame header whose tile groups follow.
        case shownHeader

        public var bytes: [UInt8] {
            switch self {
            case .delimiter: [0, 0, 1, 0x12, 0]
            case .hiddenFrame: [0, 0, 1, 0x32, 9, 0x20] + [UInt8](repeating: 0x55, count: 8)
            case .shownFrame: [0, 0, 1, 0x32, 9, 0x30] + [UInt8](repeating: 0x55, count: 8)
            case .shownKey: [0, 0, 1, 0x32, 9, 0x10] + [UInt8](repeating: 0x55, count: 8)
            case .storedFrame: [0, 0, 1, 0x1A, 1, 0xA8]
            case .tiles: [0, 0, 1, 0x22, 9] + [UInt8](repeating: 0x66, count: 9)
            case .shownHeader: [0, 0, 1, 0x1A, 4, 0x30, 0x55, 0x55, 0x55]
            }
        }
    }
}
