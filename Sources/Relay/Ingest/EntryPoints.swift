import Bitstream
import Container
import Media

/// Reads of a unit at which a decoder can begin what kind of entry point it is, and keeps the parameter sets that came with the
/// newest one that had them.
///
/// A value, confined to its owner. Allocates only where a parameter set is new.
struct EntryPoints {
    private var codec = VideoCodec.h264
    private var reader = VideoCodec.h264.makeUnitReader()
    private var sets: [UInt8] = []

    /// When the stream's first picture was shown, and whether an entry point has come.
    private var first: MediaTime?
    private var hasCome = false

    /// A stream that has had no entry point for so long (5 s) has none.
    private static let longestInterval = 5 * MediaTime.ticksPerSecond

    /// Parameter sets stand at the beginning of a unit.
    private static let searched = 4096

    /// Another stream begins.
    mutating func restart() { (first, hasCome) = (nil, false) }

    /// Whether the stream has no entry points, as far as its pictures up to this one show.
    mutating func areMissing(upTo presentation: MediaTime, isEntry: Bool) -> Bool {
        if isEntry { hasCome = true }
        guard !hasCome else { return false }
        let first = first ?? presentation
        self.first = first
        return presentation - first >= Self.longestInterval
    }

    mutating func read(_ unit: StreamUnit) -> PathSwitch.EntryPoint? {
        guard let codec = unit.codec else { return nil }
        if codec != self.codec {
            self.codec = codec
            reader = codec.makeUnitReader()
            sets = []
        }
        let own = unsafe Self.sets(in: unit.bytes, codec)
        if !own.isEmpty { sets = own }
        let summary = unsafe reader.read(unit.bytes)
        return PathSwitch.EntryPoint(
            isRefresh: summary.isRefresh, recovery: summary.recoveryFrameCount ?? 0,
            beginsSequence: summary.isRefresh || codec != .h264)
    }

    /// An entry point with parameter sets: those of the entry point before it where it has none of its own.
    /// - Returns: nil where nothing is missing.
    func completed(_ unit: StreamUnit) -> [UInt8]? {
        guard let codec = unit.codec, codec == self.codec, !sets.isEmpty,
            unsafe Self.sets(in: unit.bytes, codec).isEmpty
        else { return nil }
        // A delimiter stays the first.
        let delimiter = codec == .h264 ? 6 : 7
        let header: UInt8 = codec == .h264 ? 0x09 : 0x46
        let bytes = unsafe Array(unit.bytes)
        let place = bytes.count > delimiter && bytes.starts(with: [0, 0, 0, 1]) && bytes[4] == header ? delimiter : 0
        return bytes[..<place] + sets + bytes[place...]
    }

    private static func sets(in unit: UnsafeRawBufferPointer, _ codec: VideoCodec) -> [UInt8] {
        var scanner = AccessUnitScanner(codec)
        let head = unsafe UnsafeRawBufferPointer(rebasing: unit.prefix(searched))
        var findings = 0
        while findings < 8, unsafe scanner.scan(head, isEnd: true) != .nothing { findings += 1 }
        return scanner.keptSets.bytes
    }
}
