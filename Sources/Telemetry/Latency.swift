import Media
import Schedule

/// Histograms of the time that emitted frames spent in each stage, filled from their records.
public struct Latency: Sendable {
    /// From the arrival of an original's last packet to its emission.
    public private(set) var original = Histogram()
    /// From the arrival of the last packet of the original that completed the pair to the synthesised frame's emission.
    public private(set) var synthesised = Histogram()
    /// Deadline minus emission. Late frames count as zero here and are counted in ``misses``.
    public private(set) var slack = Histogram()
    /// How many frames were emitted after their deadline.
    public private(set) var misses: UInt64 = 0

    public private(set) var receive = Histogram()
    public private(set) var complete = Histogram()
    public private(set) var waitForDecoder = Histogram()
    /// From the arrival of an original's last packet to the decoder: ``complete`` and ``waitForDecoder`` together.
    public private(set) var wireToDecoder = Histogram()
    public private(set) var decode = Histogram()
    public private(set) var waitForEnhancement = Histogram()
    public private(set) var enhance = Histogram()
    public private(set) var waitForEncoder = Histogram()
    public private(set) var encode = Histogram()
    public private(set) var send = Histogram()

    public init() {}

    /// Ignores repeated frames: they do not pass the stages, and they are due only after the deadline of the missing frame.
    public mutating func record(_ record: FrameRecord) {
        if record.kind == .repeated { return }
        if let whole = record.time(from: .lastPacket, to: .sent) {
            if record.kind == .original { original.record(whole) } else { synthesised.record(whole) }
        }
        if let sent = record[.sent], let deadline = record.deadline {
            slack.record(deadline - sent)
            if sent > deadline { misses += 1 }
        }
        func add(_ from: Stamp, _ to: Stamp, _ histogram: inout Histogram) {
            if let time = record.time(from: from, to: to) { histogram.record(time) }
        }
        if record.kind == .original {
            add(.firstPacket, .lastPacket, &receive)
            add(.lastPacket, .complete, &complete)
            add(.complete, .decodeIn, &waitForDecoder)
            add(.lastPacket, .decodeIn, &wireToDecoder)
            add(.decodeIn, .decodeOut, &decode)
            add(.decodeOut, .enhanceIn, &waitForEnhancement)
        }
        add(.enhanceIn, .enhanceOut, &enhance)
        add(.enhanceOut, .encodeIn, &waitForEncoder)
        add(.encodeIn, .encodeOut, &encode)
        add(.encodeOut, .sent, &send)
    }

    /// The stages in the order in which a frame passes them, with their names in reports.
    public var stages: [(name: String, histogram: Histogram)] {
        [
            ("receive", receive), ("complete", complete), ("wait_for_decoder", waitForDecoder),
            ("wire_to_decoder", wireToDecoder), ("decode", decode),
            ("wait_for_enhancement", waitForEnhancement), ("enhance", enhance), ("wait_for_encoder", waitForEncoder),
            ("encode", encode), ("send", send),
        ]
    }
}
