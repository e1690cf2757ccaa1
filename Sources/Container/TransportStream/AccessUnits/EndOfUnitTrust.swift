import Bitstream
import Media

/// Signs, seen at a packet, that the unit may end with it.
struct EndSigns: OptionSet {
    let rawValue: UInt8
    static let length = EndSigns(rawValue: 1)
    static let stuffing = EndSigns(rawValue: 2)
    static let flush = EndSigns(rawValue: 4)
}

/// Learns which signs tell the end of a unit in one stream, by comparing each with what came next. A pure value.
///
/// A sign is trusted after it has been right `run` times in a row. One contradiction ends that. A second probation,
/// much longer, may restore the trust; a second contradiction is final. So a stream that misleads after a long time of
/// good behaviour costs at most two torn pictures for each sign until it is interrupted. Each is reported
/// (``ContainerFault/tornUnit(serial:)``) unless a loss hides it (``recordUnjudged(_:)``).
struct EndOfUnitTrust {
    struct Sign {
        var run: Int
        var right = 0
        var contradictions = 0
        /// How often it must be right after a contradiction.
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

    /// What a PES packet says of its end.
    struct Declared {
        var length = 0
        /// It began with a unit, or with the second field of one.
        var beginsUnit = false
    }

    private(set) var length = Sign(run: 3)
    private(set) var stuffing = Sign(run: 24)
    private(set) var flush = Sign(run: 48)
    /// The largest length of a PES packet that was a whole unit. Muxers that split units over several PES packets do so beyond some
    /// size, so a length far beyond this one says nothing.
    private var largestLength = 0
    private static let mostGrowth = 4
    /// After so many right ones, and without a contradiction, a flushed message needs no silence after it.
    static let flushAlone = 72
    /// Bytes of the largest unit that a flushed message has ended. The sender may flush in the middle of a larger one.
    private var largestFlushed = 0
    /// Packets that continued their unit and were not stuffed: without them "stuffed only at the end" says nothing.
    private(set) var plainPackets = 0
    static let plainPacketsNeeded = 48

    /// The slicing that every picture of the run had: a picture with other slicing may lack some.
    private var slices = 0
    private var lastSlicePlace = 0
    private var slicingRun = 0
    static let slicingRunNeeded = 16

    /// The longest pause inside a unit lately.
    private var longestPause = Nanoseconds.zero
    static let longestQuiet = Nanoseconds.milliseconds(8)

    /// A packet continued the unit.
    /// - Parameters:
    ///   - stuffed: whether the packet before it was.
    ///   - pause: how long after that packet it came.
    mutating func recordContinuation(stuffed: Bool, pause: Nanoseconds) {
        if !stuffed { plainPackets += 1 }
        longestPause = max(longestPause, pause)
    }

    private func isFarBeyond(_ declared: Declared) -> Bool { declared.length > Self.mostGrowth * largestLength }

    /// The packet after one with these signs has come.
    /// - Parameter declared: what the sign ``EndSigns/length`` stands for.
    mutating func judge(_ signs: EndSigns, declared: Declared = Declared(), wasRight: Bool) {
        if signs.contains(.length) { judgeLength(declared, wasRight: wasRight) }
        if signs.contains(.stuffing) { stuffing.judge(wasRight) }
        if signs.contains(.flush) { flush.judge(wasRight) }
    }

    private mutating func judgeLength(_ declared: Declared, wasRight: Bool) {
        if wasRight, declared.beginsUnit { largestLength = max(largestLength, declared.length) }
        if wasRight || !isFarBeyond(declared) { return length.judge(wasRight) }
        // It was not to be believed anyway. Smaller ones are, when they are right again.
        length.right = 0
    }

    /// Bytes were lost behind a unit that was delivered by this evidence, so that nobody will know whether it had
    /// ended. The run of flushed messages begins anew, because one cause may make a sender flush inside a unit and lose
    /// bytes.
    mutating func recordUnjudged(_ evidence: EndEvidence) {
        if evidence == .flush || evidence == .timer { flush.right = 0 }
    }

    /// A unit of so many bytes ended with a flushed message.
    mutating func recordFlushed(size: Int) { largestFlushed = max(largestFlushed, size) }

    /// The next picture followed a whole, undamaged one, whose slicing is therefore an example.
    mutating func recordComplete(_ picture: ScannedPicture) {
        if picture.sliceCount == slices, picture.lastSlicePlace == lastSlicePlace {
            slicingRun += 1
        } else {
            slices = picture.sliceCount
            lastSlicePlace = picture.lastSlicePlace
            slicingRun = 0
        }
        // Forgets an outlier in a few seconds.
        longestPause = Nanoseconds(longestPause.count - longestPause.count / 64)
    }

    private func isSlicedAsUsual(_ picture: ScannedPicture) -> Bool {
        slicingRun < Self.slicingRunNeeded
            || picture.sliceCount == slices && picture.lastSlicePlace == lastSlicePlace
    }

    /// Stuffing has been right so often, and packets without it have continued units so often, that it tells the end.
    var trustsStuffing: Bool { stuffing.isTrusted && plainPackets >= Self.plainPacketsNeeded }

    /// By which evidence a packet with these signs ends its unit; nil when it may not.
    /// - Parameter declared: what the sign ``EndSigns/length`` stands for.
    func accepts(_ signs: EndSigns, declared: Declared, _ picture: ScannedPicture) -> EndEvidence? {
        if signs.contains(.length), length.isTrusted, !isFarBeyond(declared) { return .length }
        // GStreamer's muxer stuffs the middle of one unit in 360. It writes lengths, and omits one only where the unit
        // is too large. Such a unit waits for the next.
        if signs.contains(.stuffing), length.right == 0, trustsStuffing, isSlicedAsUsual(picture) { return .stuffing }
        return nil
    }

    /// Whether a flushed message alone ends a unit of so many bytes.
    func acceptsFlush(_ picture: ScannedPicture, size: Int) -> Bool {
        flush.contradictions == 0 && flush.right >= Self.flushAlone && length.right == 0 && size <= largestFlushed
            && slicingRun >= Self.slicingRunNeeded && isSlicedAsUsual(picture)
    }

    /// How long a silence after a flushed message means the end; nil when it means nothing in this stream.
    func quiet(after picture: ScannedPicture) -> Nanoseconds? {
        guard flush.isTrusted, slicingRun >= Self.slicingRunNeeded, isSlicedAsUsual(picture) else { return nil }
        let quiet = longestPause * 2 + .milliseconds(1)
        return quiet <= Self.longestQuiet ? quiet : nil
    }
}
