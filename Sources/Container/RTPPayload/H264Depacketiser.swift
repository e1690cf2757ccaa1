/// Takes H.264's NAL units out of RTP payloads (RFC 6184, packetization mode 1) and puts them together as a byte stream.
///
/// Any bytes may come. Nothing of a NAL unit is kept that did not come whole, because a decoder cannot tell where it ends.
struct H264Depacketiser {
    /// What became of a payload.
    struct Outcome: Equatable {
        /// It belongs to no NAL unit, or its NAL unit lacks an earlier or a later part.
        var isBroken = false
        /// The unit would be larger than the limit.
        var isOversized = false
    }

    /// Parameter sets of the session description, as a byte stream. A refresh that has none of its own gets them.
    private let sets: [UInt8]
    /// Where the NAL unit begins whose parts come now; -1 when none does.
    private var fragment = -1
    private var hasSequenceSet = false
    private var hasSlice = false
    /// The unit's first slice that came does not begin its picture.
    private(set) var lacksFirstSlice = false

    init(parameterSets: [[UInt8]] = []) { sets = parameterSets.flatMap { [0, 0, 0, 1] + $0 } }

    private enum Kind {
        static let refreshSlice: UInt8 = 5
        static let sequenceSet: UInt8 = 7
        static let delimiter: UInt8 = 9
        static let aggregation: UInt8 = 24
        static let fragment: UInt8 = 28
    }

    /// An access unit delimiter for any slices, with its start code. In transport streams each unit begins with one.
    private static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xf0]
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The next payload belongs to a new unit.
    mutating func beginUnit() {
        fragment = -1
        hasSequenceSet = false
        hasSlice = false
        lacksFirstSlice = false
    }

    /// Packets before the next one are missing, or the unit ends.
    /// - Returns: whether a part of a NAL unit was removed.
    mutating func abandonFragment(_ storage: UnitStorage) -> Bool {
        guard fragment >= 0 else { return false }
        storage.removeLast(storage.count - fragment)
        fragment = -1
        return true
    }

    mutating func append(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> Outcome {
        guard payload.count >= 1 else { return Outcome(isBroken: true) }
        switch payload[0] & 0x1f {
        case 1...23:
            let wasCut = abandonFragment(storage)
            var outcome = add(payload, to: storage, limit: limit)
            if wasCut { outcome.isBroken = true }
            return outcome
        case Kind.aggregation:
            var outcome = Outcome(isBroken: abandonFragment(storage))
            var at = 1
            while at < payload.count {
                guard payload.count - at >= 2 else { return Outcome(isBroken: true) }
                let end = at + 2 + (Int(payload[at]) << 8 | Int(payload[at + 1]))
                guard end <= payload.count, end > at + 2 else { return Outcome(isBroken: true) }
                let added = add(payload.extracting(at + 2..<end), to: storage, limit: limit)
                if added.isBroken { outcome.isBroken = true }
                if added.isOversized { outcome.isOversized = true }
                at = end
            }
            return outcome
        case Kind.fragment: return appendFragment(payload, to: storage, limit: limit)
        // Modes that are not agreed on.
        default: return Outcome(isBroken: true)
        }
    }

    private mutating func appendFragment(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> Outcome {
        guard payload.count > 2 else { return Outcome(isBroken: true) }
        let (isStart, isEnd) = (payload[1] & 0x80 != 0, payload[1] & 0x40 != 0)
        var outcome = Outcome()
        if isStart {
            outcome.isBroken = abandonFragment(storage)
            let header = payload[0] & 0xe0 | payload[1] & 0x1f
            // What stands before the NAL unit is whole.
            guard begin(header: header, payload[2], storage, limit: limit) else { return Outcome(isOversized: true) }
            fragment = storage.count
            guard storage.append(Self.startCode.span, limit: limit), storage.append([header].span, limit: limit) else {
                return Outcome(isOversized: true)
            }
        } else if fragment < 0 {
            return Outcome(isBroken: true)
        }
        guard storage.append(payload.extracting(2..<payload.count), limit: limit) else { return Outcome(isOversized: true) }
        if isEnd { fragment = -1 }
        return outcome
    }

    private mutating func add(_ unit: Span<UInt8>, to storage: UnitStorage, limit: Int) -> Outcome {
        // Aggregations do not nest.
        guard (1...23).contains(unit[0] & 0x1f) else { return Outcome(isBroken: true) }
        guard begin(header: unit[0], unit.count > 1 ? unit[1] : 0, storage, limit: limit),
            storage.append(Self.startCode.span, limit: limit),
            storage.append(unit, limit: limit)
        else { return Outcome(isOversized: true) }
        return Outcome()
    }

    /// Writes what has to stand before a NAL unit.
    /// - Parameter second: the byte behind the header. Of a slice its first bit is set where it begins a picture
    ///   (`first_mb_in_slice` is 0).
    private mutating func begin(header: UInt8, _ second: UInt8, _ storage: UnitStorage, limit: Int) -> Bool {
        let kind = header & 0x1f
        if storage.count == 0, kind != Kind.delimiter, !storage.append(Self.delimiter.span, limit: limit) { return false }
        if kind == Kind.sequenceSet { hasSequenceSet = true }
        guard (1...5).contains(kind) else { return true }
        defer { hasSlice = true }
        if !hasSlice, kind != 3, kind != 4 { lacksFirstSlice = second & 0x80 == 0 }
        guard kind == Kind.refreshSlice, !hasSlice, !hasSequenceSet, !sets.isEmpty else { return true }
        return storage.append(sets.span, limit: limit)
    }
}
