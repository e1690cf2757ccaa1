import Bitstream
import Media

/// How the end of a unit was known.
public enum EndEvidence: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// The PES packet's own length was reached.
    case length
    /// The last transport packet was stuffed, which this stream does at the end of a unit and nowhere else.
    case stuffing
    /// The sender flushed a short message after it, which this stream does at the end of a unit and nowhere else.
    case flush
    /// The sender flushed a short message after it, as it does at the end of a unit, and nothing followed for longer
    /// than this stream ever pauses inside a unit.
    case timer
    /// An access unit delimiter, or another NAL unit that begins an access unit, followed inside the PES packet.
    case delimiter
    /// The next PES packet began.
    case nextStart
    /// The stream ended or was restarted.
    case endOfStream
}

/// Signs, seen at a packet, that the unit may end with it.
struct EndSigns: OptionSet {
    let rawValue: UInt8
    static let length = EndSigns(rawValue: 1)
    static let stuffing = EndSigns(rawValue: 2)
    static let flush = EndSigns(rawValue: 4)
}

/// Learns which signs tell the end of a unit in one stream, by comparing each with what came next. A pure value.
///
/// A sign is believed after it has been right `run` times in a row. One contradiction ends that; a second probation,
/// much longer, may restore it; a second contradiction is final. So a stream that misleads after a long time of good
/// behaviour costs at most two torn pictures for each sign until it is interrupted, and each is told
/// (``TransportStreamEvent/torn(serial:)``) unless a loss hides it (``noteUnjudged(_:)``).
struct EndOfUnitTrust {
    struct Sign {
        var run: Int
        var right = 0
        var contradictions = 0
        /// After a contradiction.
        static let secondProbation = 2048

        init(run: Int) { self.run = run }

        var isTrusted: Bool { contradictions < 2 && right >= (contradictions == 0 ? run : Self.secondProbation) }

        mutating func judge(_ wasRight: Bool) {
            if wasRight {
                right += 1
            } else {
                right = 0
                contradictions += 1
            }
        }
    }

    private(set) var length = Sign(run: 3)
    private(set) var stuffing = Sign(run: 24)
    private(set) var flush = Sign(run: 48)
    /// From so many right ones on, and without a contradiction, a flushed message needs no silence after it.
    static let flushAlone = 72
    /// Bytes of the largest unit that a flushed message has ended: what is larger may be flushed in between.
    private var largestFlushed = 0
    /// Packets that went on with their unit and were not stuffed: without them "stuffed only at the end" says nothing.
    private(set) var plainPackets = 0
    static let plainPacketsNeeded = 48

    /// The slicing that every picture of the run had: a picture with other slicing may lack some.
    private var slices = 0
    private var lastFirstMacroblock = 0
    private var slicingRun = 0
    static let slicingRunNeeded = 16

    /// The longest pause inside a unit lately.
    private var longestPause = Nanoseconds.zero
    static let longestQuiet = Nanoseconds.milliseconds(8)

    mutating func noteContinuation(stuffed: Bool, pause: Nanoseconds) {
        if !stuffed { plainPackets += 1 }
        longestPause = max(longestPause, pause)
    }

    /// The packet after one with these signs has come.
    mutating func judge(_ signs: EndSigns, wasRight: Bool) {
        if signs.contains(.length) { length.judge(wasRight) }
        if signs.contains(.stuffing) { stuffing.judge(wasRight) }
        if signs.contains(.flush) { flush.judge(wasRight) }
    }

    /// Bytes were lost behind a unit that was handed on by this evidence: nobody will know whether it had ended. What makes a
    /// sender flush in the middle of a unit may be what lost the bytes, so that its run begins anew.
    mutating func noteUnjudged(_ evidence: EndEvidence) {
        if evidence == .flush || evidence == .timer { flush.right = 0 }
    }

    /// A unit of so many bytes ended with a flushed message.
    mutating func noteFlushed(size: Int) { largestFlushed = max(largestFlushed, size) }

    /// A whole, undamaged picture was followed by the next: its slicing is an example.
    mutating func noteComplete(_ picture: AccessUnitScanner.Picture) {
        if picture.sliceCount == slices, picture.lastFirstMacroblock == lastFirstMacroblock {
            slicingRun += 1
        } else {
            slices = picture.sliceCount
            lastFirstMacroblock = picture.lastFirstMacroblock
            slicingRun = 0
        }
        // Forgets an outlier in a few seconds.
        longestPause = Nanoseconds(longestPause.count - longestPause.count / 64)
    }

    private func isSlicedAsUsual(_ picture: AccessUnitScanner.Picture) -> Bool {
        slicingRun < Self.slicingRunNeeded
            || picture.sliceCount == slices && picture.lastFirstMacroblock == lastFirstMacroblock
    }

    /// Whether a unit ends for certain with a packet that has these signs.
    func accepts(_ signs: EndSigns, _ picture: AccessUnitScanner.Picture) -> EndEvidence? {
        if signs.contains(.length), length.isTrusted { return .length }
        // GStreamer's muxer stuffs the middle of one unit in 360. It writes lengths, and leaves one out only where
        // the unit is too large: such a unit waits for the next.
        if signs.contains(.stuffing), length.right == 0, stuffing.isTrusted, plainPackets >= Self.plainPacketsNeeded,
            isSlicedAsUsual(picture)
        {
            return .stuffing
        }
        return nil
    }

    /// Whether a flushed message alone ends a unit of so many bytes for certain.
    func acceptsFlush(_ picture: AccessUnitScanner.Picture, size: Int) -> Bool {
        flush.contradictions == 0 && flush.right >= Self.flushAlone && length.right == 0 && size <= largestFlushed
            && slicingRun >= Self.slicingRunNeeded && isSlicedAsUsual(picture)
    }

    /// How long after a flushed message silence means the end; nil when it means nothing in this stream.
    func quiet(after picture: AccessUnitScanner.Picture) -> Nanoseconds? {
        guard flush.isTrusted, slicingRun >= Self.slicingRunNeeded, isSlicedAsUsual(picture) else { return nil }
        let quiet = longestPause * 2 + .milliseconds(1)
        return quiet <= Self.longestQuiet ? quiet : nil
    }
}
