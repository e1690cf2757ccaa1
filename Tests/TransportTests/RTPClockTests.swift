import Media
import Testing
@testable import Packets

/// RTP timestamps and reports in virtual time.
struct RTPClockTests {
    /// A sender and a network, simulated: 30 frames a second by the sender's wall clock, two packets each.
    final class Path {
        static let packets = 2
        var clock = RTPClock()
        var random = SplitMix64(seed: 5)
        /// The sender's wall clock now, and at the beginning, in µs.
        private(set) var wall: Double = 3_900_000_000_000_000
        private let began: Double = 3_900_000_000_000_000
        /// Its clock runs slow by this much against ours.
        var skew = 0.0
        /// Its timestamps run fast by this much against its clock.
        var stampSkew = 0.0
        /// What its timestamps are more than that says.
        var offset: Double
        var delay = 30_000.0  // µs
        var jitter = 4_000.0  // µs
        /// Frames are coded in another order than they are shown in.
        var reorders = false
        private(set) var frames = 0
        private(set) var restarts = 0
        private(set) var unknown = 0
        /// Mapped time of each frame's last packet against "sent plus the least delay", µs.
        private(set) var error: Double?
        private(set) var mapped: MonotonicTime?

        init(startingAt offset: Double = 12_345) { self.offset = offset }

        /// When what is sent now is sent, on our clock, µs.
        var sent: Double { 1_000_000_000 + (wall - began) * (1 + skew) }
        private func time(_ microseconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(microseconds * 1_000)) }

        func stamp(at wall: Double) -> UInt32 {
            UInt32(truncatingIfNeeded: Int64(((wall - began) * 0.09 * (1 + stampSkew) + offset).rounded(.down)))
        }

        var report: SenderReport {
            let seconds = (wall / 1e6).rounded(.down)
            let fraction = UInt64((wall / 1e6 - seconds) * 4_294_967_296)
            return SenderReport(source: 1, wallClock: UInt64(seconds) << 32 | fraction, timestamp: stamp(at: wall))
        }

        func send(_ report: SenderReport, late: Double = 0) { clock.apply(report, arrival: time(sent + delay + late)) }

        /// Sends one frame.
        func step(extra: Double = 0, stamp other: UInt32? = nil) {
            wall += 1_000_000 / 30.0
            frames += 1
            // As x264 codes three B-frames: shown 4, 2, 1, 3.
            let ahead = reorders ? [3.0, 0, -2, -1][frames % 4] : 0
            let stamp = other ?? self.stamp(at: wall + ahead * 1_000_000 / 30.0)
            for _ in 0..<Self.packets {
                let arrival = time(sent + delay + random.unit() * jitter + extra)
                let (time, restarted) = clock.map(timestamp: stamp, arrival: arrival)
                if restarted { restarts += 1 }
                if time == nil { unknown += 1 }
                mapped = time
                error = time.map { Double($0.nanoseconds) / 1_000 - (sent + delay) }
            }
        }

        /// Time passes, and nothing is sent.
        func skip(_ seconds: Double) { wall += seconds * 1_000_000 }

