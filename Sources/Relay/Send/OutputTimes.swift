import Media
import Schedule
import Telemetry

/// The times of what goes out: the source time and the decode time of each picture, and how far the pictures have come.
///
/// Confined to the send stage's lock.
struct OutputTimes {
    private var clock = CadenceClock()
    private var decodeTimes = DecodeTimes()
    /// The source clock of the newest picture.
    private var sourceClock: UInt32 = 0
    /// The presentation time of the newest picture that was sent, and its source time.
    private(set) var newest = MediaTime(ticks: .min)
    private(set) var newestStamp: MonotonicTime?
    /// When it had left.
    var newestSent = MonotonicTime(nanoseconds: 0)

    /// Settles the decode time of a unit that was delivered.
    mutating func settle(_ unit: inout CodedUnit) { decodeTimes.settle(&unit) }

    /// The source time to send with a picture.
    mutating func stamp(_ record: FrameRecord, _ source: SourceTime, now: MonotonicTime) -> MonotonicTime {
        if record.kind != .repeated, record.sourceClock != sourceClock {
            sourceClock = record.sourceClock
            clock.restart()
        }
        return switch source {
        case .turn(let time): clock.stamp(source: time, now: now, isLateUnit: record.isLateUnit)
        case .repeated(let time): clock.stamp(repeated: time)
        case .overdue(let time): clock.stamp(repeated: time - (clock.delay ?? .zero))
        }
    }

    /// The source time to send with what is no picture, so that it lies behind that of the newest one.
    func stamp(passing source: MonotonicTime) -> MonotonicTime { clock.stamp(passing: source, after: newestStamp) }

    /// A picture goes out.
    mutating func pictureGoes(_ unit: CodedUnit, _ stamp: MonotonicTime) {
        // The source's own units come in decoding order.
        newest = unit.fate == .bypassed ? max(newest, unit.presentation) : unit.presentation
        newestStamp = stamp
    }

    /// There is no picture for a time: nothing waits for it.
    mutating func skip(to time: MediaTime) { newest = max(newest, time) }
}
