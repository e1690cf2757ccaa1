import Glibc

/// Turns the kernel's stamps of datagrams, which are of the wall clock, into times of the monotonic clock.
///
/// A datagram's age is the wall clock's reading less its stamp. Where somebody sets the wall clock while the datagram waits to be read,
/// that age is wrong. So the distance of the two clocks is watched: where it has jumped since the datagram before, the clock was set.
/// Stamps from before that moment are worth nothing, and the time at which the datagram is read counts instead.
///
/// A pure value. The C code that reads SRT's datagrams (`CSRTArrival`) does the same.
public struct KernelStamps: Sendable, BitwiseCopyable {
    /// The wall clock between two readings of the monotonic clock, all in nanoseconds.
    public struct Clocks: Sendable, BitwiseCopyable {
        var before: Int64
        var wall: Int64
        var after: Int64

        public init(before: MonotonicTime, wall: Int64, after: MonotonicTime) {
            (self.before, self.wall, self.after) = (before.nanoseconds, wall, after.nanoseconds)
        }

        /// Reads both clocks. Costs about 75 ns.
        public static func read() -> Clocks {
            let before = MonotonicTime.now()
            var wall = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &wall)
            return Clocks(
                before: before, wall: Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec), after: .now())
        }
    }

    /// The clocks may drift apart by so much between two readings: 1 ms, and 1 ms more for each second between, at most 10 ms.
    private static let leastJump: Int64 = 1_000_000
    private static let mostDrift: Int64 = 9_000_000

    private var last: Clocks
    /// Stamps before this are from before the wall clock was set; nanoseconds of the wall clock.
    private var validFrom = Int64.min

    /// - Parameter clocks: as they stand before the first datagram.
    public init(_ clocks: Clocks = .read()) { last = clocks }

    /// When a datagram came.
    /// - Parameters:
    ///   - stamp: the kernel's, in nanoseconds of the wall clock.
    ///   - clocks: read behind the datagram.
    /// - Returns: a time that is never later than the reading.
    public mutating func arrival(stamp: Int64, _ clocks: Clocks) -> MonotonicTime {
        let allowed = Self.leastJump + min(max(0, clocks.before - last.after) / 1_000, Self.mostDrift)
        // The distance of the clocks lies between these, whatever delayed this thread between two readings.
        let (least, most) = (clocks.wall - clocks.after, clocks.wall - clocks.before)
        if least > last.wall - last.before + allowed || most < last.wall - last.after - allowed { validFrom = clocks.wall }
        last = clocks
        let age = clocks.wall - stamp
        return MonotonicTime(nanoseconds: stamp >= validFrom && age > 0 ? clocks.before - age : clocks.before)
    }
}
