import Media
import Testing

@testable import Transport

/// What a session makes of packets that are out of the ordinary, in virtual time.
struct RTPReceiveSessionTests {
    private typealias Path = RTPSessionTests.Path

    private static func arrivals(_ path: Path) -> [TransportFeedback] {
        path.feedback.flatMap(\.packets).compactMap { if case .arrivals(let report) = $0 { report } else { nil } }
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
