import Media

/// When pictures are to be decoded that come in another order than they are shown in, where their packets only say when they are
/// shown (RTP).
///
/// Suppose that a decoder holds `depth` pictures back. Then the picture that is the n-th to come is decoded when the n-th to be shown
/// is, less `depth` intervals. Encoders derive decoding times in this way. The stream's headers say how deep it reorders. Where they do
/// not, or say too little, stamps that go back show it.
///
/// A pure value; allocates nothing.
struct DecodingOrder {
    /// H.264 reorders 16 pictures at most.
    private static let most = 16
    /// Stamps that lie further from the newest one have jumped (1 s).
    private static let jump = MediaTime.ticksPerSecond
    /// Of a stream whose rate is not known, and the longest that is believed, in ticks.
    private static let usualInterval = MediaTime.ticksPerSecond / 30
    private static let longestInterval = MediaTime.ticksPerSecond / 5

    /// The latest stamps so far, the latest first.
    private var latest = InlineArray<17, Int64>(repeating: 0)
    private var count = 0
    private var depth = 0

    /// Another stream begins, or the same one anew.
    /// - Parameter reordering: how many pictures a decoder holds back, as the headers say; nil where they do not.
    mutating func restart(reordering: Int? = nil) {
        count = 0
        depth = min(max(0, reordering ?? 0), Self.most)
    }

    /// When the next picture is to be decoded. Call for each picture, as they come.
    /// - Parameters:
    ///   - presentation: when it is shown.
    ///   - rate: pictures a second, as the headers have it; nil where they do not.
    mutating func decode(_ presentation: MediaTime, rate: Rational?) -> MediaTime {
        let ticks = presentation.ticks
        if count > 0, abs(ticks - latest[0]) > Self.jump { count = 0 }
        var place = 0
        while place < count, latest[place] > ticks { place += 1 }
        if place <= Self.most { insert(ticks, at: place) }
        depth = max(depth, min(place, Self.most))
        guard depth > 0 else { return presentation }
        let missing = depth + 1 - count
        let time = missing > 0 ? latest[count - 1] - Int64(missing) * interval(rate) : latest[depth]
        return MediaTime(ticks: min(ticks, time))
    }

    private mutating func insert(_ ticks: Int64, at place: Int) {
        count = min(count + 1, Self.most + 1)
        var index = count - 1
        while index > place {
            latest[index] = latest[index - 1]
            index -= 1
        }
        latest[place] = ticks
    }

    private func interval(_ rate: Rational?) -> Int64 {
        guard let rate, rate.numerator > 0 else { return Self.usualInterval }
        return min(MediaTime.ticksPerSecond * rate.denominator / rate.numerator, Self.longestInterval)
    }

    // MARK: Where packets say it

    /// How long before its turn a reordered picture arrives: pictures that arrive after it are shown first. All its times count
    /// from its turn, so that reordering makes no picture late.
    static func wait(presentation: MediaTime, decode: MediaTime?) -> Nanoseconds {
        MediaTime(ticks: presentation - Self.decode(decode, presentation: presentation, mapped: presentation)).nanoseconds
    }

    /// When a picture is to be decoded, on the output's time line: at most a second before it is shown, whatever its stamps say.
    /// Later decode times follow from this one.
    static func decode(_ decode: MediaTime?, presentation: MediaTime, mapped: MediaTime) -> MediaTime {
        guard let decode else { return mapped }
        return mapped + -min(max(0, presentation - decode), MediaTime.ticksPerSecond)
    }

    /// How many ticks before it is shown a unit of another video is to be decoded.
    static func reordering(presentation: MediaTime?, decode: MediaTime?) -> Int64 {
        guard let presentation, let decode else { return 0 }
        return max(0, presentation - decode)
    }
}
