import Media

/// When the frames of a live source are due: frame `n` at `n / rate` seconds since 1970. Every source of one rate, also
/// one that is started again, has its frames on the same grid and numbers them alike; the schedule is absolute, so no
/// lateness adds up.
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

/// Ties the wall clock to the monotonic one at one instant, so that a schedule in wall time can be slept on without the
/// steps of the wall clock.
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
