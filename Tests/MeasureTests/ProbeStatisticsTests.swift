import Measure
import Media
import Testing

private let start = WallTime(microseconds: 1_795_263_000_000_000)
private let size = PictureSize(width: 1280, height: 720)

/// A receiver of a 25 frames/s source whose frames come 50 ms after their capture, unless a test says otherwise.
private struct Receiver {
    var statistics: ProbeStatistics

    init(warmUp: Int64 = 0) { statistics = ProbeStatistics(warmUp: warmUp) }

    static func captured(_ number: Int) -> WallTime { start + Int64(number) * 40_000 }

    mutating func frame(_ number: Int, latency: Int64 = 50_000, timestamp: MediaTime? = nil) {
        let code = TimeCode(captured: Self.captured(number), number: UInt16(truncatingIfNeeded: number))
        statistics.recordPicture(
            .code(code), size: size, arrived: Self.captured(number) + latency, timestamp: timestamp)
    }

    mutating func other(_ reading: TimeCodeReading, after number: Int, by microseconds: Int64) {
        statistics.recordPicture(reading, size: size, arrived: Self.captured(number) + microseconds)
    }
}

@Suite struct ProbeStatisticsTests {
    @Test func nothingReceivedIsAllZero() {
        let report = ProbeStatistics().report()
        #expect(report.received == 0 && report.unique == 0 && report.lost == 0 && report.freezes == 0)
        #expect(report.latency.count == 0 && report.audioOffset == nil)
    }

    @Test func aPerfectStream() {
        var receiver = Receiver()
        for number in 0..<100 { receiver.frame(number, timestamp: MediaTime(ticks: Int64(number) * 3600)) }
        let report = receiver.statistics.report()
        #expect(report.received == 100 && report.unique == 100 && report.lost == 0 && report.repeated == 0)
        #expect(report.latency.p50 == 50 && report.latency.greatest == 50 && report.latency.count == 100)
        #expect(report.arrivalGaps.p50 == 40 && report.timestampSteps.p99 == 40 && report.sourceInterval == 40)
        #expect(report.freezes == 0 && report.framesPerSecond == 25 && report.latencyGrowth == 0)
        #expect(report.width == 1280 && report.height == 720)
    }

    @Test func lostRepeatedAndOutOfOrderAreToldApart() {
        var receiver = Receiver()
        for number in [10, 11, 14] { receiver.frame(number) }
        receiver.frame(13, latency: 100_000)
        receiver.frame(14, latency: 70_000)
        receiver.frame(15)
        receiver.frame(9, latency: 300_000)
        receiver.frame(18)
        let report = receiver.statistics.report()
        #expect(report.unique == 6)
        #expect(report.lost == 3)  // 12, 16, 17
        #expect(report.repeated == 1)
        #expect(report.outOfOrder == 2)  // 13, and 9 from before the first
        #expect(report.received == 8)
    }

    @Test func repetitionsDoNotCountAsLatency() {
        var receiver = Receiver()
        for number in 0..<10 {
            receiver.frame(number)
            receiver.frame(number, latency: 70_000)
        }
        let report = receiver.statistics.report()
        #expect(report.latency.count == 10 && report.latency.greatest == 50 && report.repeated == 10)
    }

    @Test func numbersUnwrapPastTheSixteenthBit() {
        var receiver = Receiver()
        for number in stride(from: 65_000, to: 70_000, by: 2) { receiver.frame(number) }
        let report = receiver.statistics.report()
        #expect(report.unique == 2500 && report.lost == 2499 && report.outOfOrder == 0)
    }

    @Test func picturesWithoutAnIntactCodeAreCountedByKind() {
        var receiver = Receiver()
        for number in 0..<10 {
            receiver.frame(number)
            receiver.other(.blended, after: number, by: 70_000)
        }
        receiver.other(.damaged, after: 10, by: 50_000)
        receiver.other(.absent, after: 11, by: 50_000)
        let report = receiver.statistics.report()
        #expect(report.synthesised == 10 && report.damaged == 1 && report.withoutCode == 1)
        #expect(report.received == 22 && report.unique == 10 && report.lost == 0)
    }

