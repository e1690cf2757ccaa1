import Media
import Testing
@testable import Packets

/// The RTP time stamps of a sound whose presentation is moved, in virtual time.
struct SoundStampTests {
    private struct Sound {
        private var stamps = SoundStamps()
        private var now = MonotonicTime(nanoseconds: 1_000_000_000)
        private var presentation = MediaTime(ticks: 1_000_000)
        private var last: Int64?

        /// Sends a packet.
        /// - Parameters:
        ///   - ticks: how much later its presentation is than the last packet's, and how much later it leaves.
        /// - Returns: the step of the time stamps.
        mutating func send(_ ticks: Int64 = 1800, leaves: Int64? = nil) -> Int64 {
            presentation = presentation + ticks
            now = now + MediaTime(ticks: leaves ?? ticks).nanoseconds
            let time = stamps.time(of: presentation, at: now).ticks
            defer { last = time }
            return time - (last ?? time)
        }

        var shift: Int64 { stamps.shift }
        var reported: Int64 { stamps.time(presentation) - presentation }
    }

    @Test func evenSoundKeepsItsTimes() {
        var sound = Sound()
        _ = sound.send()
        for _ in 0..<100 { #expect(sound.send() == 1800) }
        #expect(sound.shift == 0)
    }

    @Test(arguments: [-1500, -630, 470, 630, 1100, 4000]) func timesGoOnEvenlyWhenTheSoundIsMoved(by ticks: Int64) {
        var sound = Sound()
        for _ in 0..<3 { _ = sound.send() }
        #expect(sound.send(1800 + ticks, leaves: 1800) == 1800)
        // Reports say what the time stamps mean now.
        #expect(sound.reported == -ticks)
        for _ in 0..<3 { #expect(sound.send() == 1800) }
    }

    @Test(arguments: [3600, 36_000, 900_000]) func timesStepOverAPause(of ticks: Int64) {
        var sound = Sound()
        for _ in 0..<3 { _ = sound.send() }
        #expect(sound.send(ticks) == ticks)
        #expect(sound.send() == 1800 && sound.shift == 0)
    }

    @Test func packetsThatLeaveInABunchKeepTheirTimes() {
        var sound = Sound()
        for _ in 0..<3 { _ = sound.send() }
        #expect(sound.send(1800, leaves: 9000) == 1800)
        for _ in 0..<4 { #expect(sound.send(1800, leaves: 10) == 1800) }
        #expect(sound.shift == 0)
    }

    @Test func aLongerPacketIsANewStep() {
        var sound = Sound()
        for _ in 0..<3 { _ = sound.send(900) }
        #expect(sound.send(1800) == 1800)
        #expect(sound.send(1800) == 1800 && sound.shift == 0)
    }

    /// Conversions between clocks of 48 and 90 kHz round.
    @Test func aTickOfRoundingIsNoMove() {
        var sound = Sound()
        for _ in 0..<3 { _ = sound.send() }
        #expect(sound.send(1799, leaves: 1800) == 1799)
        #expect(sound.send(1801, leaves: 1800) == 1801 && sound.shift == 0)
    }
}
