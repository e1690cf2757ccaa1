/// The parameter sets that an HEVC stream has sent. Allocates when one is new, and not when it is repeated.
struct HEVCParameterSets: Sendable {
    private(set) var newest: HEVCSequenceSet?
    private(set) var lastFault: BitstreamFault?
    /// The sets as they came.
    private(set) var kept = KeptParameterSets()

    /// Of ``kept``.
    static let sequenceKeys = 100..<200
    static let pictureKeys = 200..<300
    private var sequences: [HEVCSequenceSet?] = Array(repeating: nil, count: 16)
    private var pictures: [HEVCPictureSet?] = Array(repeating: nil, count: 64)

    init() {}

    /// Reads a parameter set of any kind, and nothing else.
    /// - Parameter nal: with its header, without its start code.
    mutating func read(_ nal: UnsafeRawBufferPointer) {
        guard let type = unsafe HEVCUnitType(nal), type.layer == 0, nal.count <= 4096, nal.count > 2 else { return }
        if type.isVideoSet {
            unsafe kept.keep(nal, key: Int(nal[2] >> 4))
        } else if type.isSequenceSet {
            if unsafe kept.holds(nal) { return }
            do throws(BitstreamFault) {
                let set = unsafe try HEVCSequenceSet(nal)
                sequences[set.id] = set
                newest = set
                unsafe kept.keep(nal, key: Self.sequenceKeys.lowerBound + set.id)
            } catch {
                lastFault = error
            }
        } else if type.isPictureSet {
            if unsafe kept.holds(nal) { return }
            guard let set = unsafe HEVCPictureSet(nal) else { return }
            pictures[set.id] = set
            unsafe kept.keep(nal, key: Self.pictureKeys.lowerBound + set.id)
        }
    }

    func picture(_ id: Int) -> HEVCPictureSet? { id < 64 ? pictures[id] : nil }

    func sequence(_ id: Int) -> HEVCSequenceSet? { id < 16 ? sequences[id] : nil }

    /// The sequence parameter set of a picture; the newest where one of the two is missing.
    func sequence(ofPicture id: Int) -> HEVCSequenceSet? { picture(id).flatMap { sequence($0.sequence) } ?? newest }
}
