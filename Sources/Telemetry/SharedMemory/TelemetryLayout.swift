import Media
import Schedule

/// Where everything lies in a telemetry map. Offsets count words of 64 bits, little endian. docs/design/telemetry-map.md has
/// the same as a table, and a golden test holds both to it.
///
/// A change of an offset, or of the order of what lies there, needs a new ``version``. What comes behind the last counter or drop reason
/// does not, because it lies in words that were zero.
enum TelemetryLayout {
    /// The bytes "BRNSHMAP".
    static let magic: UInt64 = 0x5041_4D48_534E_5242
    /// The upper half is the number of kinds of steps, so that each build's steps are its own.
    static let version: UInt64 = 11 | UInt64(StepKind.allCases.count) << 32

    // Header.
    static let magicWord = 0
    static let versionWord = 1
    static let byteCountWord = 2
    /// How many writers have opened the map so far.
    static let writersWord = 3
    /// The process that writes, and since when (monotonic clock).
    static let processWord = 4
    static let startedWord = 5
    /// Wall clock minus monotonic clock when the map was made, in nanoseconds.
    static let wallOffsetWord = 6

    // Books. A word for each kind; of the drops for each reason and kind.
    static let kinds = FrameKind.allCases.count
    static let opened = 16
    static let emitted = 19
    static let inFlight = 49
    static let recordsWritten = 50
    static let misses = 51
    static let bypassed = 52

    // Books of all outputs together.
    static let output = 56
    static let outputWords = 4

    static let gauges = 128
    static let gaugeWords = 16

    // What a successor goes on from.
    /// Two copies: the writer fills them in turns, so that one is whole even when it is killed in the middle of the other.
    static let positions = 192
    static let positionStride = 12
    static let continuity = 216
    static let continuityCount = 32
    /// A leg each: input, then the first output.
    static let legs = 248
    static let legStride = 40

    /// For each series: its buckets, the sum, the largest.
    static let histograms = 384
    static let histogramStride = 472

    // The outputs.
    static let outputs = 6656
    static let outputStride = 48
    static let mostOutputs = 12

    /// Two copies for each leg.
    static let peers = 7232
    static let peersStride = 200
    static let peerWords = 6
    static let peersOfALeg = 32

    /// Pictures and nanoseconds of each kind of step.
    static let steps = 8032

    /// Of each reason the frames of each kind. There is room for reasons to come: those of today take 33 words.
    static let dropped = 8064
    static let dropReasonCapacity = 25

    static let counters = 8192
    static let counterCapacity = 128

    // The ring of records.
    static let records = 8320
    static let recordStride = 24
    static let recordCount = 1800

    static let wordCount = 51_712
    static let byteCount = wordCount * 8

    static func dropWord(_ kind: FrameKind, _ reason: DropReason) -> Int {
        dropped + Int(reason.rawValue) * kinds + Int(kind.rawValue)
    }

    static func histogram(_ series: Latency.Series) -> Int { histograms + series.rawValue * histogramStride }
}

extension UInt64 {
    /// The bits of a signed number.
    init(signed value: Int64) { self.init(bitPattern: value) }
}
