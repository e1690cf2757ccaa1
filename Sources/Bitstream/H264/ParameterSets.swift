/// The parameter sets that a stream has sent, as far as slice headers are read with them.
///
/// A pure value. It allocates when a sequence parameter set is new, and not when one is repeated.
public struct ParameterSets: Sendable {
    /// The newest sequence parameter set that could be read.
    public private(set) var newest: SequenceParameterSet?
    /// Why the latest unreadable sequence parameter set could not be read.
    public private(set) var lastFault: BitstreamFault?
    /// Some sequence allows fields: slice headers have to be read as far as their field flags.
    private(set) var mayHaveFields = false

    private static let noSequence = UInt8.max
    private var sequences: [SequenceParameterSet?] = Array(repeating: nil, count: 32)
    /// The sequence parameter set that each picture parameter set refers to.
    private var sequenceOfPicture: [UInt8] = Array(repeating: noSequence, count: 256)
    /// The bytes of each sequence parameter set. Senders repeat them with every keyframe; a repeated one is not read
    /// again.
    private var bytes: [[UInt8]] = Array(repeating: [], count: 32)

    init() {}

    /// Reads a sequence parameter set.
    /// - Parameter nal: with its header byte, without its start code.
    mutating func readSequence(_ nal: UnsafeRawBufferPointer) {
        guard nal.count <= 4096 else { return }
        if bytes.contains(where: { unsafe $0.count == nal.count && $0.elementsEqual(nal) }) { return }
        do throws(BitstreamFault) {
            let set = unsafe try SequenceParameterSet(nal)
            bytes[set.id] = unsafe Array(nal)
            sequences[set.id] = set
            mayHaveFields = sequences.contains { $0.map { !$0.isProgressive } ?? false }
            newest = set
        } catch {
            lastFault = error
        }
    }

    /// Reads the two numbers at the front of a picture parameter set (7.3.2.2).
    /// - Parameter nal: with its header byte, without its start code.
    /// - Returns: its number; nil where it makes no sense.
    @discardableResult
    mutating func readPicture(_ nal: UnsafeRawBufferPointer) -> Int? {
        var reader = unsafe RBSPReader(nal)
        let (picture, sequence) = (reader.unsigned(), reader.unsigned())
        guard !reader.isExhausted, picture < 256, sequence < 32 else { return nil }
        sequenceOfPicture[picture] = UInt8(sequence)
        return picture
    }

    /// The sequence parameter set that a picture parameter set refers to; nil where either is missing.
    func knownSequence(ofPicture id: Int) -> SequenceParameterSet? {
        guard id < 256, sequenceOfPicture[id] < 32 else { return nil }
        return sequences[Int(sequenceOfPicture[id])]
    }

    /// The sequence parameter set that a picture parameter set refers to; the newest where either is missing.
    public func sequence(ofPicture id: Int) -> SequenceParameterSet? { knownSequence(ofPicture: id) ?? newest }
}
