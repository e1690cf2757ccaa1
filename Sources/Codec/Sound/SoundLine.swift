import Media

/// Where decoded samples of 48 kHz lie in time: they follow each other from a time stamp on, until stamps say that some are
/// missing. A pure value.
///
/// Stamps that differ a little (a sender's coarse clock) change nothing. Where they run away slowly, because the sender's clock
/// of samples is not that of its stamps, it says how many samples to add or to leave out.
struct SoundLine {
    static let rate = 48_000
    /// Less than half of the shortest frame that a format of sound has: a lost one is a gap.
    static let tolerance = 480
    /// Stamps that lie off so far for many frames are followed.
    static let correctedOffset = 96.0
    /// So many samples share a correction, which is then less than 1 in 100.
    static let correctionLength = rate

    enum Place: Equatable {
        /// The samples follow those before. So many are to be added, or left out, in the next ``correctionLength``.
        case follows(correction: Int)
        /// So many samples are missing before them.
        case gap(Int)
        /// The first samples, or those behind a gap that is no gap of samples: the line begins with them.
        case begins
        /// Their time has been filled already.
        case overlaps
        /// Nobody knows when they are to be heard.
        case untimed
    }

    /// Where it begins; nil before the first samples.
    private(set) var origin: MediaTime?
    /// How many have followed from there.
    private(set) var count: Int64 = 0
    /// The mean distance of the stamps from what follows.
    private var offset = 0.0
    private var correctedUntil: Int64 = 0

    /// The time of a sample that follows from the origin.
    func time(of sample: Int64) -> MediaTime { origin! + sample * 15 / 8 }

    mutating func begin(at time: MediaTime) { self = SoundLine(origin: time) }
    mutating func end() { self = SoundLine() }
    mutating func add(_ samples: Int) { count += Int64(samples) }
    /// All of its times were wrong by so many ticks.
    mutating func move(by ticks: Int64) { origin = origin.map { $0 + ticks } }

    init() {}
    private init(origin: MediaTime) { self.origin = origin }

    /// Says where samples lie.
    /// - Parameter held: so many samples have not come out of the resampler yet and are not in ``count``.
    mutating func place(_ time: MediaTime?, held: Int) -> Place {
        guard let time else { return origin == nil ? .untimed : .follows(correction: 0) }
        guard let origin else { return .begins }
        let distance = (time - origin) * 8 / 15 - count - Int64(held)
        if distance > Self.tolerance { return .gap(Int(clamping: distance)) }
        if distance < -Self.tolerance { return .overlaps }
        guard count >= correctedUntil else { return .follows(correction: 0) }
        offset += (Double(distance) - offset) / 32
        guard abs(offset) > Self.correctedOffset else { return .follows(correction: 0) }
        defer { offset = 0 }
        correctedUntil = count + Int64(Self.correctionLength)
        return .follows(correction: Int(offset.rounded()))
    }
}
