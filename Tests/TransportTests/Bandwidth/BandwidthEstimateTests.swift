import Media
import Testing
@testable import Packets

/// What a receiver's link is found to carry, in virtual time: pictures that leave at once, and a receiver who reports twenty times a second.
struct BandwidthEstimateTests {
    @Test(arguments: [300_000, 1_000_000, 3_000_000]) func aConstantLinkIsUsed(capacity: Double) {
        let call = SimulatedCall(SimulatedLink { _ in capacity })
        call.run(seconds: 30)
        #expect(call.use(from: 3) > 0.8, "\(call.table)")
        #expect(call.wait(0.95, from: 3) < 150, "\(call.table)")
    }

    /// 3 → 0.5 → 3 Mb/s, 15 s each.
    @Test(arguments: [15.0, 30]) func aStaircaseIsFollowed(picturesPerSecond: Double) {
        let call = SimulatedCall(SimulatedLink { $0.seconds >= 15 && $0.seconds < 30 ? 500_000 : 3_000_000 })
        call.picturesPerSecond = picturesPerSecond
        call.run(seconds: 15)
        #expect(call.seconds[14].estimate > 2_400_000, "\(call.table)")
        call.run(seconds: 1.5)
        #expect(call.estimate! < 500_000, "\(call.table)")
        call.run(seconds: 13.5)
        #expect(call.use(from: 20, to: 30) > 0.8, "\(call.table)")
        call.run(seconds: 8)
        #expect(call.estimate! > 2_400_000, "\(call.table)")
        call.run(seconds: 7)
        #expect(call.use(from: 1) > 0.8, "\(call.table)")
        #expect(call.wait(0.95, from: 1) < 150, "\(call.table)")
    }

    /// The same where the receiver asks for what the full queue dropped, and the encoder takes its time: what is asked for must not keep the
    /// queue full. A keyframe comes instead.
    @Test(arguments: [(15.0, 100.0), (30, 50), (30, 250)]) func whatAFullQueueDroppedIsNotSentAgain(
        picturesPerSecond: Double, report: Double
    ) {
        let call = SimulatedCall(SimulatedLink { $0.seconds >= 15 && $0.seconds < 30 ? 500_000 : 3_000_000 })
        call.picturesPerSecond = picturesPerSecond
        (call.least, call.most) = (300_000, 4_000_000)
        (call.asksAgain, call.encoderDelay, call.feedbackInterval) = (true, .milliseconds(150), .milliseconds(report))
        call.run(seconds: 45)
        #expect(call.fell(below: 500_000, after: 15) < 1.5, "\(call.table)")
        #expect(call.seconds[38].came > 2_400_000, "\(call.table)")
        #expect(call.use(from: 1) > 0.8 && call.delay(0.95, from: 1) < 150, "\(call.delay(0.95, from: 1))\n\(call.table)")
        #expect(call.longestPause(from: 2) < 1_300, "\(call.longestPause(from: 2))")
        #expect(call.feedback.gaps == 1 && call.picturesLeftOut < 15, "\(call.picturesLeftOut)")
    }

    /// What is lost by chance is sent again, and pictures go on.
    @Test(arguments: [0.02, 0.05]) func whatIsLostByChanceIsSentAgain(loss: Double) {
        var link = SimulatedLink { _ in 2_000_000 }
        link.loss = loss
        let call = SimulatedCall(link)
        call.asksAgain = true
        call.run(seconds: 40)
        #expect(call.feedback.gaps == 0 && call.receiver.keyframeRequests == 0)
        #expect(call.receiver.shown.count > 1_190 && call.longestPause(from: 2) < 400, "\(call.longestPause(from: 2))")
    }

    /// Losses that have nothing to do with the rate are no reason to send less.
    @Test(arguments: [0.02, 0.05]) func lossesByChanceDoNotCount(loss: Double) {
        var link = SimulatedLink { _ in 2_000_000 }
        link.loss = loss
        let call = SimulatedCall(link)
        call.run(seconds: 40)
        #expect(call.use(from: 5) > 0.8, "\(call.table)")
    }

    /// What is sent beyond a rate is dropped, and nothing waits: losses alone tell.
    @Test func aPolicedLinkIsFound() {
        var link = SimulatedLink { _ in 2_000_000 }
        link.longestQueue = .milliseconds(30)
        let call = SimulatedCall(link)
        call.run(seconds: 40)
        #expect(call.use(from: 10) > 0.7 && call.lost(from: 10) < 0.05, "\(call.lost(from: 10))\n\(call.table)")
    }

    @Test func othersGetTheirShareOfALink() {
        let call = SimulatedCall(SimulatedLink { _ in 3_000_000 })
        call.others = { $0.seconds >= 10 && $0.seconds < 20 ? 1_500_000 : 0 }
        call.run(seconds: 30)
        #expect(call.use(from: 12, to: 20) > 0.7, "\(call.table)")
        #expect(call.use(from: 22) > 0.8, "\(call.table)")
        #expect(call.wait(0.95, from: 3) < 150, "\(call.table)")
    }

