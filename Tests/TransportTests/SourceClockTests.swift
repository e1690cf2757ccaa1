import Media
import Testing
@testable import Packets

/// The sender's clock fit in virtual time.
struct SourceClockTests {
    /// A sender and a network, simulated: messages every 5 ms by the sender's clock.
    final class Path {
        var counts = WrappingCount(perSecond: 1_000_000)
        var clock = SourceClock()
        var random = SplitMix64(seed: 5)
        /// Sender time in µs, not wrapped.
        var source: Int64
        /// The sender's clock runs slow by this much: our microseconds per one of its.
        var skew = 0.0
        var began: Int64
        var delay: Int64 = 30_000  // µs
        var jitter: Double = 4_000  // µs

        init(startingAt source: Int64) {
            self.source = source
            began = source
        }

        /// When the next message is sent, on our clock, µs.
        var sent: Int64 { 1_000_000_000 + Int64(Double(source - began) * (1 + skew)) }

        /// Sends one message with some more delay.
        /// - Returns: the error of the mapped time against "sent plus the least delay", in µs.
        func step(extra: Int64 = 0) -> (error: Int64, restarted: Bool) {
            source += 5_000
            let arrival = MonotonicTime(
                nanoseconds: (sent + delay + Int64(random.unit() * jitter) + extra) * 1_000)
            let count = counts.unwrap(UInt32(truncatingIfNeeded: source), arrival: arrival)
            let (time, restarted) = clock.map(source: count, arrival: arrival)
            return (time.nanoseconds / 1_000 - (sent + delay), restarted)
        }
    }

    private static let wrap: Int64 = 1 << 32

    @Test func theWrapGoesUnnoticed() {
        // 71.6 minutes of microseconds, less two seconds.
        let path = Path(startingAt: Self.wrap - 2_000_000)
        for _ in 0..<4000 {
            let (error, restarted) = path.step()
            #expect(!restarted)
            #expect((-500...4_000).contains(error))
        }
        #expect(path.source > Self.wrap)
    }

    @Test(arguments: [-1000e-6, -200e-6, 0, 50e-6, 1000e-6]) func driftIsFollowed(skew: Double) {
        let path = Path(startingAt: 17)
        path.skew = skew
        for i in 0..<60_000 {  // five minutes
            let error = path.step().error
            // Half a minute to learn the slope, then within the jitter's lower part.
            if i > 6_000 { #expect((-1_500...2_500).contains(error), "message \(i)") }
        }
        #expect(abs(path.clock.slope - skew) < 60e-6)
    }

    @Test func retransmissionsAndOutagesDoNotMoveIt() {
        let path = Path(startingAt: 17)
        for _ in 0..<4_000 { _ = path.step() }
        for i in 0..<8_000 {
            // Every tenth message is a repeat; once a backlog of two seconds comes at once.
            let backlog = (2_000..<2_400).contains(i) ? Int64(2_400 - i) * 5_000 : 0
            let (error, restarted) = path.step(extra: (i % 10 == 0 ? 60_000 : 0) + backlog)
            #expect(!restarted)
            #expect((-1_500...4_000).contains(error), "message \(i)")
        }
    }

    @Test func aRestartedSenderIsNoticed() {
        let path = Path(startingAt: 500_000_000)
        for _ in 0..<2_000 { _ = path.step() }
        // The count goes back to nothing, the network stays as it is.
        path.began -= path.source
        path.source = 0
        var restarts = 0
        var last: Int64 = .max
        for _ in 0..<4_000 {
            let (error, restarted) = path.step()
            if restarted { restarts += 1 }
            last = error
        }
        #expect(restarts == 1)
        #expect((-500...4_000).contains(last))
    }

    @Test func aLeapForwardIsNoticedAtOnce() {
        let path = Path(startingAt: 17)
        for _ in 0..<2_000 { _ = path.step() }
        path.began += 60_000_000
        path.source += 60_000_000
        #expect(path.step().restarted)
        #expect(!path.step().restarted)
    }

    @Test func silenceLongerThanHalfTheCircleIsNoRestart() {
        let path = Path(startingAt: 17)
        for _ in 0..<2_000 { _ = path.step() }
        path.source += 50 * 60 * 1_000_000
        #expect(!path.step().restarted)
        path.source += 100 * 60 * 1_000_000
        let (error, restarted) = path.step()
        #expect(!restarted)
        #expect((-1_500...4_000).contains(error))
    }

    @Test func mappedTimesOfOneBurstKeepTheirDistance() {
        var clock = SourceClock()
        // Sent 40 ms apart, delivered together.
        let arrival = MonotonicTime(nanoseconds: 5_000_000_000)
        let times = (0..<5).map { clock.map(source: Int64(1_000 + $0 * 40_000), arrival: arrival).time }
        #expect(times.last! <= arrival)
        #expect(times[0] == arrival)
    }

    /// A count turns out to run fast, and is recounted as though that had always been known: no time moves.
    @Test(arguments: [0.9986, 0.9995, 1.0005, 1.0014]) func anotherPaceMovesNoTime(ratio: Double) {
        var clock = SourceClock()
        // The count's microseconds are `ratio` of ours until they are recounted as ours. Then no skew is left.
        func arrival(_ i: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000 + Int64(i) * 5_000_000) }
        var before = MonotonicTime(nanoseconds: 0)
        var source: Int64 = 0
        for i in 0..<6_000 {
            source = Int64(Double(i) * 5_000 / ratio)
            before = clock.map(source: source, arrival: arrival(i)).time
        }
        clock.stretch(by: ratio, about: source)
        for i in 6_000..<12_000 {
            let count = source + Int64(i - 5_999) * 5_000
            let (time, restarted) = clock.map(source: count, arrival: arrival(i))
            #expect(!restarted && abs((time - before).count - 5_000_000) < 200_000, "message \(i)")
            before = time
        }
        #expect(abs(clock.slope) < 20e-6)
    }
}
