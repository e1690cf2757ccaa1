import Codec
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
@testable import Packets
@testable import Relay
@testable import SRT
@testable import Transport

/// The bit rate that follows the links, in virtual time.
@Suite struct LinkRateTests {
    /// A link that carries so many bits a second and drops what has waited for a second, as SRT does.
    private struct SimulatedLink {
        var id: UInt64
        var host = "203.0.113.1"
        var capacity: Double
        private var bits = 0.0
        private var dropped: Int64 = 0
        private var rate = 1.0

        init(id: UInt64, host: String? = nil, capacity: Double) {
            self.id = id
            self.host = host ?? "203.0.113.\(id)"
            self.capacity = capacity
        }

        mutating func run(_ seconds: Double, rate: Int) {
            self.rate = Double(rate)
            bits = max(0, bits + (Double(rate) - capacity) * seconds)
            if bits > self.rate {
                dropped += Int64((bits - self.rate) / 10_528) + 1
                bits = self.rate
            }
        }

        var sample: LinkRate.Sample {
            LinkRate.Sample(
                id: id, host: host, waiting: .milliseconds(bits / rate * 1_000 + 20), roundTripTime: .milliseconds(20),
                window: .milliseconds(120), packetsDropped: dropped)
        }
    }

    /// - Returns: the rate after each second.
    private func run(
        _ seconds: Int, _ links: inout [SimulatedLink], _ rate: inout LinkRate, from start: Int = 0
    ) -> [Int] {
        (start..<start + seconds).map { second in
            for _ in 0..<10 { for index in links.indices { links[index].run(0.1, rate: rate.rate) } }
            return rate.observe(links.map(\.sample), at: MonotonicTime(nanoseconds: Int64(second) * 1_000_000_000))
        }
    }

    private let start = MonotonicTime(nanoseconds: 0)

