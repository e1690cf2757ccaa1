import Bitstream

/// H.264's parameter sets of a session description (`sprop-parameter-sets`). A picture at which a decoder can begin, and that has none
/// of its own, gets them. Newer ones that came in the stream take their places.
struct DescribedParameterSets {
    /// As a byte stream.
    private var bytes: [UInt8]
    private var kept = KeptParameterSets()
    /// The stream has sent sets of its own.
    private(set) var areConfirmed = false

    init(_ sets: [[UInt8]]) { bytes = sets.flatMap { [0, 0, 0, 1] + $0 } }

    /// Whether the stream is what these sets say, as far as a picture shows: some descriptions are old. Without any, what the stream
    /// says counts.
    func describe(isKeyframe: Bool) -> Bool { isKeyframe || areConfirmed || bytes.isEmpty }

    /// Has the scanner of a stream read them.
    mutating func teach(_ scanner: inout AccessUnitScanner) {
        unsafe bytes.withUnsafeBytes { bytes in
            var findings = 0
            while findings < 64, unsafe scanner.scan(bytes, isEnd: true) != .nothing { findings += 1 }
        }
        scanner.cut(at: Int.max)
        kept = scanner.keptSets
    }

    /// Inserts the sets into a unit that needs them.
    /// - Parameters:
    ///   - storage: the unit, which the scanner has read.
    ///   - isKeyframe: a decoder can begin with it.
    mutating func complete(
        _ storage: UnitStorage, _ scanner: borrowing AccessUnitScanner, _ unit: H264Depacketiser, isKeyframe: Bool, limit: Int
    ) {
        guard !bytes.isEmpty else { return }
        if unit.hasParameterSets { areConfirmed = true }
        if unit.hasParameterSets, !kept.holdsAll(of: scanner.keptSets) {
            kept = scanner.keptSets
            bytes = kept.bytes
        }
        guard isKeyframe, !unit.hasSequenceSet else { return }
        // Each unit begins with a delimiter.
        _ = storage.insert(bytes.span, at: H264Depacketiser.delimiter.count, limit: limit)
    }
}
