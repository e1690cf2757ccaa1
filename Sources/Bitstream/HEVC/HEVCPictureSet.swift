/// What slice headers depend on in an HEVC picture parameter set (ITU-T H.265, 7.3.2.3).
struct HEVCPictureSet: Sendable {
    /// `pps_pic_parameter_set_id`, 0…63.
    let id: Int
    /// `pps_seq_parameter_set_id`, 0…15.
    let sequence: Int
    let hasDependentSlices: Bool
    let hasOutputFlag: Bool
    let extraBits: Int
    let hasArithmeticInit: Bool
    /// How many references each list has where a slice does not say: lists 0 and 1.
    let references: (Int, Int)
    /// 26 + `init_qp_minus26`.
    let initialQuantiser: Int
    let weightsP: Bool
    let weightsB: Bool
    let mayModifyLists: Bool

    /// - Parameter nal: a NAL unit of type 34 with its header; any bytes at all.
    /// - Returns: nil where it makes no sense.
    init?(_ nal: UnsafeRawBufferPointer) {
        guard let type = unsafe HEVCUnitType(nal), type.isPictureSet else { return nil }
        var r = unsafe RBSPReader(nal, headerBytes: 2)
        (id, sequence) = (r.unsigned(), r.unsigned())
        guard id < 64, sequence < 16 else { return nil }
        hasDependentSlices = r.flag()
        hasOutputFlag = r.flag()
        extraBits = r.bits(3)
        r.skip(1)
        hasArithmeticInit = r.flag()
        references = (r.unsigned() + 1, r.unsigned() + 1)
        initialQuantiser = 26 + r.signed()
        r.skip(2)
        if r.flag() { _ = r.unsigned() }
        _ = (r.signed(), r.signed())
        r.skip(1)
        weightsP = r.flag()
        weightsB = r.flag()
        r.skip(1)
        let hasTiles = r.flag()
        r.skip(1)
        if hasTiles {
            let (columns, rows) = (r.unsigned(), r.unsigned())
            guard columns < 64, rows < 64 else { return nil }
            if !r.flag() { for _ in 0..<(columns + rows) { _ = r.unsigned() } }
            r.skip(1)
        }
        r.skip(1)
        if r.flag() {
            r.skip(1)
            if !r.flag() { _ = (r.signed(), r.signed()) }
        }
        if r.flag() { HEVCSequenceSet.skipScalingLists(&r, chroma: 1) }
        mayModifyLists = r.flag()
        guard !r.isExhausted, references.0 <= 16, references.1 <= 16 else { return nil }
    }
}
