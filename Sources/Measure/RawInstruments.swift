import Media

/// The test source without encoder or network: raw pictures at their time.
public enum RawTestSource {
    /// Writes pictures until `frames` are written, the reader goes, or `stopped` says so.
    /// - Returns: how many were written.
    public static func run(
        descriptor: Int32, size: PictureSize, rate: Rational, frames: Int64, format: RawFormat,
        stopped: () -> Bool
    ) throws(RawVideoError) -> Int64 {
        let grid = FrameGrid(rate: rate)
        let pattern = TestPattern(size: size, framesPerSecond: rate.value)
        let picture = RawVideo(descriptor: descriptor, size: size, format: format)
        let clocks = ClockPair.now()
        let first = grid.firstFrame(from: clocks.wall)
        for index in 0..<frames {
            let captured = grid.captureTime(of: first + index)
            clocks.monotonic(captured).sleep()
            if stopped() { return index }
            let code = TimeCode(captured: captured, number: UInt16(truncatingIfNeeded: first + index))
            unsafe pattern.paint(picture.view, code: code, index: Int(index))
            guard try picture.write(stopped: stopped) else { return index }
        }
        return frames
    }
}

/// The probe behind another program's receiver and decoder: raw pictures, stamped when their last byte was read.
public enum RawProbe {
    /// Reads pictures until the stream ends, `limit` has passed since the first one, or `stopped` says so.
    /// - Parameter each: called with every picture, for a listing.
    public static func run(
        descriptor: Int32, size: PictureSize, format: RawFormat, statistics: inout ProbeStatistics,
        limit: Nanoseconds?, stopped: () -> Bool, each: (ProbedPicture) -> Void
    ) throws(RawVideoError) {
        var picture = RawVideo(descriptor: descriptor, size: size, format: format)
        var first: MonotonicTime?
        while try picture.read(stopped: stopped) {
            let now = MonotonicTime.now()
            let seen = unsafe ProbedPicture(luma: picture.view.y.readOnly, arrived: .now())
            statistics.recordPicture(seen.reading, size: size, arrived: seen.arrived)
            each(seen)
            if stopped() { return }
            if let limit, now - (first ?? now) >= limit { return }
            first = first ?? now
        }
    }
}
