import Media
import Testing

@testable import Transport

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
}