        func run(seconds: Int, reports: Bool = true, each: (Int) -> Void = { _ in }) {
            for i in 0..<seconds * 30 {
                step()
                if reports, i % 150 == 20 { send(report) }
                each(i)
            }
        }
    }

    private func isNear(_ path: Path, from: Double = -1_500, to: Double = 4_500) -> Bool {
        path.error.map { (from...to).contains($0) } ?? false
    }

    @Test func theFirstSecondIsNotBelieved() {
        let path = Path()
        path.run(seconds: 1)
        #expect((29...30).contains(path.unknown / Path.packets))
        path.run(seconds: 10) { _ in #expect(isNear(path)) }
        #expect(path.restarts == 0)
    }

    /// 13.3 hours of 90 kHz, less ten seconds; with reports and without.
    @Test(arguments: [true, false]) func theWrapGoesUnnoticed(reports: Bool) {
        let path = Path(startingAt: 4_294_967_296 - 900_000)
        path.run(seconds: 2, reports: reports)
        path.run(seconds: 60, reports: reports) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 0 && path.clock.reportsRejected == 0)
    }

    @Test(arguments: [-1000e-6, -100e-6, 0, 100e-6, 1000e-6], [true, false])
    func driftIsFollowed(skew: Double, reports: Bool) {
        let path = Path()
        path.skew = skew
        path.run(seconds: 300, reports: reports) { i in
            // Half a minute to learn the slope, then within the jitter's lower part.
            if i > 1_200 { #expect((-1_500...2_500).contains(path.error ?? .infinity), "frame \(i)") }
        }
        #expect(path.restarts == 0 && path.clock.reportsRejected == 0)
        #expect(abs(path.clock.fit.slope - skew) < 60e-6)
    }

    /// 90 kHz that are none: beyond what two clocks differ by, reports tell.
    @Test(arguments: [-4e-3, -1e-3, 1e-3, 4e-3]) func anotherRateIsFollowedByReports(stampSkew: Double) {
        let path = Path()
        path.stampSkew = stampSkew
        path.skew = 200e-6
        var before: MonotonicTime?
        path.run(seconds: 300) { i in
            if i > 1_200 { #expect((-2_000...2_500).contains(path.error ?? .infinity), "frame \(i)") }
            // No time jumps, least of all when a report is believed.
            if let before, let now = path.mapped, i > 360 {
                #expect(abs((now - before).milliseconds - 1_000 / 30.0) < 3, "frame \(i)")
            }
            before = path.mapped
        }
        #expect(path.restarts == 0 && path.clock.reportsRejected == 0)
        #expect(abs(path.clock.pace * (1 + stampSkew) - 1) < 20e-6)
    }

    /// What the fit has learnt of the pace is not unlearnt when reports tell it too.
    @Test(arguments: [-1.2e-3, 1.2e-3]) func reportsThatBeginLateMoveNothing(stampSkew: Double) {
        let path = Path()
        path.stampSkew = stampSkew
        path.run(seconds: 60, reports: false)
        path.run(seconds: 60) { i in
            #expect((-1_500...2_500).contains(path.error ?? .infinity), "frame \(i)")
        }
        #expect(path.restarts == 0 && path.clock.pace != 1)
    }

    @Test func lateReportsDoNoHarm() {
        let path = Path()
        path.stampSkew = 1e-3
        for i in 0..<9_000 {
            path.step()
            // Up to 0.9 s on their way, and a third of them lost.
            if i % 150 == 20, i % 450 != 20 {
                let report = path.report
                path.send(report, late: path.random.unit() * 900_000)
            }
            if i > 1_800 { #expect(isNear(path, from: -2_500), "frame \(i)") }
        }
        #expect(path.restarts == 0 && path.clock.reportsRejected == 0)
        #expect(abs(path.clock.pace * 1.001 - 1) < 20e-6)
    }

    /// A wall clock that is set, one that is random, timestamps that are not the packets', and no wall clock at all.
    @Test(arguments: 0..<5) func reportsThatContradictAreLeftOut(kind: Int) {
        let path = Path()
        for i in 0..<9_000 {
            path.step()
            if i % 150 == 20 {
                var report = path.report
                switch (kind, i / 150 % 3) {
                case (0, 1): report.wallClock &+= 86_400 << 32
                case (1, 1): report.wallClock = UInt64(path.random.next())
                case (2, 1): report.timestamp &+= UInt32(truncatingIfNeeded: path.random.next())
                // Three per cent fast.
                case (3, _): report.wallClock &+= UInt64(Double(i / 150 * 5) * 0.03 * 4_294_967_296)
                case (4, _): report.wallClock = 0
                default: break
                }
                path.send(report)
            }
            if i > 60 { #expect(isNear(path), "frame \(i)") }
        }
        #expect(path.restarts == 0 && path.clock.pace == 1 || abs(path.clock.pace - 1) < 1e-5)
        // Each contradicts the one before it, and so does the next right one.
        if kind < 4 { #expect(path.clock.reportsRejected >= 19, "\(path.clock.reportsRejected)") }
    }

    /// A wall clock that was set once: the reports after it agree with each other.
    @Test func aClockThatWasSetIsBelievedAgain() {
        let path = Path()
        path.stampSkew = 1e-3
        for i in 0..<9_000 {
            path.step()
            if i % 150 == 20 {
                var report = path.report
                if i > 3_000 { report.wallClock &-= 7_200 << 32 }
                path.send(report)
            }
            if i > 1_800 { #expect(isNear(path, from: -2_500), "frame \(i)") }
        }
        #expect(path.restarts == 0 && path.clock.reportsRejected == 1)
    }

    @Test(arguments: [1e9, -1e9, 270_000, 2_147_483_640]) func anAnnouncedJumpIsFollowed(jump: Double) {
        let path = Path()
        path.run(seconds: 21)
        path.offset += jump
        path.send(path.report)
        path.run(seconds: 60) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 0 && path.unknown <= 31 * Path.packets && path.clock.reportsRejected == 0)
    }

    @Test(arguments: [1e9, -1e9, 270_000, -270_000]) func aJumpThatNobodyAnnouncedIsTold(jump: Double) {
        let path = Path()
        path.run(seconds: 20)
        let before = path.unknown
        path.offset += jump
        path.step()
        #expect(path.restarts == 1 && path.mapped == nil)
        path.run(seconds: 2)
        // A second is watched again; reports that come meanwhile do not move it.
        #expect(path.unknown - before <= 31 * Path.packets)
        path.run(seconds: 60) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 1 && path.clock.reportsRejected == 0)
    }

    /// Presentation times jump ahead and back; source times go on evenly, and none is later than its packet.
    @Test func reorderedPicturesHaveEvenTimes() {
        let path = Path()
        path.reorders = true
        path.run(seconds: 3)
        #expect(path.restarts == 0)
        var before = path.mapped!
        path.run(seconds: 60) { i in
            let now = path.mapped!
            #expect(abs((now - before).milliseconds - 1_000 / 30.0) < 2, "frame \(i)")
            #expect(isNear(path), "frame \(i)")
            before = now
        }
        #expect(path.restarts == 0)
    }

    /// Reordering that begins later moves the times once, and is reported.
    @Test func reorderingThatBeginsLaterIsTold() {
        let path = Path()
        path.run(seconds: 10)
        path.reorders = true
        path.run(seconds: 1)
        let told = path.restarts
        #expect((1...3).contains(told))
        path.run(seconds: 60) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == told)
    }

    /// Packets that others have overtaken do not look like reordered pictures.
    @Test func overtakenPacketsTeachNothing() {
        let path = Path()
        path.run(seconds: 5)
        let late = path.stamp(at: path.wall - 100_000)
        path.step()
        let arrival = MonotonicTime(nanoseconds: Int64((path.sent + path.delay) * 1_000))
        let (time, restarted) = path.clock.map(timestamp: late, arrival: arrival, isNext: false)
        #expect(!restarted && time! < arrival - .milliseconds(80))
        path.run(seconds: 5) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 0)
    }

    @Test func timestampsThatStandStillAreNone() {
        let path = Path()
        for _ in 0..<900 {
            path.step(stamp: 77)
            #expect(path.mapped == nil)
        }
        #expect(path.restarts == 0)
        // As fast as the machine can: no live stream's.
        let burst = Path()
        for i in 0..<900 {
            burst.step(stamp: UInt32(i) * 300_000)
            #expect(burst.mapped == nil)
        }
    }

    /// A sender that was stopped and continues where it was: its frames do not count as late for ever.
    @Test(arguments: [0.3, 1.5, 4.0]) func aSenderThatStoodStillIsBelievedAgain(seconds: Double) {
        let path = Path()
        path.run(seconds: 20)
        path.offset -= seconds * 90_000
        path.skip(seconds)
        path.run(seconds: 5)
        path.run(seconds: 60) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 1)
    }

    /// An outage with what was queued behind it moves nothing for long.
    @Test func anOutageIsOver() {
        let path = Path()
        path.run(seconds: 20)
        for i in 0..<60 { path.step(extra: Double(60 - i) / 30 * 1_000_000) }
        path.run(seconds: 5)
        path.run(seconds: 60) { #expect(isNear(path), "frame \($0)") }
    }

    /// Encoders start with several pictures at once: they do not count for ever.
    @Test func aBunchAtTheStartIsForgotten() {
        let path = Path()
        for i in 0..<10 { path.step(extra: -Double(i) * 3_000) }
        path.run(seconds: 1)
        path.run(seconds: 10) { #expect(isNear(path), "frame \($0)") }
        #expect(path.restarts == 0)
    }

    /// Whatever timestamps and reports say: source times are never ahead of their packets, and all that is said can be
    /// computed with.
    @Test(arguments: 0..<6) func nothingThatIsSaidDoesHarm(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var clock = RTPClock()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        var stamp: UInt32 = 0
        var wall: UInt64 = 0
        for _ in 0..<100_000 {
            let step = Int64(random.next() % 40_000_000)
            now = now + Nanoseconds(random.next() % 5_000 == 0 ? step * 10_000 : step)
            stamp &+= UInt32(step / 11_111)
            wall &+= UInt64(step) << 32 / 1_000_000_000
            switch random.next() % 2_000 {
            case 0: stamp = UInt32(truncatingIfNeeded: random.next())
            case 1: stamp &+= 1 << 31
            case 2: wall = random.next()
            case 3: stamp &-= UInt32(random.next() % 200_000)
            default: break
            }
            if random.next() % 20 == 0 {
                clock.apply(SenderReport(source: 1, wallClock: wall, timestamp: stamp), arrival: now)
            }
            let reordered = random.next() % 10 == 0 ? UInt32(random.next() % 20_000) : 0
            let (time, _) = clock.map(timestamp: stamp &- reordered, arrival: now, isNext: random.next() % 8 != 0)
            if let time { #expect(time <= now + .microseconds(1)) }
        }
        #expect(abs(clock.pace - 1) <= ReportedPace.mostDifference)
    }
}