    /// A queue that would take seconds stays short.
    @Test func aLargeBufferIsNotFilled() {
        var link = SimulatedLink { _ in 1_000_000 }
        link.longestQueue = .seconds(5)
        let call = SimulatedCall(link)
        call.run(seconds: 40)
        #expect(call.use(from: 3) > 0.8, "\(call.table)")
        #expect(call.wait(0.95, from: 3) < 150, "\(call.table)")
    }

    /// A capacity that wanders between 0.5 and 6 Mb/s by up to a third each 200 ms.
    @Test(arguments: [1, 2, 3] as [UInt64]) func aMobileLinkIsFollowed(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var capacities = [2_500_000.0]
        while capacities.count < 300 {
            capacities.append(min(max(capacities.last! * (0.75 + 0.585 * random.unit()), 500_000), 6_000_000))
        }
        var link = SimulatedLink { [capacities] in capacities[min(Int($0.seconds * 5), capacities.count - 1)] }
        link.jitter = .milliseconds(8)
        let call = SimulatedCall(link)
        call.asksAgain = true
        call.run(seconds: 60)
        #expect(call.longestPause(from: 2) < 2_500, "\(call.longestPause(from: 2))")
        #expect(call.use(from: 3) > 0.55, "\(call.use(from: 3))\n\(call.table)")
        #expect(call.wait(0.95, from: 3) < 300, "\(call.wait(0.95, from: 3))\n\(call.table)")
    }

    /// Keyframes fill a queue for a moment, which is no reason to send less for long.
    @Test func keyframesAreNoCongestion() {
        let call = SimulatedCall(SimulatedLink { _ in 2_000_000 })
        call.keyframeInterval = 90
        call.run(seconds: 40)
        #expect(call.use(from: 3) > 0.75, "\(call.table)")
    }

    @Test func aLinkThatStopsIsNotSentTo() {
        let call = SimulatedCall(SimulatedLink { $0.seconds >= 10 && $0.seconds < 13 ? 1_000 : 2_000_000 })
        call.run(seconds: 13)
        #expect(call.estimate! < 300_000, "\(call.table)")
        call.run(seconds: 10)
        #expect(call.estimate! > 1_500_000, "\(call.table)")
    }

    /// Where pictures are small, what they are spaced by shows that there is room for more.
    @Test func roomIsFoundWithoutBeingUsed() {
        let call = SimulatedCall(SimulatedLink { _ in 3_000_000 })
        call.most = 500_000
        call.run(seconds: 10)
        #expect(call.estimate! > 2_000_000 && call.estimate! < 3_200_000, "\(call.table)")
    }

    /// Pictures of one packet show nothing: their packets leave once more now and then, in a tenth of the rate, and only while more
    /// would be of use.
    @Test(arguments: [(30.0, 120_000.0), (15, 60_000)]) func smallPicturesProbe(picturesPerSecond: Double, most: Double) {
        let call = SimulatedCall(SimulatedLink { _ in 3_000_000 })
        call.asksAgain = true
        call.picturesPerSecond = picturesPerSecond
        (call.least, call.most, call.useful) = (30_000, most, 1_500_000)
        call.run(seconds: 20)
        #expect(call.estimate! > 1_500_000 && call.feedback.probes < 40, "\(call.feedback.probes)\n\(call.table)")
        #expect(call.receiver.shown.count > 290 && call.receiver.duplicates == Int(call.feedback.probes))
        call.useful = nil
        let before = call.feedback.probes
        call.run(seconds: 5)
        #expect(call.feedback.probes == before)
    }

    /// Probes do not make a link worse that carries little.
    @Test(arguments: [150_000.0, 300_000]) func probesLeaveALinkInOrder(capacity: Double) {
        let call = SimulatedCall(SimulatedLink { _ in capacity })
        call.asksAgain = true
        call.picturesPerSecond = 15
        (call.least, call.most, call.useful) = (30_000, 50_000, 4_000_000)
        call.run(seconds: 20)
        #expect(call.delay(0.95, from: 1) < 150 && call.feedback.gaps == 0, "\(call.table)")
        #expect(call.estimate! < capacity && call.receiver.shown.count > 290, "\(call.table)")
    }

    @Test func probesKeepToTheirBudget() {
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        func share(_ rate: Double?, bytes: Int) -> (bits: Double, most: Int) {
            var plan = ProbePlan()
            var (sum, most) = (0, 0)
            for picture in 0..<3_000 {
                let count = plan.claim(bytes: bytes, rate: rate, at: start + .milliseconds(33) * Int64(picture))
                (sum, most) = (sum + count * bytes * 8, max(most, count))
            }
            return (Double(sum) / 99, most)
        }
        let usual = share(1_000_000, bytes: 1_000)
        #expect(usual.bits > 70_000 && usual.bits < 105_000 && usual.most == 3, "\(usual)")
        #expect(share(300_000, bytes: 1_000).most == 1 && share(nil, bytes: 1_000).most == 1)
        // One packet would take too long.
        #expect(share(150_000, bytes: 1_000).most == 0)
        // Without a floor a link that has recovered would never show it.
        #expect(share(30_000, bytes: 200).most == 3 && share(30_000, bytes: 200).bits < 11_000)
    }

