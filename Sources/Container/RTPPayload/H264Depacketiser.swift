import Bitstream

/// Takes H.264's NAL units out of RTP payloads (RFC 6184, packetization mode 1) and puts them together as a byte stream.
///
/// Any bytes may come. Nothing of a NAL unit is kept that did not come whole, because a decoder cannot tell where it ends. Bytes that
/// belong to no NAL unit are skipped: they damage nothing. NAL units may bring start codes of their own.
struct H264Depacketiser {
    /// Where the NAL unit begins whose parts come now; -1 when none does.
    private var fragment = -1
    /// The parts that come now belong to nothing.
    private var isSkipping = false
    /// The header of a NAL unit whose first part had no bytes.
    private var emptyStart: UInt8?
    /// The sender marks the last parts of NAL units.
    private var marksEnds = false
    /// Of the present unit.
    private(set) var hasSequenceSet = false
    private(set) var hasParameterSets = false
    private(set) var hasSlice = false
    /// The unit's first slice that came does not begin its picture.
    private(set) var lacksFirstSlice = false
    /// The macroblock at which the newest slice begins.
    private(set) var newestPlace = 0

    private enum Kind {
        static let refreshSlice: UInt8 = 5
        static let sequenceSet: UInt8 = 7
        static let pictureSet: UInt8 = 8
        static let delimiter: UInt8 = 9
        static let aggregation: UInt8 = 24
        static let fragment: UInt8 = 28
    }

