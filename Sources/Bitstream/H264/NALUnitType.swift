/// What a NAL unit holds: `nal_unit_type` (ITU-T H.264, table 7-1). Types that are handled alike share a case.
enum NALUnitType {
    /// A slice of a picture that is no instantaneous refresh, or its data partition A.
    case slice
    /// A slice of an instantaneous decoding refresh (IDR) picture.
    case refreshSlice
    /// Data partition B or C of a slice.
    case laterPartition
    case supplementalInformation
    case sequenceParameterSet
    case pictureParameterSet
    /// An access unit delimiter, or another type that can only stand before a picture's first slice (7.4.1.2.3).
    case accessUnitStart
    case other

    /// - Parameter header: the NAL unit's first byte.
    init(header: UInt8) {
        switch header & 0x1F {
        case 1, 2: self = .slice
        case 3, 4: self = .laterPartition
        case 5: self = .refreshSlice
        case 6: self = .supplementalInformation
        case 7: self = .sequenceParameterSet
        case 8: self = .pictureParameterSet
        case 9, 15...18: self = .accessUnitStart
        default: self = .other
        }
    }

    /// Whether later pictures may refer to what the NAL unit holds: `nal_ref_idc` is not zero.
    static func isReference(header: UInt8) -> Bool { header & 0x60 != 0 }
}
