import Media
import Telemetry

/// Gives every picture of the input a presentation time: its own, or where several lie in one PES packet, of which only
/// the first has a stamp (ISO/IEC 13818-1, 2.4.3.7), the time at which it follows those before it.
///
/// A pure value; its owner is the only one who touches it.
struct PictureStamps {
    struct Stamp: Equatable {
        var presentation: MediaTime
        /// Set where the place among the pictures shown before is not known, since the stream reorders its pictures: it
        /// is shown so many ticks after the one before it.
        var step: Int64?
    }

    /// The longest time between two pictures that is learnt.
    private static let longest = MediaTime.ticksPerSecond

    /// The newest of all pictures so far; nil before the first.
    private(set) var newest: MediaTime?
    /// When the newest picture with stamps was to be decoded, and how many have come since, itself included.
    private var lastDecode: MediaTime?
    private var count: Int64 = 0
    /// The time between two pictures, as the last stamps had it.
    private var interval: Int64?
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
            let told = rate.map { max(1, MediaTime.ticksPerSecond * $0.denominator / max(1, $0.numerator)) }
            let step = interval ?? told ?? MediaTime.ticksPerSecond / 30
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
        // A clock that has gone back is a new one.
        newest = newest.map { presentation < $0 && $0 - presentation < Self.longest ? $0 : presentation } ?? presentation
        return Stamp(presentation: presentation, step: nil)
    }
}

/// Settles the times of pictures that came without one and in another order than they are shown in.
struct ShownTimes {
    private var last: (time: MediaTime, epoch: UInt32)?

    /// Pictures come in the order in which they are shown.
    mutating func settle(_ record: inout FrameRecord) {
        if let step = record.untimedStep, let last, last.epoch == record.epoch {
            record.presentation = last.time + step
        }
        last = (record.presentation, record.epoch)
    }
}
