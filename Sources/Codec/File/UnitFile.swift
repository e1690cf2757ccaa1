import Bitstream
import Media

/// Coded units around one picture, as bytes for a file: what a decoder needs to make that picture again later, and those around it.
///
/// All numbers are little-endian. A head of 32 bytes says `BRNUNITS`, the number of the picture that is meant, the format, and the peak
/// of PQ pictures (the bits of a Double, 0 for none). Each unit has a head of 24 bytes: its number, its presentation time in ticks, its
/// flags, its length. A unit of length 0 is the end. Others may write more behind it.
///
/// A value.
public struct UnitFile: Sendable {
    /// One coded picture.
    public struct Unit: Sendable {
        public var id: Int64
        public var presentation: MediaTime
        public var flags: UnitFlags
        /// Its place in ``UnitFile/bytes``.
        public var range: Range<Int>
    }

    public let codec: VideoCodec
    /// The number of the picture that is meant.
    public let target: Int64
    /// The brightest light of PQ pictures in cd/m²; nil: as they say.
    public let hdrPeak: Double?
    /// In the order of decoding.
    public private(set) var units: [Unit] = []
    /// The file so far.
    public private(set) var bytes: [UInt8] = []

    private static let magic = Array("BRNUNITS".utf8)
    private static let headCount = 32
    private static let unitHeadCount = 24

    /// A file without units.
    public init(_ codec: VideoCodec, target: Int64, hdrPeak: Double?) {
        (self.codec, self.target, self.hdrPeak) = (codec, target, hdrPeak)
        bytes = Self.magic
        append(UInt64(bitPattern: target))
        append(UInt64(codec.rawValue))
        append((hdrPeak ?? 0).bitPattern)
    }

    /// Adds the next unit in the order of decoding.
    /// - Parameter unit: not empty; copied.
    public mutating func append(_ unit: [UInt8], id: Int64, presentation: MediaTime, flags: UnitFlags) {
        guard !unit.isEmpty else { return }
        appendHead(id, presentation.ticks, flags.rawValue, unit.count)
        units.append(Unit(id: id, presentation: presentation, flags: flags, range: bytes.count..<bytes.count + unit.count))
        bytes += unit
    }

    /// Ends the file. Nothing may be added then.
    public mutating func finish() { appendHead(0, 0, 0, 0) }

    /// Reads a file. Its bytes may be anything.
    /// - Throws: `invalidData`.
    public init(reading bytes: [UInt8]) throws(CodecError) {
        guard bytes.count >= Self.headCount, bytes.starts(with: Self.magic),
            let codec = UInt8(exactly: Self.number(bytes, 16)).flatMap(VideoCodec.init)
        else { throw Self.fault("it does not begin as one") }
        self.codec = codec
        target = Int64(bitPattern: Self.number(bytes, 8))
        let peak = Double(bitPattern: Self.number(bytes, 24))
        hdrPeak = peak.isFinite && peak > 0 ? peak : nil
        var place = Self.headCount
        while true {
            guard bytes.count - place >= Self.unitHeadCount else { throw Self.fault("it has no end") }
            let rest = Self.number(bytes, place + 16)
            let count = Int(rest >> 32)
            let start = place + Self.unitHeadCount
            if count == 0 { break }
            guard count <= bytes.count - start else { throw Self.fault("a unit of \(count) bytes reaches beyond its end") }
            units.append(
                Unit(
                    id: Int64(bitPattern: Self.number(bytes, place)),
                    presentation: MediaTime(ticks: Int64(bitPattern: Self.number(bytes, place + 8))),
                    flags: UnitFlags(rawValue: UInt8(truncatingIfNeeded: rest)), range: start..<start + count))
            place = start + count
        }
        self.bytes = bytes
    }

    private mutating func appendHead(_ id: Int64, _ ticks: Int64, _ flags: UInt8, _ count: Int) {
        append(UInt64(bitPattern: id))
        append(UInt64(bitPattern: ticks))
        append(UInt64(flags) | UInt64(count) << 32)
    }

    private mutating func append(_ number: UInt64) {
        for shift in stride(from: 0 as UInt64, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
    }

    private static func fault(_ text: String) -> CodecError {
        CodecError(.invalidData, operation: "read", message: text, place: "file of coded units", advice: "make the still again")
    }
}
