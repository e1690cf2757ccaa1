import Media
import Testing
@testable import Packets

/// Sender reports that contradict when the packets come, in virtual time.
struct ContradictingReportsTests {
    private typealias Path = RTPSessionTests.Path

    /// Sends pictures and sound that belong together, and reports of both each second.
    /// - Parameters:
    ///   - error: by how many seconds the pictures' report is wrong at a second of the call.
    ///   - stray: the track whose packet before the third report has a wrong time stamp, and by how much.
    private static func call(seconds: Int, stray: (track: Int, error: UInt32)? = nil, error: (Int) -> Double) -> Path {
        var sound = RTPTrack([RTPFormat(.opus, payloadType: 111)])
        sound.feedback = []
        let path = Path([Path.video(), sound])
        path.sendsReports = false
        for number in 0..<seconds * 50 {
            for track in 0..<2 {
                let wrong = number == 110 && stray?.track == track ? stray!.error : 0
                path.send(UInt8(track + 1), track: track, ticks: Int64(number) * 1800, error: wrong)
                guard number % 50 == 10 else { continue }
                let wall = Double(number) * 0.02 + 4_000 + (track == 0 ? error(number / 50) : 0)
                let header = path.newest
                func word(_ at: Int) -> UInt32 { header[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
                var writer = RTCPWriter()
                writer.senderReport(
                    SenderReport(
                        source: word(8), wallClock: UInt64(wall * 4_294_967_296), timestamp: word(4), packets: 1, bytes: 1))
                // Behind its packet.
                path.run(.milliseconds(12))
                _ = path.inject(writer.bytes)
            }
            path.run(.milliseconds(number % 50 == 10 ? 0 : 20))
        }
        path.run(.milliseconds(40))
        return path
    }

    /// How far the newest sound lies from the picture that was sent with it, in ticks.
    private static func distance(_ path: Path) -> Int64 {
        func last(_ track: Int) -> Int64? { path.delivered.last { $0.arrival.track == track }?.arrival.presentation.ticks }
        guard let picture = last(0), let sound = last(1) else { return .max }
        return abs(picture - sound)
    }

    private static func complaints(_ path: Path) -> [Int] {
        path.events.compactMap { if case .reportsContradict(let track, _) = $0 { track } else { nil } }
    }

    /// Wall clocks that lie seconds or hours apart, from the start or from some second on.
    @Test(arguments: [12.0, 30, 3, -3, -30, 7_200], [0, 4]) func theArrivalHolds(error: Double, from: Int) {
        let path = Self.call(seconds: 8) { $0 >= from ? error : 0 }
        #expect(Self.distance(path) < 900, "\(Self.distance(path))")
        #expect(Self.complaints(path) == [1] && path.rejected > 2)
        // No packet lies elsewhere for a while.
        let sound = path.delivered.filter { $0.arrival.track == 1 }.map(\.arrival.presentation.ticks)
        #expect(zip(sound, sound.dropFirst()).allSatisfy { abs($1 - $0 - 1_800) < 900 })
    }

    /// One packet whose time stamp is wrong moves none of those that follow, also where a report comes right behind it.
    @Test(arguments: [0, 1], [UInt32(0x4000_0000), 0xc000_0000]) func oneStrayStampMovesNothing(track: Int, error: UInt32) {
        let path = Self.call(seconds: 6, stray: (track, error)) { _ in 0 }
        #expect(Self.distance(path) < 900 && Self.complaints(path).isEmpty)
        for each in 0..<2 {
            let all = path.delivered.filter { $0.arrival.track == each }.map(\.arrival.presentation.ticks)
            let leaps = zip(all, all.dropFirst()).count { abs($1 - $0 - 1_800) >= 900 }
            #expect(leaps == (each == track ? 2 : 0), "track \(each)")
        }
    }

    /// What a report says within a second of the arrival is believed: a sender may hold its sound back.
    @Test func whatIsPossibleIsBelieved() {
        let path = Self.call(seconds: 8) { _ in 0.4 }
        #expect(abs(Self.distance(path) - 36_000) < 900 && Self.complaints(path).isEmpty && path.rejected == 0)
    }

    /// Reports that have been wrong are believed again when they are right.
    @Test func whoRepairsHisReportsIsBelieved() {
        let path = Self.call(seconds: 12) { $0 < 6 ? 20 : 0.3 }
        #expect(abs(Self.distance(path) - 27_000) < 900 && Self.complaints(path) == [1])
    }
}
