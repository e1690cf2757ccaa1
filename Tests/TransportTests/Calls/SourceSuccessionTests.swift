import Media
import Packets
import Testing
@testable import Transport

/// A sender that begins anew as another source, from the same address.
struct SourceSuccessionTests {
    private typealias Path = RTPSessionTests.Path

    private static func packet(_ number: UInt16, source: UInt8, _ payload: UInt8) -> [UInt8] {
        [0x80, 96, UInt8(number >> 8), UInt8(truncatingIfNeeded: number), 0, 0, 0, 0, source, source, source, source, payload]
    }

    /// A path on which a source has sent five pictures.
    private static func begun() -> Path {
        var track = Path.video()
        track.source = nil
        let path = Path([track])
        for number in 0..<5 as Range<UInt8> {
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.milliseconds(33))
        }
        return path
    }

    /// Its first packet is not lost, whatever it takes to believe in it.
    @Test func itIsServedAtOnce() {
        let path = Self.begun()
        for number in 0..<4 as Range<UInt16> {
            _ = path.inject(Self.packet(700 + number, source: 9, UInt8(100 + number)), isFromPeer: true)
            path.run(.milliseconds(1))
        }
        #expect(path.numbers == [0, 1, 2, 3, 4, 100, 101, 102, 103])
        #expect(path.events == [.began(track: 0), .began(track: 0)] && path.unexpected == 0)
        path.setNeedsKeyframe(true)
        path.run(.milliseconds(1))
        #expect(path.pictureLosses.count == 1)
    }

    /// From elsewhere it has to wait until the first one has been silent.
    @Test func anotherAddressHasToWait() {
        let path = Self.begun()
        for number in 0..<4 as Range<UInt16> { #expect(!path.inject(Self.packet(700 + number, source: 9, 100))) }
        path.run(.milliseconds(1))
        #expect(path.numbers == [0, 1, 2, 3, 4] && path.events.count { if case .refused = $0 { true } else { false } } == 1)
    }

    /// One datagram, or some that do not follow each other, may be forged.
    @Test func onePacketTakesNoPlace() {
        let path = Self.begun()
        for number in 5..<9 as Range<UInt8> {
            _ = path.inject(Self.packet(UInt16(number) * 2, source: 9, 100), isFromPeer: true)
            path.send(number, ticks: Int64(number) * 3000)
            path.run(.milliseconds(33))
        }
        #expect(path.numbers == [0, 1, 2, 3, 4, 5, 6, 7, 8] && path.events == [.began(track: 0)])
        #expect(path.unexpected == 3)
    }

    /// Two that send from one address do not take the place from each other for ever.
    @Test func twoAtOneAddressDoNotTakeTurns() {
        let path = Self.begun()
        for number in 0..<40 as Range<UInt16> {
            for part in 0..<2 as Range<UInt16> {
                _ = path.inject(Self.packet(700 + 2 * number + part, source: 9, 100), isFromPeer: true)
            }
            path.run(.milliseconds(16))
            for part in 0..<2 as Range<UInt16> {
                _ = path.inject(Self.packet(100 + 2 * number + part, source: 8, 50), isFromPeer: true)
            }
            path.run(.milliseconds(17))
        }
        #expect(path.events.count { $0 == .began(track: 0) } <= 3, "\(path.events)")
        #expect(path.events.count { if case .refused = $0 { true } else { false } } == 1)
    }
}
