import Media
import Testing

@testable import Relay

struct CaptureClockTests {
    private static let second = UInt64(1) << 32

    @Test func picturesBesideTheOneThatTellsHaveATimeToo() {
        let clock = CaptureClock()
        #expect(clock.time(of: MediaTime(ticks: 0)) == nil)
        clock.record(100 * Self.second, at: MediaTime(ticks: 90_000))
        #expect(clock.time(of: MediaTime(ticks: 90_000)) == 100 * Self.second)
        #expect(clock.time(of: MediaTime(ticks: 135_000)) == 100 * Self.second + Self.second / 2)
        // Before it, and by more than a second.
        #expect(clock.time(of: MediaTime(ticks: 90_000 - 225_000)) == 97 * Self.second + Self.second / 2)
    }

    @Test func theNewestTimeCountsAndTheClockWraps() {
        let clock = CaptureClock()
        clock.record(5, at: MediaTime(ticks: 0))
        clock.record(.max - Self.second / 2 + 1, at: MediaTime(ticks: 3000))
        #expect(clock.time(of: MediaTime(ticks: 3000 + 90_000)) == Self.second / 2)
    }

    @Test func anotherSenderIsNotReadByTheClockOfTheFirst() {
        let clock = CaptureClock()
        clock.record(5, at: MediaTime(ticks: 0))
        clock.forget()
        #expect(clock.time(of: MediaTime(ticks: 0)) == nil)
    }
}
