import Glibc

/// A length of time in whole nanoseconds. It may be negative: lateness is negative slack.
public struct Nanoseconds: Hashable, Comparable, Sendable, BitwiseCopyable, AdditiveArithmetic {
    public var count: Int64

    @inlinable public init(_ count: Int64) { self.count = count }

    @inlinable public static var zero: Nanoseconds { Nanoseconds(0) }
    @inlinable public static func microseconds(_ n: Int64) -> Nanoseconds { Nanoseconds(n * 1_000) }
    @inlinable public static func milliseconds(_ n: Double) -> Nanoseconds { Nanoseconds(Int64((n * 1e6).rounded())) }
    @inlinable public static func seconds(_ n: Double) -> Nanoseconds { Nanoseconds(Int64((n * 1e9).rounded())) }

    @inlinable public var milliseconds: Double { Double(count) / 1e6 }
    @inlinable public var seconds: Double { Double(count) / 1e9 }

    @inlinable public static func + (a: Self, b: Self) -> Self { Self(a.count + b.count) }
    @inlinable public static func - (a: Self, b: Self) -> Self { Self(a.count - b.count) }
    @inlinable public static prefix func - (a: Self) -> Self { Self(-a.count) }
    @inlinable public static func * (a: Self, n: Int64) -> Self { Self(a.count * n) }
    @inlinable public static func / (a: Self, n: Int64) -> Self { Self(a.count / n) }
    @inlinable public static func < (a: Self, b: Self) -> Bool { a.count < b.count }
}

extension Nanoseconds: CustomStringConvertible {
    public var description: String { "\(milliseconds) ms" }
}

/// A point on this machine's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds since an arbitrary start.
///
/// Only ``now()`` reads the clock, and `Schedule` never calls it. Code that computes with a time does not know whether it
/// comes from the clock or from a test.
public struct MonotonicTime: Hashable, Comparable, Sendable, BitwiseCopyable {
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Reads the clock. Costs about 25 ns (vDSO, no system call).
    public static func now() -> MonotonicTime {
        var t = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &t)
        return MonotonicTime(nanoseconds: Int64(t.tv_sec) * 1_000_000_000 + Int64(t.tv_nsec))
    }

    /// Blocks the calling thread until the clock has reached this point; returns at once if it is past.
    public func sleep() {
        var t = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &t, nil) == EINTR {}
    }

    @inlinable public static func + (a: Self, b: Nanoseconds) -> Self { Self(nanoseconds: a.nanoseconds + b.count) }
    @inlinable public static func - (a: Self, b: Nanoseconds) -> Self { Self(nanoseconds: a.nanoseconds - b.count) }
    @inlinable public static func - (a: Self, b: Self) -> Nanoseconds { Nanoseconds(a.nanoseconds - b.nanoseconds) }
    @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
}
