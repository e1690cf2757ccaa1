import Media
import Telemetry

/// Gives every picture of the input a presentation time.
///
/// A picture has its own stamp, unless several lie in one PES packet: only the first of them has one (ISO/IEC 13818-1,
/// 2.4.3.7). The others follow it at the stream's interval.
///
/// A pure value, confined to its owner.
struct PictureStamps {
    struct Stamp: Equatable {
        var presentation: MediaTime
        /// Set when the picture has no stamp and the stream reorders its pictures: it is shown so many ticks after the picture
        /// that is shown before it, whichever that is.
        var step: Int64?
    }

    /// Longer times between two pictures are not learnt, in ticks.
    private static let longest = MediaTime.ticksPerSecond

    /// The newest of all pictures so far; nil before the first.
    private(set) var newest: MediaTime?
    /// When the newest picture with stamps was to be decoded, and how many have come since, itself included.
    private var lastDecode: MediaTime?
    private var count: Int64 = 0
    /// The time between two pictures by the last stamps, in ticks.
    private(set) var interval: Int64?
    private var reorders = false

    /// - Parameters:
    ///   - presentation: the picture's own stamp, as the demuxer gives it.
    ///   - decode: likewise; nil where it has none.
    ///   - isAfterGap: pictures may be missing before it.
    ///   - rate: pictures a second, as the stream's headers have it.
    mutating func stamp(
        _ presentation: MediaTime?, decode: MediaTime?, isAfterGap: Bool, rate: Rational?
    ) -> Stamp {
        if isAfterGap { lastDecode = nil }
        defer { count += 1 }
        guard let presentation else {
            let declared = rate.map { max(1, MediaTime.ticksPerSecond * $0.denominator / max(1, $0.numerator)) }
            let step = interval ?? declared ?? MediaTime.ticksPerSecond / 30
            let place = newest.map { $0 + step } ?? MediaTime(ticks: 0)
            newest = place
            return Stamp(presentation: place, step: reorders ? step : nil)
        }
        let decode = decode ?? presentation
        if let lastDecode, decode - lastDecode > 0, decode - lastDecode <= Self.longest * count {
            interval = max(1, (decode - lastDecode) / count)
        }
        reorders = reorders || decode != presentation
        lastDecode = decode
        count = 0
        // A clock that goes back is a new clock.
        newest = newest.map { presentation < $0 && $0 - presentation < Self.longest ? $0 : presentation } ?? presentation
        return Stamp(presentation: presentation, step: nil)
    }
}

/// Settles the presentation times of pictures that arrived without a stamp and in another order than they are shown in.
struct ShownTimes {
    private var last: (time: MediaTime, epoch: UInt32)?

    /// Call for each picture, in the order in which they are shown.
    mutating func settle(_ record: inout FrameRecord) {
        if let step = record.untimedStep, let last, last.epoch == record.epoch {
            record.presentation = last.time + step
        }
        last = (record.presentation, record.epoch)
    }
}
