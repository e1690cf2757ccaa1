/// What a NAL unit holds: the two bytes of its header (ITU-T H.265, 7.3.1.2 and table 7-1).
struct HEVCUnitType {
    /// `nal_unit_type`.
    let code: Int
    /// `nuh_layer_id`: 0 for what a decoder without extensions reads.
    let layer: Int
    /// `TemporalId`.
    let temporalLayer: Int

    /// - Returns: nil for fewer bytes than a header has.
    init?(_ unit: UnsafeRawBufferPointer) {
        guard unit.count >= 2 else { return nil }
        let word = unsafe Int(unit[0]) << 8 | Int(unit[1])
        code = word >> 9 & 0x3F
        layer = word >> 3 & 0x3F
        temporalLayer = (word & 7) - 1
    }

    var isSlice: Bool { code < 32 }
    /// Decoding can begin at the picture: IDR, CRA or BLA, and reserved types of that kind.
    var isEntryPoint: Bool { 16...23 ~= code }
    /// An instantaneous refresh: nothing shown before it follows it in the stream.
    var isRefresh: Bool { code == 19 || code == 20 }
    /// CRA: pictures that follow it and are shown before it may refer to those before it.
    var isCleanRandomAccess: Bool { code == 21 }
    /// A picture that is shown before the entry point that it follows (RADL, RASL).
    var isLeadingPicture: Bool { 6...9 ~= code }
    /// A leading picture that refers to pictures before its entry point (RASL).
    var isSkippedLeading: Bool { code == 8 || code == 9 }
    /// No picture of the same temporal layer refers to it.
    var isSubLayerNonReference: Bool { code <= 14 && code & 1 == 0 }
    var isVideoSet: Bool { code == 32 }
    var isSequenceSet: Bool { code == 33 }
    var isPictureSet: Bool { code == 34 }
    var isSupplemental: Bool { code == 39 }
    /// End of sequence or of the bit stream.
    var endsSequence: Bool { code == 36 || code == 37 }
    /// It can only stand before the first slice of a picture (7.4.2.4.4).
    var isLeading: Bool {
        switch code {
        case 32...35, 39, 41...44, 48...55: true
        default: false
        }
    }
}
