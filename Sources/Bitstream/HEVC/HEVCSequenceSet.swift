import Media

/// What is needed of an HEVC sequence parameter set (ITU-T H.265, 7.3.2.2 and annex E): the size, the rate, the colours, how
/// far pictures are reordered, and what slice headers depend on.
struct HEVCSequenceSet: Sendable {
    /// `sps_seq_parameter_set_id`, 0…15.
    let id: Int
    let parameters: VideoParameters
    /// `sps_max_sub_layers_minus1` + 1.
    let temporalLayers: Int
    let hasSeparateColourPlanes: Bool
    let pictureOrderBits: Int
    let referenceSets: [ReferencePictureSet]
    let hasLongTermReferences: Bool
    let longTermSets: Int
    let hasMotionPrediction: Bool
    let hasSampleOffset: Bool
    /// How many bits the address of a slice has.
    let addressBits: Int

    var hasChroma: Bool { parameters.chromaFormat != 0 && !hasSeparateColourPlanes }

    /// Reads a NAL unit of type 33. Any bytes at all.
    /// - Parameter nal: with its header, without its start code; not kept.
    init(_ nal: UnsafeRawBufferPointer) throws(BitstreamFault) {
        guard let type = unsafe HEVCUnitType(nal), type.isSequenceSet else { throw .notAParameterSet }
        var r = unsafe RBSPReader(nal, headerBytes: 2)
        r.skip(4)
        temporalLayers = r.bits(3) + 1
        guard temporalLayers <= 7 else { throw .invalid(field: "sps_max_sub_layers_minus1") }
        r.skip(1)
        let (profile, level) = Self.readProfile(&r, temporalLayers)
        id = r.unsigned()
        guard id < 16 else { throw .invalid(field: "sps_seq_parameter_set_id") }
        let chroma = r.unsigned()
        guard chroma <= 3 else { throw .invalid(field: "chroma_format_idc") }
        hasSeparateColourPlanes = chroma == 3 && r.flag()
        let (columns, rows) = (r.unsigned(), r.unsigned())
        _ = try VideoParameters.checked(width: columns, height: rows)
        var crop = (left: 0, right: 0, top: 0, bottom: 0)
        if r.flag() { crop = (r.unsigned(), r.unsigned(), r.unsigned(), r.unsigned()) }
        let unitX = chroma == 1 || chroma == 2 ? 2 : 1
        let unitY = chroma == 1 ? 2 : 1
        var known = try VideoParameters(
            codec: .hevc,
            size: VideoParameters.checked(
                width: columns - (crop.left + crop.right) * unitX, height: rows - (crop.top + crop.bottom) * unitY))
        (known.profile, known.level) = (profile, level)
        let (depth, depthOfChroma) = (r.unsigned(), r.unsigned())
        guard depth <= 8, depthOfChroma <= 8 else { throw .invalid(field: "bit_depth") }
        known.bitDepth = 8 + depth
        known.chromaFormat = chroma
        pictureOrderBits = 4 + r.unsigned()
        guard pictureOrderBits <= 16 else { throw .invalid(field: "log2_max_pic_order_cnt_lsb_minus4") }
        // The last entry is that of the highest layer, which is what a decoder of all layers goes by.
        for _ in (r.flag() ? 0 : temporalLayers - 1)..<temporalLayers {
            _ = r.unsigned()
            known.reordering = r.unsigned()
            _ = r.unsigned()
        }
        guard known.reordering! <= 16 else { throw .invalid(field: "sps_max_num_reorder_pics") }
        let smallest = 3 + r.unsigned()
        let largest = smallest + r.unsigned()
        guard largest <= 6, !r.isExhausted else { throw .invalid(field: "log2_diff_max_min_luma_coding_block_size") }
        let blocks = ((columns - 1) >> largest + 1) * ((rows - 1) >> largest + 1)
        addressBits = blocks > 1 ? Int.bitWidth - (blocks - 1).leadingZeroBitCount : 0
        for _ in 0..<4 { _ = r.unsigned() }
        if r.flag(), r.flag() { Self.skipScalingLists(&r, chroma: chroma) }
        r.skip(1)
        hasSampleOffset = r.flag()
        if r.flag() {
            r.skip(8)
            _ = (r.unsigned(), r.unsigned())
            r.skip(1)
        }
        let setCount = r.unsigned()
        guard setCount <= 64 else { throw .invalid(field: "num_short_term_ref_pic_sets") }
        var sets: [ReferencePictureSet] = []
        for index in 0..<setCount {
            guard let set = ReferencePictureSet(&r, index: index, known: sets, isInSlice: false) else {
                throw .invalid(field: "st_ref_pic_set")
            }
            sets.append(set)
        }
        referenceSets = sets
        hasLongTermReferences = r.flag()
        longTermSets = hasLongTermReferences ? r.unsigned() : 0
        guard longTermSets <= 32 else { throw .invalid(field: "num_long_term_ref_pics_sps") }
        for _ in 0..<longTermSets { r.skip(pictureOrderBits + 1) }
        hasMotionPrediction = r.flag()
        r.skip(1)
        if r.flag() { Self.readUsability(&r, &known) }
        guard !r.isExhausted else { throw .truncated }
        parameters = known
    }

    /// profile_tier_level (7.3.3), behind `profilePresentFlag`.
    private static func readProfile(_ r: inout RBSPReader, _ layers: Int) -> (profile: UInt16, level: UInt8) {
        r.skip(3)
        let profile = UInt16(r.bits(5))
        r.skip(80)
        let level = UInt8(r.bits(8))
        guard layers > 1 else { return (profile, level) }
        var bits = 0
        for _ in 1..<layers {
            if r.flag() { bits += 88 }
            if r.flag() { bits += 8 }
        }
        r.skip(2 * (8 - (layers - 1)) + bits)
        return (profile, level)
    }

    /// scaling_list_data (7.3.4).
    static func skipScalingLists(_ r: inout RBSPReader, chroma: Int) {
        for size in 0..<4 {
            for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                if !r.flag() {
                    _ = r.unsigned()
                } else {
                    if size > 1 { _ = r.signed() }
                    for _ in 0..<min(64, 1 << (4 + size << 1)) {
                        _ = r.signed()
                        if r.isExhausted { return }
                    }
                }
            }
        }
    }

    /// The front of vui_parameters (E.2.1), up to the timing.
    private static func readUsability(_ r: inout RBSPReader, _ known: inout VideoParameters) {
        known.color = VideoUsability.readColor(&r)
        r.skip(1)
        // Each picture is a field.
        known.isProgressive = !r.flag()
        r.skip(1)
        if r.flag() { for _ in 0..<4 { _ = r.unsigned() } }
        guard r.flag() else { return }
        let (unit, scale) = (r.bits(32), r.bits(32))
        known.frameRate = .stated(Int64(scale), by: Int64(unit))
    }
}
