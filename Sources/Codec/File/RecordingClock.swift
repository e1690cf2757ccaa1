/// Makes one time line of a recording whose stamps go back: several recordings in one file, or a sender that restarted.
/// What follows a jump is placed behind what came before it. The file's streams keep their offsets to each other,
/// though each crosses the jump at a packet of its own. Stamps that have wrapped continue exactly. The time line begins at zero
/// where the recording begins later.
///
/// A pure value. All times are in microseconds.
struct RecordingClock {
    private struct Stream {
        /// Added to its stamps.
        var offset: Int64
        var epoch: Int
        /// With the offset added.
        var newestDecode: Int64?
        /// Whether packets have said when they are decoded, and how many came before that did not.
        var hasDecode = false
        var withoutDecode = 0
    }

    /// Stamps that go back by less are a fault of the multiplex, and no other clock.
    static let tolerance: Int64 = 500_000
    /// Streams cross a jump within so much of each other.
    private static let crossing: Int64 = 10_000_000
    /// So many of the first packets of a file may say only when they are presented, and that not in order: libavformat does not know
    /// yet how pictures are reordered. Formats have at most so many.
    private static let reordered = 16

    private var streams: [Int: Stream] = [:]
    /// Of the newest epoch, and of the one before.
    private var offset: Int64 = 0
    private var earlierOffset: Int64?
    private var epoch = 0
    /// - Parameter start: the recording's first stamp.
    init(start: Int64 = 0) { offset = -max(0, start) }

    /// How often the stamps have gone back, other than by wrapping.
    private(set) var jumps = 0
    /// Where the latest packet of any stream ends.
    private var end: Int64?

    /// What is to be added to a packet's stamps.
    /// - Parameters:
    ///   - decode: its decoding time; nil where it has none.
    ///   - presentation: nil where it has none.
    ///   - period: after which the stream's stamps wrap; nil where they do not.
    mutating func offset(
        stream id: Int, decode: Int64?, presentation: Int64?, duration: Int64, period: Int64? = nil
    ) -> Int64 {
        var stream = streams[id] ?? Stream(offset: offset, epoch: epoch)
        defer { streams[id] = stream }
        guard let time = decode ?? presentation else { return stream.offset }
        if decode == nil {
            stream.withoutDecode += 1
            if stream.hasDecode || stream.withoutDecode <= Self.reordered { return stream.offset }
        }
        stream.hasDecode = decode != nil
        if let newest = stream.newestDecode, time + stream.offset < newest - Self.tolerance {
            // Another stream may have crossed the same jump before.
            let follows = (-Self.tolerance...Self.crossing).contains(time + offset - newest)
            if stream.epoch == epoch || !follows {
                epoch += 1
                earlierOffset = offset
                let wrapped = period.map { stream.offset + $0 }
                if let wrapped, abs(time + wrapped - newest) < Self.crossing {
                    offset = wrapped
                } else {
                    offset = (end ?? newest) - time
                    jumps += 1
                }
            }
            stream.offset = offset
            stream.epoch = epoch
        }
        stream.newestDecode = max(stream.newestDecode ?? .min, time + stream.offset)
        if stream.epoch == epoch {
            end = max(end ?? .min, max(time, presentation ?? time) + stream.offset + max(duration, 1))
        }
        return stream.offset
    }

    /// What is to be added to the stamps of a packet of a stream with gaps, such as subtitles. It says nothing of jumps: around one
    /// it belongs where it comes nearer to what was read last.
    /// - Parameter time: of the packet; nil where it has none.
    func offset(ofSparse time: Int64?) -> Int64 {
        guard let time, let end, let earlierOffset else { return offset }
        return abs(time + earlierOffset - end) < abs(time + offset - end) ? earlierOffset : offset
    }
}