    @Test func aFreezeIsMoreThanTwoSourceIntervalsWithoutANewPicture() {
        var receiver = Receiver()
        for number in 0..<10 { receiver.frame(number) }
        receiver.frame(10, latency: 50_000 + 40_000)  // 80 ms after frame 9: just not a freeze
        receiver.frame(11)
        receiver.frame(14)  // 120 ms after frame 11
        receiver.frame(14, latency: 130_000)  // the same picture again does not end a freeze
        receiver.frame(19)  // 200 ms after frame 14
        let report = receiver.statistics.report()
        #expect(report.freezes == 2)
        #expect(report.frozen == 80 + 160)
        // A stream that stops has frozen, too.
        #expect(receiver.statistics.report(until: Receiver.captured(19) + 1_050_000).freezes == 3)
    }

    @Test func growingLatencyShows() {
        var receiver = Receiver()
        for number in 0..<100 { receiver.frame(number, latency: 50_000 + Int64(number) * 1000) }
        #expect(receiver.statistics.report().latencyGrowth == 75)
    }

    @Test func theWarmUpIsNotCounted() {
        var receiver = Receiver(warmUp: 1_000_000)
        for number in 0..<25 where number != 7 { receiver.frame(number, latency: 500_000 - Int64(number) * 10_000) }
        // The first came at 500 ms; what comes from 1500 ms on counts.
        for number in 36..<75 { receiver.frame(number) }
        let report = receiver.statistics.report()
        #expect(report.unique == 38 && report.lost == 0 && report.latency.greatest == 50)
        #expect(report.seconds == 37 * 0.04)
    }

    @Test func audioIsMeasuredAgainstTheTimeCodes() throws {
        var receiver = Receiver()
        // Presentation time 900000 is the capture of frame 0; audio is presented 12 ms late.
        for number in 0..<100 {
            let ticks = 900_000 + Int64(number) * 3600
            receiver.frame(number, timestamp: MediaTime(ticks: ticks))
            receiver.statistics.recordAudio(
                MediaTime(ticks: ticks + 900 + 12 * 90), captured: Receiver.captured(number) + 10_000)
        }
        let offset = try #require(receiver.statistics.report().audioOffset)
        #expect(offset.count == 100 && offset.least == 12 && offset.greatest == 12)
    }
}

@Suite struct DistributionTests {
    @Test func percentilesAreByNearestRank() {
        let d = Distribution((1...100).map { Int64($0) }.shuffled())
        #expect(d.least == 1 && d.p50 == 50 && d.p95 == 95 && d.p99 == 99 && d.greatest == 100 && d.count == 100)
        let one = Distribution([7], scale: 0.5)
        #expect(one.least == 3.5 && one.p50 == 3.5 && one.greatest == 3.5)
        #expect(Distribution([Int64]()).count == 0)
    }
}

@Suite struct FrameGridTests {
    @Test(arguments: [Rational(30), Rational(30000, 1001), Rational(24000, 1001), Rational(60), Rational(15), Rational(1, 2)])
    func frameTimesNeverDrift(rate: Rational) {
        let grid = FrameGrid(rate: rate)
        let first = grid.firstFrame(from: start)
        #expect(grid.captureTime(of: first) >= start)
        #expect(grid.captureTime(of: first - 1) < start)
        // An hour later the grid is where exact arithmetic puts it.
        let later = first + Int64((rate.value * 3600).rounded())
        let expected = Double(later) / rate.value * 1e6
        #expect(abs(Double(grid.captureTime(of: later).microseconds) - expected) < 2)
    }

    @Test func anotherSourceOfTheSameRateHasTheSameNumbers() {
        let grid = FrameGrid(rate: Rational(30))
        let first = grid.firstFrame(from: start)
        #expect(grid.firstFrame(from: grid.captureTime(of: first + 300)) == first + 300)
    }

    @Test func theClockPairTranslatesBothWays() {
        let pair = ClockPair(wall: start, monotonic: MonotonicTime(nanoseconds: 5_000_000_000))
        let time = start + 123_456
        #expect(pair.monotonic(time) == MonotonicTime(nanoseconds: 5_123_456_000))
        #expect(pair.wall(pair.monotonic(time)) == time)
    }
}
