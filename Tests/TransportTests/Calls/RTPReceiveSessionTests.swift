import Media
import Testing
@testable import Packets

/// What a session makes of packets that are out of the ordinary, in virtual time.
struct RTPReceiveSessionTests {
    private typealias Path = RTPSessionTests.Path

    private static func arrivals(_ path: Path) -> [ArrivalSummary] {
        path.feedback.flatMap(\.packets).compactMap { if case .arrivals(let report) = $0 { report } else { nil } }
    }

    /// Its numbers are those of packets that somebody asked for, and its own source is not the stream's.
    @Test func aRepeatBeginsNoSource() {
        let path = Path([Path.video()])
        for number in 0..<3 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.milliseconds(33))
        }
        let number = UInt16(path.newest[2]) << 8 | UInt16(path.newest[3])
        func packet(_ type: UInt8, _ number: UInt16, source: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0x80, type, UInt8(number >> 8), UInt8(truncatingIfNeeded: number), 0, 0, 0, 0, source, 9, 9, 9] + payload
        }
        // Far off, twice in a row.
        for original in [number &+ 20_000, number &+ 20_001] {
            let bytes = [UInt8(original >> 8), UInt8(truncatingIfNeeded: original), 7]
            #expect(!path.inject(packet(97, original, source: 9, bytes)))
        }
        for number in 3..<6 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.milliseconds(33))
        }
        #expect(path.events == [.began(track: 0)] && path.numbers == [0, 1, 2, 3, 4, 5])
    }

    /// 20 ms each way and 2 % loss in both directions: two requests fit the time that a picture has.
    @Test func aLossyPathLosesHardlyAPicture() {
        let path = Path([Path.video()])
        (path.delay, path.lossRate) = (.milliseconds(20), 0.02)
        let pictures = 900
        for picture in 0..<pictures {
            for packet in 0..<5 { path.send(0, ticks: Int64(picture) * 3000, isMarked: packet == 4) }
            path.run(.microseconds(33_333))
        }
        path.run(.seconds(1))
        let whole = Dictionary(grouping: path.delivered) { $0.arrival.presentation }.values.count { $0.count == 5 }
        #expect(whole * 100 >= pictures * 99, "\(whole) of \(pictures)")
        #expect(path.losses.found > 50 && path.losses.abandoned * 100 < path.losses.found * 2, "\(path.losses)")
        #expect(path.delivered.allSatisfy { $0.at - $0.arrival.arrival <= .milliseconds(101) })
    }

    /// Packets that the network has delayed already are held for what is left of their time, and as long as others may be
    /// overtaken.
    @Test(arguments: [(0, 110), (140, 110), (200, 50), (240, 20)] as [(Double, Double)])
    func nothingWaitsLongerThanItsDeadlineAllows(late: Double, held: Double) throws {
        var configuration = RTPReceiveSession.Configuration()
        configuration.bitRate = nil
        let path = Path([Path.video()], configuration)
        path.losesFeedback = true
        // Until the time stamps are believed.
        for number in 0..<90 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.microseconds(33_333))
        }
        path.delay = .milliseconds(10 + late)
        path.loses = { $0 == 90 }
        path.send(90, ticks: 90 * 3000)
        path.send(91, ticks: 90 * 3000)
        path.run(.seconds(1))
        let last = try #require(path.delivered.last)
        #expect(last.payload == [91] && last.arrival.lost == 1)
        let time = (last.at - last.arrival.arrival).milliseconds
        #expect(abs(time - held) < 3, "\(time)")
    }

    /// A call whose picture has not come, or never does.
    @Test func arrivalsAreReportedWhenOnlyTheSecondTrackHasASource() throws {
        var (video, sound) = (Path.video([.arrivals]), RTPTrack([RTPFormat(.opus, payloadType: 111)]))
        sound.feedback = .arrivals
        (video.extensions.transportSequence, sound.extensions.transportSequence) = (3, 3)
        let path = Path([video, sound])
        for number in 0..<20 {
            path.send(UInt8(number), track: 1, ticks: Int64(number) * 1800)
            path.run(.milliseconds(20))
            // What is due was done: nobody turns in circles.
            #expect(try #require(path.timer) > path.now)
        }
        #expect(Self.arrivals(path).count > 5)
        path.send(99, track: 1, ticks: 36_000)
        path.run(.milliseconds(15))
        path.end()
        path.run(.milliseconds(1))
        #expect(path.timer == nil)
    }

    /// A source that no description names.
    private static var unnamed: RTPTrack {
        var track = Path.video()
        track.source = nil
        return track
    }

    private static func packet(_ number: UInt8, source: UInt8) -> [UInt8] {
        [0x80, 96, 0, number, 0, 0, 0, 0, source, source, source, source, 100 + number]
    }

    /// Its packet is delivered, because it may be the first of a call. Nothing goes back to where it came from.
    @Test func oneForgedDatagramGetsNothing() throws {
        let path = Path([Self.unnamed])
        #expect(path.inject(Self.packet(1, source: 9)))
        path.run(.milliseconds(1))
        #expect(path.numbers == [101] && path.events == [.began(track: 0)])
        path.setNeedsKeyframe(true)
        let report = SenderReport(source: 0x0909_0909, wallClock: 1 << 33, timestamp: 0, packets: 1, bytes: 1)
        var writer = RTCPWriter()
        writer.senderReport(report)
        #expect(!path.inject(writer.bytes), "reports of nobody show no address")
        path.run(.milliseconds(300))
        // Nobody turns in circles meanwhile.
        #expect(try #require(path.timer) > path.now)
        path.run(.seconds(3))
        #expect(path.feedback.isEmpty)
    }

    /// Two packets in sequence show a source, which takes the place of one that has not shown itself (RFC 3550, A.1).
    @Test func aSourceThatShowsItselfTakesThePlaceOfAForgedOne() {
        let path = Path([Self.unnamed])
        _ = path.inject(Self.packet(1, source: 9))
        for number in 0..<3 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            // Others than in sequence.
            _ = path.inject(Self.packet(2 * number + 3, source: 9))
            path.run(.milliseconds(33))
        }
        path.run(.milliseconds(50))
        #expect(path.numbers.suffix(2) == [1, 2] && path.events.count { $0 == .began(track: 0) } == 2)
        #expect(!path.inject(Self.packet(20, source: 9)) && !path.inject(Self.packet(21, source: 9)))
        path.setNeedsKeyframe(true)
        path.run(.milliseconds(1))
        #expect(path.pictureLosses.count == 1)
    }

    /// From its second packet on, or from the first where whoever carries it knows it.
    @Test(arguments: [false, true]) func feedbackBeginsWhenTheSourceIsThere(isAuthentic: Bool) {
        var configuration = RTPReceiveSession.Configuration()
        configuration.isAuthentic = isAuthentic
        let path = Path([Self.unnamed], configuration)
        for number in 0..<2 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.milliseconds(12))
            #expect(path.numbers.count == Int(number) + 1)
            path.setNeedsKeyframe(true)
            path.run(.milliseconds(1))
            #expect(path.pictureLosses.isEmpty == (number == 0 && !isAuthentic))
        }
    }

    @Test func whomTheDescriptionNamesIsServedAtAnyTime() {
        let path = Path([Path.video()])
        for number in 1...2 as ClosedRange<UInt8> { #expect(path.inject(Self.packet(number, source: 9))) }
        path.send(0, ticks: 0)
        path.run(.milliseconds(15))
        #expect(path.numbers == [101, 102, 0])
        #expect(!path.inject(Self.packet(3, source: 9)) && !path.inject(Self.packet(4, source: 9)))
    }

    /// Redundancy (RFC 5109) has the pictures' source and numbers, and a payload type of its own. Nothing is missing where it stood.
    @Test func whatCannotBeReadIsNoGap() {
        let path = Path([Path.video()])
        path.loses = { [3, 6, 7].contains($0) }
        for number in 0..<10 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            if [3, 6].contains(number) {
                var packet = path.newest
                packet[1] = 127
                // Its time stamp means nothing.
                packet[4] ^= 0x40
                #expect(!path.inject(packet))
            }
            path.run(.milliseconds(33))
        }
        path.run(.milliseconds(500))
        let whole = path.delivered.filter { !$0.payload.isEmpty }
        #expect(whole.map { $0.payload[0] } == [0, 1, 2, 4, 5, 7, 8, 9])
        #expect(path.delivered.count == 10 && path.delivered.allSatisfy { $0.arrival.lost == 0 })
        // The one that was lost on its way was asked for again.
        #expect(path.losses.found == 1 && path.losses.abandoned == 0 && path.requests.count == 1)
        #expect(zip(whole, whole.dropFirst()).allSatisfy { $1.arrival.presentation - $0.arrival.presentation <= 6000 })
        let refusals = path.events.filter { if case .refused = $0 { true } else { false } }
        #expect(refusals.count == 1 && "\(refusals)".contains("payload type 127"))
    }
}
