import Media
import Schedule

/// Histograms of the time that emitted frames spent in each stage, filled from their records.
public struct Latency: Sendable {
    /// What is timed. The raw values are places in the telemetry map: add new ones at the end.
    public enum Series: Int, CaseIterable, Sendable {
        /// From the arrival of an original's last packet to its emission.
        case original
        /// From the arrival of the last packet of the original that completed the pair to the synthesised frame's emission.
        case synthesised
        /// Deadline minus emission. Late frames count as zero here and are counted in ``Latency/misses``.
        case slack
        case receive
        case complete
        case waitForDecoder
        /// From the arrival of an original's last packet to the decoder: ``complete`` and ``waitForDecoder`` together.
        case wireToDecoder
        case decode
        case waitForEnhancement
        case enhance
        case waitForEncoder
        case encode
        case send

        /// The name in reports.
        public var name: String {
            switch self {
            case .original: "original"
            case .synthesised: "synthesised"
            case .slack: "slack"
            case .receive: "receive"
            case .complete: "complete"
            case .waitForDecoder: "wait_for_decoder"
            case .wireToDecoder: "wire_to_decoder"
            case .decode: "decode"
            case .waitForEnhancement: "wait_for_enhancement"
            case .enhance: "enhance"
            case .waitForEncoder: "wait_for_encoder"
            case .encode: "encode"
            case .send: "send"
            }
        }

        /// The stages in the order in which a frame passes them.
        public static let stages: [Series] = [
            .receive, .complete, .waitForDecoder, .wireToDecoder, .decode, .waitForEnhancement, .enhance, .waitForEncoder,
            .encode, .send,
        ]
    }

    private var histograms = Series.allCases.map { _ in Histogram() }
    /// How many frames were emitted after their deadline.
    public internal(set) var misses: UInt64 = 0

    public init() {}

    public internal(set) subscript(series: Series) -> Histogram {
        get { histograms[series.rawValue] }
        set { histograms[series.rawValue] = newValue }
    }

    public var original: Histogram { self[.original] }
    public var synthesised: Histogram { self[.synthesised] }
    public var slack: Histogram { self[.slack] }

    /// Adds an emitted frame. Ignores repeated frames (``measure(_:missed:_:)``).
    public mutating func record(_ record: FrameRecord) {
        Self.measure(record, missed: &misses) { series, time in histograms[series.rawValue].record(time) }
    }

    /// Calls `body` with each time that the record of an emitted frame has. Ignores repeated frames: they do not pass the
    /// stages, and they are due only after the deadline of the missing frame.
    /// - Parameter missed: goes up by one where the frame missed its deadline.
    @inline(__always) static func measure(
        _ record: FrameRecord, missed: inout UInt64, _ body: (Series, Nanoseconds) -> Void
    ) {
        let kind = record.kind
        if kind == .repeated { return }
        if let whole = record.time(from: .lastPacket, to: .sent) { body(kind == .original ? .original : .synthesised, whole) }
        if let sent = record[.sent], let deadline = record.deadline {
            body(.slack, deadline - sent)
            if sent > deadline { missed += 1 }
        }
        if kind == .original {
            if let time = record.time(from: .firstPacket, to: .lastPacket) { body(.receive, time) }
            if let time = record.time(from: .lastPacket, to: .complete) { body(.complete, time) }
            if let time = record.time(from: .complete, to: .decodeIn) { body(.waitForDecoder, time) }
            if let time = record.time(from: .lastPacket, to: .decodeIn) { body(.wireToDecoder, time) }
            if let time = record.time(from: .decodeIn, to: .decodeOut) { body(.decode, time) }
            if let time = record.time(from: .decodeOut, to: .enhanceIn) { body(.waitForEnhancement, time) }
        }
        if let time = record.time(from: .enhanceIn, to: .enhanceOut) { body(.enhance, time) }
        if let time = record.time(from: .enhanceOut, to: .encodeIn) { body(.waitForEncoder, time) }
        if let time = record.time(from: .encodeIn, to: .encodeOut) { body(.encode, time) }
        if let time = record.time(from: .encodeOut, to: .sent) { body(.send, time) }
    }

    /// The stages in the order in which a frame passes them, with their names in reports.
    public var stages: [(name: String, histogram: Histogram)] { Series.stages.map { ($0.name, self[$0]) } }
}
