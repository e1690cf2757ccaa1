/// The parameter sets that a stream has sent, as far as its slices' headers need them.
struct ParameterSets {
    /// The newest sequence parameter set that could be read.
    private(set) var newest: SequenceParameterSet?
    /// Sequence parameter sets that could not be read.
    private(set) var faults = 0
    private(set) var lastFault: SequenceParameterSet.Fault?
    /// Some sequence allows fields: slice headers have to be read.
    private(set) var mayHaveFields = false

    private var sequences: [SequenceParameterSet?] = Array(repeating: nil, count: 32)
    private var sequenceOfPicture: [UInt8] = Array(repeating: 0xFF, count: 256)
    /// The bytes of each sequence parameter set: they come again with every keyframe and need not be read again.
    private var bytes: [[UInt8]] = Array(repeating: [], count: 32)

    mutating func readSequence(_ nal: UnsafeRawBufferPointer) {
        guard nal.count <= 4096 else { return }
        if bytes.contains(where: { unsafe $0.count == nal.count && $0.elementsEqual(nal) }) { return }
        do throws(SequenceParameterSet.Fault) {
            let set = unsafe try SequenceParameterSet(nal)
            bytes[set.id] = unsafe Array(nal)
            sequences[set.id] = set
            mayHaveFields = sequences.contains { $0.map { !$0.isProgressive } ?? false }
            newest = set
        } catch {
            faults += 1
            lastFault = error
        }
    }

    mutating func readPicture(_ nal: UnsafeRawBufferPointer) {
        var r = unsafe RBSPReader(nal)
        let (picture, sequence) = (r.unsigned(), r.unsigned())
        if !r.isExhausted, picture < 256, sequence < 32 { sequenceOfPicture[picture] = UInt8(sequence) }
    }

    /// The sequence parameter set that a slice with this `pic_parameter_set_id` refers to; where a picture parameter set
    /// is missing, the newest.
    func sequence(ofPicture id: Int) -> SequenceParameterSet? {
        guard id < 256, sequenceOfPicture[id] < 32 else { return newest }
        return sequences[Int(sequenceOfPicture[id])] ?? newest
    }

    /// Reads a slice header (7.3.3) up to its field flags.
    /// - Returns: nil for a slice of a frame.
    func field(ofSlice nal: UnsafeRawBufferPointer, isInstantaneousRefresh: Bool) -> PictureScanner.Field? {
        guard mayHaveFields else { return nil }
        var r = unsafe RBSPReader(nal)
        _ = r.unsigned()
        _ = r.unsigned()
        let picture = r.unsigned()
        guard picture < 256, sequenceOfPicture[picture] < 32,
            let sequence = sequences[Int(sequenceOfPicture[picture])], !sequence.isProgressive
        else { return nil }
        if sequence.hasSeparateColourPlanes { _ = r.bits(2) }
        let number = r.bits(sequence.frameNumberBits)
        guard r.flag() else { return nil }
        let isBottom = r.flag()
        return r.isExhausted ? nil : PictureScanner.Field(frameNumber: number, isBottom: isBottom)
    }

    /// Whether a supplemental enhancement information unit (7.3.2.3) has a recovery point message (D.1.8).
    static func hasRecoveryPoint(_ nal: UnsafeRawBufferPointer) -> Bool {
        var at = 1
        while unsafe at + 1 < nal.count && nal[at] != 0x80 {
            var (type, size) = (0, 0)
            while at < nal.count, unsafe nal[at] == 0xFF {
                type += 255
                at += 1
            }
            guard at < nal.count else { return false }
            type += unsafe Int(nal[at])
            at += 1
            while at < nal.count, unsafe nal[at] == 0xFF {
                size += 255
                at += 1
            }
            guard at < nal.count else { return false }
            size += unsafe Int(nal[at])
            at += 1
            if type == 6 { return true }
            at += size
        }
        return false
    }
}