    /// An access unit delimiter for any slices, with its start code. In transport streams each unit begins with one.
    static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xf0]
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The next payload belongs to a new unit.
    mutating func beginUnit() {
        fragment = -1
        (hasSequenceSet, hasParameterSets, hasSlice, lacksFirstSlice) = (false, false, false, false)
        newestPlace = 0
    }

    /// Parts of a NAL unit have come.
    var hasFragment: Bool { fragment >= 0 }
    /// Its last part has not come, as far as the sender marks last parts.
    var isInside: Bool { hasFragment && marksEnds }

    /// Packets before the next one are missing.
    /// - Returns: whether a part of a NAL unit was removed.
    mutating func abandonFragment(_ storage: UnitStorage) -> Bool {
        (isSkipping, emptyStart) = (false, nil)
        guard fragment >= 0 else { return false }
        storage.removeLast(storage.count - fragment)
        fragment = -1
        return true
    }

    /// Another NAL unit begins, or the unit ends, and no packet is missing.
    /// - Returns: whether a part of a NAL unit was removed. Where a sender marks no last parts, what has come is whole.
    mutating func closeFragment(_ storage: UnitStorage) -> Bool {
        guard marksEnds || fragment < 0 else {
            endFragment(storage)
            return false
        }
        return abandonFragment(storage)
    }

    private mutating func endFragment(_ storage: UnitStorage) {
        defer { (fragment, isSkipping, emptyStart) = (-1, false, nil) }
        guard fragment >= 0 else { return }
        recordInside(storage, from: fragment + Self.startCode.count)
    }

    // MARK: What a payload begins with

    func beginning(of payload: Span<UInt8>) -> PayloadBeginning {
        guard payload.count > 0 else { return .nothing }
        switch payload[0] & 0x1f {
        case Kind.aggregation:
            var at = 1
            while payload.count - at > 2 {
                let end = at + 2 + (Int(payload[at]) << 8 | Int(payload[at + 1]))
                guard end <= payload.count else { return .part }
                let unit = payload.extracting(at + 2..<end)
                if let start = Self.start(of: unit) {
                    return Self.beginning(unit[start], unit.extracting(start + 1..<unit.count))
                }
                at = end
            }
            return .nothing
        case Kind.fragment:
            guard payload.count > 2 else { return .nothing }
            guard let (header, first) = fragmentStart(payload) else {
                return fragment < 0 && (isSkipping || payload[1] & 0x80 != 0) ? .nothing : .part
            }
            return Self.beginning(header, payload.extracting(first..<payload.count))
        // Modes that are not agreed on.
        case 25...27, 29: return .part
        default:
            guard let start = Self.start(of: payload) else { return .nothing }
            return Self.beginning(payload[start], payload.extracting(start + 1..<payload.count))
        }
    }

    private static func beginning(_ header: UInt8, _ rest: Span<UInt8>) -> PayloadBeginning {
        switch header & 0x1f {
        case 1, 2, Kind.refreshSlice:
            let place = firstMacroblock(rest)
            return place == 0 ? .picture : .slice(place)
        case 6...9, 13, 15...18: return .head
        case 10...12: return .tail
        default: return .part
        }
    }

    /// `first_mb_in_slice`, ue(v), at the front of a slice behind its header byte.
    private static func firstMacroblock(_ rest: Span<UInt8>) -> Int {
        var bits: UInt64 = 0
        for at in 0..<min(rest.count, 8) { bits |= UInt64(rest[at]) << UInt64(56 - 8 * at) }
        let zeros = bits.leadingZeroBitCount
        return zeros > 24 ? 0 : Int(bits >> UInt64(63 - 2 * zeros)) - 1
    }

    /// Where a NAL unit's header is: behind a start code where it brings one.
    /// - Returns: nil where the bytes are no NAL unit that may stand alone.
    private static func start(of bytes: Span<UInt8>) -> Int? {
        guard bytes.count > 0 else { return nil }
        var at = 0
        if bytes[0] == 0 {
            while at < bytes.count, bytes[at] == 0 { at += 1 }
            guard at >= 2, at + 1 < bytes.count, bytes[at] == 1 else { return nil }
            at += 1
        }
        return (1...23).contains(bytes[at] & 0x1f) ? at : nil
    }

    /// The header of the NAL unit that begins with a fragment, and where its other bytes begin; nil where none does. A NAL unit
    /// with a start code of its own was cut as one of type 0.
    private func fragmentStart(_ payload: Span<UInt8>) -> (header: UInt8, first: Int)? {
        guard payload[1] & 0x80 != 0 else {
            guard fragment < 0, let emptyStart else { return nil }
            return (emptyStart, 2)
        }
        let header = payload[0] & 0xe0 | payload[1] & 0x1f
        guard header & 0x1f == 0 else { return header & 0x1f < 24 ? (header, 2) : nil }
        var at = 2
        while at < payload.count, payload[at] == 0 { at += 1 }
        guard at > 2, at + 2 < payload.count, payload[at] == 1, (1...23).contains(payload[at + 1] & 0x1f) else { return nil }
        return (payload[at + 1], at + 2)
    }

    // MARK: Payloads

    mutating func append(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> PayloadOutcome {
        guard payload.count > 0 else { return PayloadOutcome(hasStrayBytes: true) }
        switch payload[0] & 0x1f {
        case Kind.aggregation: return appendAggregation(payload, to: storage, limit: limit)
        case Kind.fragment: return appendFragment(payload, to: storage, limit: limit)
        // Modes that are not agreed on.
        case 25...27, 29: return PayloadOutcome(isBroken: true)
        default:
            guard let start = Self.start(of: payload) else { return PayloadOutcome(hasStrayBytes: true) }
            return add(payload.extracting(start..<payload.count), to: storage, limit: limit)
        }
    }

    private mutating func appendAggregation(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> PayloadOutcome {
        var outcome = PayloadOutcome(hasStrayBytes: payload.count == 1)
        var at = 1
        while at < payload.count {
            guard payload.count - at >= 2 else {
                outcome.hasStrayBytes = true
                break
            }
            let end = at + 2 + (Int(payload[at]) << 8 | Int(payload[at + 1]))
            guard end <= payload.count else {
                outcome.isBroken = true
                break
            }
            let unit = payload.extracting(at + 2..<end)
            if let start = Self.start(of: unit) {
                outcome.add(add(unit.extracting(start..<unit.count), to: storage, limit: limit))
            } else {
                outcome.hasStrayBytes = true
            }
            at = end
        }
        return outcome
    }

    private mutating func appendFragment(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> PayloadOutcome {
        guard payload.count >= 2 else { return PayloadOutcome(hasStrayBytes: true) }
        let (isStart, isEnd) = (payload[1] & 0x80 != 0, payload[1] & 0x40 != 0)
        if isEnd { marksEnds = true }
        var outcome = PayloadOutcome(hasStrayBytes: payload.count == 2)
        if payload.count > 2, let (header, first) = fragmentStart(payload) {
            outcome.isBroken = closeFragment(storage)
            emptyStart = nil
            let rest = payload.extracting(first..<payload.count)
            // What stands before the NAL unit is whole.
            guard begin(header, rest, storage, limit: limit) else { return PayloadOutcome(isOversized: true) }
            fragment = storage.count
            guard storage.append(Self.startCode.span, limit: limit), storage.append([header].span, limit: limit),
                storage.append(rest, limit: limit)
            else { return PayloadOutcome(isOversized: true) }
        } else if isStart {
            outcome = PayloadOutcome(isBroken: closeFragment(storage), hasStrayBytes: true)
            let header = payload[0] & 0xe0 | payload[1] & 0x1f
            if payload.count == 2, (1...23).contains(header & 0x1f) { emptyStart = header } else { isSkipping = true }
        } else if fragment < 0 {
            outcome = isSkipping || payload.count == 2 ? PayloadOutcome(hasStrayBytes: true) : PayloadOutcome(isBroken: true)
        } else if !storage.append(payload.extracting(2..<payload.count), limit: limit) {
            return PayloadOutcome(isOversized: true)
        }
        if isEnd { endFragment(storage) }
        return outcome
    }

    private mutating func add(_ unit: Span<UInt8>, to storage: UnitStorage, limit: Int) -> PayloadOutcome {
        let outcome = PayloadOutcome(isBroken: closeFragment(storage))
        // A delimiter behind parameter sets that stood alone would end the unit.
        if unit[0] & 0x1f == Kind.delimiter, storage.count > 0, !hasSlice { return outcome }
        guard begin(unit[0], unit.extracting(1..<unit.count), storage, limit: limit) else {
            return PayloadOutcome(isOversized: true)
        }
        let start = storage.count + Self.startCode.count
        guard storage.append(Self.startCode.span, limit: limit), storage.append(unit, limit: limit) else {
            return PayloadOutcome(isOversized: true)
        }
        recordInside(storage, from: start)
        return outcome
    }

    /// Writes what has to stand before a NAL unit, and records what it is.
    private mutating func begin(_ header: UInt8, _ rest: Span<UInt8>, _ storage: UnitStorage, limit: Int) -> Bool {
        let isDelimiter = header & 0x1f == Kind.delimiter
        if storage.count == 0, !isDelimiter, !storage.append(Self.delimiter.span, limit: limit) { return false }
        record(header, rest)
        return true
    }

    private mutating func record(_ header: UInt8, _ rest: Span<UInt8>) {
        switch header & 0x1f {
        case Kind.sequenceSet: (hasSequenceSet, hasParameterSets) = (true, true)
        case Kind.pictureSet: hasParameterSets = true
        case 1, 2, Kind.refreshSlice:
            newestPlace = Self.firstMacroblock(rest)
            if !hasSlice { lacksFirstSlice = newestPlace != 0 }
            hasSlice = true
        case 3, 4: hasSlice = true
        default: break
        }
    }

    /// Some senders put a whole picture behind its parameter sets into what they call one NAL unit, with start codes in it.
    private mutating func recordInside(_ storage: UnitStorage, from start: Int) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: storage.bytes[start...])
        guard unsafe bytes.count > 0 && (6...9).contains(bytes[0] & 0x1f) else { return }
        var next = unsafe NALScanner.nextUnit(in: bytes, from: 1)
        while let at = next {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[(at + 1)..<min(at + 9, bytes.count)])
            unsafe record(bytes[at], Span(_unsafeElements: rest.assumingMemoryBound(to: UInt8.self)))
            next = unsafe NALScanner.nextUnit(in: bytes, from: at)
        }
    }
}
