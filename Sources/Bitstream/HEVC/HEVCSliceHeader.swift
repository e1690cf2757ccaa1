/// The header of a slice segment (ITU-T H.265, 7.3.6.1), up to its quantiser.
struct HEVCSliceHeader {
    /// `first_slice_segment_in_pic_flag`.
    let isFirst: Bool
    /// `slice_pic_parameter_set_id`.
    let pictureSet: Int
    /// `slice_segment_address`; 0 where the parameter sets are unknown.
    private(set) var address = 0
    /// The slice's luma quantiser (7-54), which blocks may differ from; nil where the parameter sets that the slice refers to
    /// are unknown, the header is cut off, or it belongs to a dependent segment.
    private(set) var quantiser: Int?

    /// - Parameters:
    ///   - nal: the slice from its header on, as many bytes as there are.
    ///   - sets: the parameter sets that came before it.
    ///   - readsQuantiser: otherwise it stops at the address.
    init(_ nal: UnsafeRawBufferPointer, _ type: HEVCUnitType, _ sets: borrowing HEVCParameterSets, readsQuantiser: Bool) {
        var r = unsafe RBSPReader(nal, headerBytes: 2)
        isFirst = r.flag()
        if type.isEntryPoint { r.skip(1) }
        pictureSet = r.unsigned()
        guard let set = sets.picture(pictureSet), let sequence = sets.sequence(set.sequence) else { return }
        if !isFirst {
            let isDependent = set.hasDependentSlices && r.flag()
            address = r.bits(sequence.addressBits)
            if isDependent { return }
        }
        guard readsQuantiser, !r.isExhausted else { return }
        quantiser = Self.readQuantiser(&r, type, set, sequence)
    }

    private static func readQuantiser(
        _ r: inout RBSPReader, _ type: HEVCUnitType, _ set: HEVCPictureSet, _ sequence: HEVCSequenceSet
    ) -> Int? {
        r.skip(set.extraBits)
        let kind = r.unsigned()
        guard kind <= 2 else { return nil }
        let (isB, isInter) = (kind == 0, kind != 2)
        if set.hasOutputFlag { r.skip(1) }
        if sequence.hasSeparateColourPlanes { r.skip(2) }
        var references = 0
        var predictsMotion = false
        if !type.isRefresh {
            guard let count = readReferences(&r, sequence) else { return nil }
            references = count
            if sequence.hasMotionPrediction { predictsMotion = r.flag() }
        }
        if sequence.hasSampleOffset { r.skip(sequence.hasChroma ? 2 : 1) }
        if isInter {
            var (list0, list1) = set.references
            if r.flag() {
                list0 = r.unsigned() + 1
                if isB { list1 = r.unsigned() + 1 }
            }
            guard list0 <= 16, list1 <= 16 else { return nil }
            if set.mayModifyLists, references > 1 {
                let bits = Int.bitWidth - (references - 1).leadingZeroBitCount
                if r.flag() { r.skip(list0 * bits) }
                if isB, r.flag() { r.skip(list1 * bits) }
            }
            if isB { r.skip(1) }
            if set.hasArithmeticInit { r.skip(1) }
            if predictsMotion {
                let isFromList0 = isB ? r.flag() : true
                if (isFromList0 ? list0 : list1) > 1 { _ = r.unsigned() }
            }
            if isB ? set.weightsB : set.weightsP {
                skipWeights(&r, lists: isB ? [list0, list1] : [list0], hasChroma: sequence.hasChroma)
            }
            _ = r.unsigned()
        }
        let quantiser = set.initialQuantiser + r.signed()
        let lowest = -6 * (sequence.parameters.bitDepth - 8)
        return r.isExhausted || !(lowest...51).contains(quantiser) ? nil : quantiser
    }

    /// - Returns: how many pictures this one may refer to (7-55); nil where the header makes no sense.
    private static func readReferences(_ r: inout RBSPReader, _ sequence: HEVCSequenceSet) -> Int? {
        r.skip(sequence.pictureOrderBits)
        let known = sequence.referenceSets
        var count: Int
        if !r.flag() {
            guard let set = ReferencePictureSet(&r, index: known.count, known: known, isInSlice: true) else { return nil }
            count = set.usedCount
        } else {
            let bits = known.count > 1 ? Int.bitWidth - (known.count - 1).leadingZeroBitCount : 0
            let index = r.bits(bits)
            guard index < known.count else { return nil }
            count = known[index].usedCount
        }
        guard sequence.hasLongTermReferences else { return count }
        let fromSequence = sequence.longTermSets > 0 ? r.unsigned() : 0
        let own = r.unsigned()
        guard fromSequence <= 32, own <= 32 else { return nil }
        for i in 0..<(fromSequence + own) {
            if i < fromSequence {
                r.skip(sequence.longTermSets > 1 ? Int.bitWidth - (sequence.longTermSets - 1).leadingZeroBitCount : 0)
                // Whether the picture is used stands in the sequence parameter set: take it as used.
                count += 1
            } else {
                r.skip(sequence.pictureOrderBits)
                if r.flag() { count += 1 }
            }
            if r.flag() { _ = r.unsigned() }
        }
        return count
    }

    /// pred_weight_table (7.3.6.3).
    private static func skipWeights(_ r: inout RBSPReader, lists: [Int], hasChroma: Bool) {
        _ = r.unsigned()
        if hasChroma { _ = r.signed() }
        for count in lists {
            let luma = r.bits(count)
            let chroma = hasChroma ? r.bits(count) : 0
            for i in (0..<count).reversed() {
                if luma >> i & 1 == 1 { _ = (r.signed(), r.signed()) }
                if chroma >> i & 1 == 1 { for _ in 0..<4 { _ = r.signed() } }
            }
        }
    }
}