    @Test func aLinkThatKeepsUpGetsTheCeiling() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 7e6)]
        #expect(run(60, &links, &rate).allSatisfy { $0 == 6_000_000 })
    }

    /// The rate settles around what the link carries, neither far above nor far below.
    @Test(arguments: [1.5e6, 2.5e6, 4e6, 5.5e6]) func theRateFollowsTheLink(capacity: Double) {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: capacity)]
        let rates = run(300, &links, &rate).suffix(200)
        let mean = Double(rates.reduce(0, +)) / 200
        #expect(mean < capacity * 1.02 && mean > capacity * 0.75, "\(mean)")
        #expect(rates.allSatisfy { (1_000_000...6_000_000).contains($0) })
    }

    @Test func aLinkThatRecoversGetsTheCeilingAgain() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 2e6)]
        _ = run(60, &links, &rate)
        links[0].capacity = 20e6
        let rates = run(60, &links, &rate, from: 60)
        #expect(rates.last == 6_000_000)
    }

    /// One that cannot carry the floor lowers the others for some seconds and then counts no more.
    @Test func aHopelessLinkDoesNotHoldTheOthersDown() {
        var rate = LinkRate(2_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 20e6), SimulatedLink(id: 2, capacity: 0.5e6)]
        let rates = run(120, &links, &rate)
        #expect(rates.min() == 2_000_000 && rates.last == 6_000_000)
        // When it has kept up for a while, it counts again.
        links[1].capacity = 20e6
        _ = run(60, &links, &rate, from: 120)
        links[1].capacity = 4e6
        let later = run(300, &links, &rate, from: 180)
        #expect(Double(later.suffix(100).reduce(0, +)) / 100 < 4.2e6)
    }

    /// The slowest of the links that can carry the floor decides.
    @Test func theSlowestLinkDecides() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [
            SimulatedLink(id: 1, capacity: 20e6), SimulatedLink(id: 2, capacity: 3e6), SimulatedLink(id: 3, capacity: 5e6),
        ]
        let rates = run(300, &links, &rate).suffix(100)
        #expect(Double(rates.reduce(0, +)) / 100 < 3.1e6)
        // It leaves.
        links.remove(at: 1)
        let later = run(120, &links, &rate, from: 300).suffix(60)
        #expect(Double(later.reduce(0, +)) / 60 > 3.7e6)
    }

    /// A receiver that does not keep up, goes and comes again, for ever. It lowers the rate once, and the others have the ceiling
    /// from then on, although each of its links is a new one.
    @Test(arguments: [4, 7, 20]) func aReaderThatComesAgainAndAgainHoldsNobodyDown(life: Int) {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 20e6), SimulatedLink(id: 2, host: "198.51.100.7", capacity: 0.2e6)]
        var rates: [Int] = []
        for visit in 0..<300 / life {
            links[1] = SimulatedLink(id: UInt64(2 + visit), host: "198.51.100.7", capacity: 0.2e6)
            rates += run(life, &links, &rate, from: visit * life)
        }
        #expect(rates.suffix(200).allSatisfy { $0 == 6_000_000 }, "\(rates)")
        // It has found a better network. When it has kept up for a while, it counts as any other.
        links[1] = SimulatedLink(id: 1_000, host: "198.51.100.7", capacity: 20e6)
        _ = run(30, &links, &rate, from: 300)
        links[1].capacity = 3e6
        let later = run(100, &links, &rate, from: 330).suffix(50)
        #expect(Double(later.reduce(0, +)) / 50 < 3.1e6)
    }

    /// What a link has to send at its beginning says nothing of what it carries.
    @Test func linksThatEndWithinTwoSecondsChangeNothing() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 20e6), SimulatedLink(id: 2, capacity: 0)]
        for second in 0..<60 {
            links[1] = SimulatedLink(id: UInt64(2 + second), capacity: 0)
            #expect(run(1, &links, &rate, from: second) == [6_000_000])
        }
    }

    /// One that left is forgotten at once: nothing waits for it to keep up.
    @Test func theRateRisesAtOnceWhenTheSlowestLinkLeaves() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        var links = [SimulatedLink(id: 1, capacity: 20e6), SimulatedLink(id: 2, capacity: 2e6)]
        let low = run(30, &links, &rate).last ?? 0
        links.remove(at: 1)
        let next = run(1, &links, &rate, from: 30)
        #expect(low < 3_000_000 && next[0] > low)
    }

    /// The only one that receives stays at the floor, because the ceiling would help nobody. Beside a file it does not count.
    @Test func theOnlyLinkStaysAtTheFloor() {
        for othersReceive in [false, true] {
            var rate = LinkRate(2_000_000...6_000_000, at: start)
            var link = SimulatedLink(id: 1, capacity: 0.5e6)
            for second in 0..<120 {
                link.run(1, rate: rate.rate)
                let now = MonotonicTime(nanoseconds: Int64(second) * 1_000_000_000)
                _ = rate.observe([link.sample], othersReceive: othersReceive, at: now)
            }
            #expect(rate.rate == (othersReceive ? 6_000_000 : 2_000_000))
        }
    }

    /// libsrt does not always say what waits. Then nothing is known, neither that a link is behind nor that it keeps up.
    @Test func whatIsNotKnownChangesNothing() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        func observe(_ waiting: Nanoseconds?, at second: Int) -> Int {
            let sample = LinkRate.Sample(
                id: 1, host: "203.0.113.1", waiting: waiting, roundTripTime: .milliseconds(20), window: .milliseconds(120),
                packetsDropped: 0)
            return rate.observe([sample], at: MonotonicTime(nanoseconds: Int64(second) * 1_000_000_000))
        }
        #expect((0..<10).allSatisfy { observe(nil, at: $0) == 6_000_000 })
        let lowered = observe(.seconds(1), at: 10)
        #expect(lowered == 4_500_000)
        #expect(observe(nil, at: 12) < lowered)
    }

    @Test func otherLimitsHoldAtOnce() {
        var rate = LinkRate(1_000_000...6_000_000, at: start)
        rate.set(1_000_000...3_000_000)
        #expect(rate.rate == 3_000_000)
        rate.set(4_000_000...8_000_000)
        #expect(rate.rate == 8_000_000)
    }

    /// A link that does not carry bypassed pictures lowers nothing. When pictures are enhanced again, what it did meanwhile is
    /// forgotten, and the rate begins at the ceiling.
    @Test func bypassedPicturesLowerNoRate() {
        var configuration = RelayConfiguration(input: .standardStream, output: .standardStream)
        configuration.settings.bitRateFloor = 1_000_000
        let channels = StreamChannels(configuration)
        channels.outputRate.ceiling = 6_000_000
        var (links, calls) = (LinkWatch(channels), CallWatch(channels))
        var (now, dropped, asked) = (start, Int64(0), 0)
        func follow(seconds: Int, isBehind: Bool) {
            for _ in 0..<seconds * 2 {
                now = now + LinkWatch.interval
                if isBehind { dropped += 1 }
                var peer = ConnectedPeer(
                    id: 1, peer: "203.0.113.1:9", host: "203.0.113.1", streamID: "",
                    connectedAt: start, statistics: LegFigures())
                peer.statistics.packetsDropped = dropped
                links.follow({ [peer] in [peer] }, at: now)
                calls.follow(
                    {
                        asked += 1
                        return []
                    }, at: now)
            }
        }
        func messages() -> Int {
            var count = 0
            while let event = channels.control.events.pop(until: start) { if case .message = event { count += 1 } }
            return count
        }
        follow(seconds: 8, isBehind: true)
        #expect(channels.outputRate.carried < 3_000_000 && messages() == 1)
        channels.path.beginBypass()
        asked = 0
        follow(seconds: 8, isBehind: true)
        #expect(channels.outputRate.carried == .max && channels.outputRate.carriedByCalls == .max && asked == 0)
        channels.path.beginRun()
        follow(seconds: 8, isBehind: false)
        #expect(channels.outputRate.carried == .max && messages() == 0)
        follow(seconds: 4, isBehind: true)
        #expect(channels.outputRate.carried < 6_000_000 && messages() == 1)
    }

    /// The encoder takes over what the links carry, within the operator's ceiling.
    @Test func theEncoderFollowsTheLinks() throws {
        let scratch = try Scratch()
        let opened = Lock<[Int?]>([])
        var configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        configuration.settings.bitRate = 400_000
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            opened.withLock { $0.append(configuration.rateControl.maximumRate) }
            return try VideoEncoder(configuration)
        }
        let channels = StreamChannels(configuration)
        channels.outputRate.carried = 100_000
        let finished = BoundedQueue<FinishedFrame>(capacity: 1)
        let pool = PicturePool(size: PictureSize(width: 160, height: 96), count: 2)
        guard let picture = pool.lease() else { return }
        let ticket = channels.books.ledger.open(.original, presentation: Timeline.start)
        _ = finished.push(
            FinishedFrame(
                ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33), turn: .now(),
                original: nil))
        finished.close()
        runOutput(finished, sink: try Sink(configuration.outputs[0]), channels)
        #expect(opened.withLock { $0 } == [100_000] && channels.outputRate.ceiling == 400_000)
    }
}
