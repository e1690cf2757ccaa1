/// What a NAL unit, or a unit between two start codes in MPEG video, is to the access unit that it lies in.
enum UnitPart {
    /// It can only stand before a picture's first slice.
    case leading
    /// It begins a picture, or the second field of one.
    case pictureStart(PictureFacts)
    /// A later slice of the picture.
    case slice(PictureFacts)
    /// It belongs where it stands.
    case other
}

/// What a slice or a picture header says of its picture.
struct PictureFacts {
    var field: Field?
    /// False for a header that slices follow.
    var isSlice = true
    /// Where the slice begins: `first_mb_in_slice`, `slice_segment_address`, the row of macroblocks.
    var place = 0
    /// `pic_parameter_set_id`, in formats that have it.
    var parameterSet = 0
    var isEntryPoint = false
}

/// One field of a frame that is coded as two pictures.
struct Field: Equatable, Sendable {
    var frameNumber: Int
    var isBottom: Bool

    func isOther(of first: Field) -> Bool { frameNumber == first.frameNumber && isBottom != first.isBottom }
}

/// The grammar of a coded format with start codes (00 00 01), as far as it tells where access units begin and end.
///
/// A value with the stream's parameter sets. Allocates only where one of them is new.
protocol UnitGrammar: Sendable {
    /// A zero before a start code belongs to it (`zero_byte`), and not to what comes before.
    var hasZeroByte: Bool { get }

    /// How many bytes from the start code's first byte on must be there to tell what a unit is, as far as those that are there
    /// say.
    /// - Parameter unit: from the byte behind the start code on, as far as it has come; not empty.
    func needed(_ unit: UnsafeRawBufferPointer) -> Int

    /// What a unit is.
    /// - Parameters:
    ///   - unit: from the byte behind the start code on, as far as it has come; not empty.
    ///   - picture: what is known of the present access unit.
    func classify(_ unit: UnsafeRawBufferPointer, _ picture: ScannedPicture) -> UnitPart

    /// Reads a unit that is complete, for what it says of the picture and of those after it.
    mutating func close(_ unit: UnsafeRawBufferPointer, _ picture: inout ScannedPicture)

    /// The parameters of a picture; the newest where those that it refers to are missing.
    func parameters(of picture: ScannedPicture) -> VideoParameters?
    /// The newest parameters that could be read.
    var newest: VideoParameters? { get }
    /// Why the latest unreadable parameter set could not be read.
    var lastFault: BitstreamFault? { get }
    /// The newest parameter sets, to be put before an entry point that has none.
    var kept: KeptParameterSets { get }
}

extension UnitGrammar {
    var hasZeroByte: Bool { true }
}

/// What is known of the access unit that is being scanned.
public struct ScannedPicture: Sendable {
    public internal(set) var hasSlice = false
    public internal(set) var sliceCount = 0
    /// Where the newest slice begins.
    public internal(set) var lastSlicePlace = 0
    /// `pic_parameter_set_id` of the newest slice.
    var parameterSet = 0
    /// A decoder can begin here.
    public internal(set) var isEntryPoint = false
    /// Parameter sets came in the access unit.
    var hasParameterSets = false
    /// The first slice is one field of a frame, of this parity; its other field may follow.
    var field: Field?
    var hasBothFields = false
    /// One field of a frame has come, and the other may follow.
    public var isLoneField: Bool { field != nil && !hasBothFields }
}

/// A stream's newest parameter sets as they came, each once. Receivers that begin at an entry point need them before it.
public struct KeptParameterSets: Sendable {
    private var sets: [(key: Int, bytes: [UInt8])] = []
    /// More than any sane stream has.
    private static let limit = 64

    public init() {}

    /// Keeps a set in the place of the one with the same key. Allocates only when it differs.
    /// - Parameters:
    ///   - key: sets go out in the order of their keys.
    ///   - unit: without its start code.
    mutating func keep(_ unit: UnsafeRawBufferPointer, key: Int) {
        guard unit.count <= 4096 else { return }
        if let at = sets.firstIndex(where: { $0.key == key }) {
            if unsafe sets[at].bytes.count == unit.count && sets[at].bytes.elementsEqual(unit) { return }
            sets[at].bytes = unsafe Array(unit)
        } else if sets.count < Self.limit {
            sets.append((key, unsafe Array(unit)))
            sets.sort { $0.key < $1.key }
        }
    }

    /// Whether a set with the same bytes is kept.
    func holds(_ unit: UnsafeRawBufferPointer) -> Bool {
        sets.contains { unsafe $0.bytes.count == unit.count && $0.bytes.elementsEqual(unit) }
    }

    /// Whether all sets of another stream's, or of another part of this one, are kept with the same bytes.
    public func holdsAll(of others: KeptParameterSets) -> Bool {
        others.sets.allSatisfy { other in sets.contains { $0.bytes == other.bytes } }
    }

    /// The kinds of sets that a decoder cannot begin without, by their short names, as far as none is kept.
    public func missing(for codec: VideoCodec) -> [String] {
        Self.needed(by: codec).filter { !holds(any: $0.keys) }.map(\.name)
    }

    /// Whether a set of each kind is kept that a decoder cannot begin without.
    public func suffice(for codec: VideoCodec) -> Bool {
        switch codec {
        case .h264: holds(any: H264Grammar.sequenceKeys) && holds(any: H264Grammar.pictureKeys)
        case .hevc: holds(any: HEVCParameterSets.sequenceKeys) && holds(any: HEVCParameterSets.pictureKeys)
        // An entry point has all that it needs.
        case .mpeg2Video, .av1, .vp8, .vp9: true
        }
    }

    private func holds(any keys: Range<Int>) -> Bool { sets.contains { keys.contains($0.key) } }

    private static func needed(by codec: VideoCodec) -> [(name: String, keys: Range<Int>)] {
        switch codec {
        case .h264: [("SPS", H264Grammar.sequenceKeys), ("PPS", H264Grammar.pictureKeys)]
        case .hevc: [("SPS", HEVCParameterSets.sequenceKeys), ("PPS", HEVCParameterSets.pictureKeys)]
        case .mpeg2Video, .av1, .vp8, .vp9: []
        }
    }

    mutating func removeAll() { sets.removeAll() }

    /// Replaces bytes by all sets with start codes. Allocates only where they need more room than before.
    public func copy(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        for set in sets {
            for place in 0..<4 { bytes.append(place == 3 ? 1 : 0) }
            bytes.append(contentsOf: set.bytes)
        }
    }

    /// All sets with start codes, as a byte stream.
    public var bytes: [UInt8] { sets.flatMap { [0, 0, 0, 1] + $0.bytes } }
    public var isEmpty: Bool { sets.isEmpty }
}
