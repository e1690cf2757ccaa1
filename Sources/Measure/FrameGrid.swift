import Media

/// When the frames of a live source are due: frame `n` at `n / rate` seconds since 1970. All sources of one rate have
/// their frames on the same grid and number them alike, and so has a source that is started again. The schedule is
/// absolute, so lateness does not add up.
public struct FrameGrid: Sendable, BitwiseCopyable {
    public let rate: Rational

    public init(rate: Rational) {
        precondition(rate.numerator > 0, "a frame rate is positive")
        self.rate = rate
    }

    /// Capture time of a frame, rounded down to a microsecond.
    public func captureTime(of frame: Int64) -> WallTime {
        let (product, divisor) = (1_000_000 * rate.denominator, rate.numerator)
        // frame * product / divisor, split so that frame numbers since 1970 do not overflow.
        let (q, r) = frame.quotientAndRemainder(dividingBy: divisor)
        return WallTime(microseconds: q * product + r * product / divisor)
    }

    /// The first frame captured at or after `time`.
    public func firstFrame(from time: WallTime) -> Int64 {
        var frame = Int64(Double(time.microseconds) / 1e6 * rate.value) - 2
        while captureTime(of: frame) < time { frame += 1 }
        return frame
    }
}

/// The wall clock and the monotonic clock at one instant. A thread can sleep by a schedule in wall time, and steps of the
/// wall clock do not disturb it.
public struct ClockPair: Sendable, BitwiseCopyable {
    public let wall: WallTime
    public let monotonic: MonotonicTime

    public init(wall: WallTime, monotonic: MonotonicTime) {
        self.wall = wall
        self.monotonic = monotonic
    }

    public static func now() -> ClockPair { ClockPair(wall: .now(), monotonic: .now()) }

    public func monotonic(_ time: WallTime) -> MonotonicTime { monotonic + .microseconds(time - wall) }
    public func wall(_ time: MonotonicTime) -> WallTime { wall + (time - monotonic).count / 1000 }
}
