import Bitstream
import Container
import Media

/// Reads what ``PathSwitch`` must know of a unit: what kind of entry point it is, and where it lies beside the newest one.
///
/// A value, confined to its owner. Allocates where AV1 or parameter sets are read: at entry points, while a change is wanted.
struct EntryPoints {
    private var codec = VideoCodec.h264
    private var reader = VideoCodec.h264.makeUnitReader()

    /// When the newest entry point was shown, before the first one the stream's first picture.
    private var newest: MediaTime?
    private var hasCome = false
    /// Pictures have come without a time stamp of their own, in an order other than that in which they are shown.
    private var hasUntimed = false

    /// A stream that begins without an entry point for so long (5 s) has none.
    private static let longestStart = 5 * MediaTime.ticksPerSecond
    /// The same after an entry point (20 s): encoders that are made for files leave ten seconds between two.
    private static let longestInterval = 20 * MediaTime.ticksPerSecond

    /// Parameter sets stand at the beginning of a unit.
    private static let searched = 4096

    /// Another stream begins, or the same one anew.
    mutating func restart() { (newest, hasCome, hasUntimed) = (nil, false, false) }

    /// Call for each picture.
    /// - Parameter isTimed: its time stamp is its own, or follows from those before.
    mutating func observe(isTimed: Bool) { if !isTimed { hasUntimed = true } }

    /// Whether the stream has no entry points, as far as its pictures up to this one show. Call for each picture.
    mutating func areMissing(upTo presentation: MediaTime, isEntry: Bool) -> Bool {
        if isEntry { hasCome = true }
        guard let newest, !isEntry else {
            newest = presentation
            return false
        }
        return presentation - newest >= (hasCome ? Self.longestInterval : Self.longestStart)
    }

    /// Reads a unit. Call for all units from an entry point on for as long as ``PathSwitch`` is changing.
    mutating func read(_ unit: StreamUnit, into picture: inout PathSwitch.Picture) {
        guard let codec = unit.codec else { return }
        if codec != self.codec {
            self.codec = codec
            reader = codec.makeUnitReader()
        }
        // The unit's own headers may refer to sets that came before it.
        if unit.isKeyframe, let sets = unit.parameterSets?.bytes { _ = unsafe sets.withUnsafeBytes { unsafe read($0, codec) } }
        let summary = unsafe read(unit.bytes, codec)
        picture.leads = summary.leads
        picture.isField = summary.isField
        // HEVC counts all pictures of a gradual refresh, H.264 those that others refer to (by frame_num).
        picture.advancesRefresh = codec != .h264 || summary.isReference
        guard unit.isKeyframe else { return }
        picture.entry = PathSwitch.EntryPoint(
            isRefresh: summary.isRefresh, recovery: summary.recoveryFrameCount ?? 0,
            beginsSequence: codec != .h264 || summary.isRefresh,
            isSafe: summary.isRefresh || summary.leads != nil || !hasUntimed)
    }

    private mutating func read(_ unit: UnsafeRawBufferPointer, _ codec: VideoCodec) -> AccessUnitSummary {
        guard codec == .av1, unsafe AV1StartCodes.isUsed(in: unit) else { return unsafe reader.read(unit) }
        var plain: [UInt8] = []
        unsafe AV1StartCodes.remove(from: unit, into: &plain)
        return unsafe plain.withUnsafeBytes { unsafe reader.read($0) }
    }

    /// An entry point with all parameter sets of the stream, also those that came elsewhere than in entry points.
    /// - Returns: nil where nothing is missing.
    static func completed(_ unit: StreamUnit) -> [UInt8]? {
        guard let codec = unit.codec, let sets = unit.parameterSets, !sets.isEmpty,
            unsafe !self.sets(in: unit.bytes, codec).holdsAll(of: sets)
        else { return nil }
        // A delimiter stays the first. A set that is there already may come twice.
        let delimiter = codec == .h264 ? 6 : 7
        let header: UInt8 = codec == .h264 ? 0x09 : 0x46
        let bytes = unsafe Array(unit.bytes)
        let place = bytes.count > delimiter && bytes.starts(with: [0, 0, 0, 1]) && bytes[4] == header ? delimiter : 0
        return bytes[..<place] + sets.bytes + bytes[place...]
    }

    private static func sets(in unit: UnsafeRawBufferPointer, _ codec: VideoCodec) -> KeptParameterSets {
        var scanner = AccessUnitScanner(codec)
        let head = unsafe UnsafeRawBufferPointer(rebasing: unit.prefix(searched))
        var findings = 0
        while findings < 8, unsafe scanner.scan(head, isEnd: true) != .nothing { findings += 1 }
        return scanner.keptSets
    }
}
