/// What lies between two start codes of MPEG-1 or MPEG-2 video (ITU-T H.262, table 6-1).
enum MPEG2UnitType: Equatable {
    case picture
    /// A slice of this row of macroblocks, counted from 1.
    case slice(row: Int)
    case sequence
    case group
    /// An extension, by `extension_start_code_identifier`.
    case sequenceExtension, displayExtension, codingExtension
    case other

    /// - Parameter unit: from the byte behind the start code on; not empty.
    init(_ unit: UnsafeRawBufferPointer) {
        switch unsafe unit[0] {
        case 0x00: self = .picture
        case let row where 0x01...0xAF ~= row: self = .slice(row: Int(row))
        case 0xB3: self = .sequence
        case 0xB8: self = .group
        case 0xB5 where unit.count > 1:
            switch unsafe unit[1] >> 4 {
            case 1: self = .sequenceExtension
            case 2: self = .displayExtension
            case 8: self = .codingExtension
            default: self = .other
            }
        default: self = .other
        }
    }
}

/// `picture_coding_type` (ITU-T H.262, table 6-12).
enum MPEG2PictureKind: Int, Sendable {
    case intra = 1
    case predicted
    case bidirectional
    /// MPEG-1 only: nothing but the mean of each block.
    case means
}

/// The front of a picture header (ITU-T H.262, 6.2.3).
struct MPEG2PictureHeader {
    /// `temporal_reference`: the place in the order of the group's display.
    let displayPlace: Int
    let kind: MPEG2PictureKind

    /// - Parameter unit: from the byte behind the start code on.
    /// - Returns: nil where it is cut off or makes no sense.
    init?(_ unit: UnsafeRawBufferPointer) {
        var r = unsafe RBSPReader(unit, hasPrevention: false)
        displayPlace = r.bits(10)
        guard let kind = MPEG2PictureKind(rawValue: r.bits(3)), !r.isExhausted else { return nil }
        self.kind = kind
    }
}