    /// Without pictures a probe takes a part of the time between two, whatever the link carries.
    @Test func probesWithoutPicturesKeepToTheirBudget() {
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        for rate in [100_000.0, 400_000, 2_000_000] {
            var plan = ProbePlan()
            var bytes = 0
            for turn in 0..<1_000 { bytes += plan.claimAlone(rate: rate, at: start + .milliseconds(100) * Int64(turn)) ?? 0 }
            #expect(Double(bytes * 8) / 100 < rate * 0.25 && bytes > 0, "\(bytes)")
        }
    }

    /// The largest that is not too large; else the smallest. What has left the memory does not count.
    @Test func aProbeHasThePacketThatSuits() {
        var history = PacketHistory(capacity: 16)
        for (number, bytes) in [1_200, 300, 700, 1_200].enumerated() {
            history.record(UInt16(number) &+ 65_534, byteCount: bytes, payload: 12, at: MonotonicTime(nanoseconds: 0))
        }
        var numbers: [UInt16?] = []
        for (bytes, next) in [(800, 2), (1_250, 2), (200, 2), (800, 100)] {
            numbers.append(history.number(ofAtMost: bytes, before: UInt16(next)))
        }
        #expect(numbers == [0, 1, 65_535, nil])
    }

    // MARK: What a receiver may say

    /// An estimate, and packets that left every 5 ms.
    private struct Told {
        var estimate = BandwidthEstimate()
        var now = MonotonicTime(nanoseconds: 9_000_000_000)
        var number: UInt16 = 0
        var report = TransportFeedback()

        mutating func send(_ count: Int) {
            for _ in 0..<count {
                estimate.sent(number, bytes: 1_000, isOfPicture: true, roundTrip: nil, at: now)
                number &+= 1
                now = now + .milliseconds(1)
            }
        }

        mutating func tell(_ base: UInt16, _ arrivals: [Int64?], reference: UInt32 = 1) {
            var writer = RTCPWriter()
            (report.base, report.arrivals, report.reference) = (base, arrivals, reference)
            report.number &+= 1
            writer.arrivals(report, from: 1, media: 5)
            var reader = RTCPReader(writer.bytes.span)
            guard case .arrivals(let summary) = reader.next() else { return }
            estimate.receive(summary, in: writer.bytes.span, roundTrip: nil, at: now)
        }
    }

    /// Packets that were told of count no second time, and packets that were never sent count not at all.
    @Test func whatIsToldTwiceCountsOnce() {
        var (once, twice) = (Told(), Told())
        for round in 0..<20 {
            once.send(20)
            twice.send(20)
            let base = UInt16(20 * round)
            let arrivals = (0..<20).map { Int64?(Int64($0 * 4)) }
            once.tell(base, arrivals, reference: UInt32(round))
            for _ in 0..<5 { twice.tell(base, arrivals, reference: UInt32(round)) }
            twice.tell(base &+ 30_000, arrivals, reference: UInt32(round))
        }
        #expect(once.estimate.bitRate != nil && once.estimate.bitRate == twice.estimate.bitRate)
    }

    /// Whatever a receiver says, the rate stays in its bounds, and a receiver that tells the truth again is believed.
    @Test(arguments: 0..<8 as Range<UInt64>) func absurdReportsDoNoHarm(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var told = Told()
        for _ in 0..<400 {
            told.send(Int(random.next() % 30))
            let count = 1 + Int(random.next() % 60)
            let arrivals = (0..<count).map { _ -> Int64? in
                random.next() % 4 == 0 ? nil : Int64(random.next() % 65_536) - 32_768
            }
            told.tell(
                told.number &- UInt16(random.next() % 70), arrivals, reference: UInt32(random.next() & 0xff_ffff))
            if let rate = told.estimate.bitRate { #expect(BandwidthEstimate.range.contains(rate)) }
        }
        // 8 Mb/s come as they leave, in trains of twenty packets.
        var honest: Int64 = 0
        for _ in 0..<400 {
            let base = told.number
            told.send(20)
            told.now = told.now + .milliseconds(30)
            honest += 50
            let reference = honest / 64
            told.tell(
                base, (0..<20).map { (honest - reference * 64) * 4 + Int64($0) * 4 }, reference: UInt32(reference))
        }
        let rate = told.estimate.bitRate ?? 0
        #expect(rate > 3_000_000 && rate < 9_000_000, "\(rate)")
    }

    /// Who tells only of a thousandfold rate gets no more than what was sent allows.
    @Test func nobodyTalksThemselvesUpForLong() {
        var told = Told()
        for round in 0..<100 {
            let base = told.number
            told.send(20)
            told.now = told.now + .milliseconds(30)
            // All at once.
            told.tell(base, (0..<20).map { _ in Int64(0) }, reference: UInt32(round))
        }
        #expect(told.estimate.bitRate ?? 0 <= 200_000_000)
    }
}
