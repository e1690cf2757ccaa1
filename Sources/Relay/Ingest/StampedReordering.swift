import Media

/// Finds from a stream's time stamps how many pictures a decoder has to hold back to put them in order. Some senders of H.264 with
/// B-frames do not say it in the headers, but their stamps do: a keyframe is shown as many intervals after its decoding time as
/// pictures are reordered.
///
/// Nothing is held back before a picture comes that is shown after later ones: many senders add a constant to each presentation time.
///
/// A pure value, confined to its owner.
struct StampedReordering {
    /// More than any decoder holds back (H.264, A.3.1).
    private static let most: Int64 = 16

    /// How long after its decoding the first keyframe is shown, in ticks; nil before it.
    private var lead: Int64?
    /// Pictures to hold back.
    private(set) var depth = 0

    /// - Parameters:
    ///   - presentation: a picture's own stamp; nil where it has none.
    ///   - decode: likewise.
    ///   - interval: the time between two pictures by their decoding times, in ticks; nil where that is not known.
    mutating func observe(_ presentation: MediaTime?, decode: MediaTime?, isKeyframe: Bool, interval: Int64?) {
        guard depth == 0, let presentation, let decode else { return }
        let wait = presentation - decode
        guard let lead else {
            if isKeyframe { self.lead = wait }
            return
        }
        guard let interval, interval > 0, lead > interval / 2, wait > lead + interval / 2 else { return }
        let pictures = (lead + interval / 2) / interval
        if pictures <= Self.most { depth = Int(pictures) }
    }
}
