import Media
import Testing

@testable import Container

/// Continuity counters that do not count what they should.
@Suite struct WrongCounterTests {
    enum Habit: CaseIterable { case standsStill, countsEmpty, beginsAnewWithUnits, isRandom, goesBackwards }

    /// A stream of pictures and sound, whose counters are changed.
    private func stream(_ units: Int, counting habit: Habit, from first: Int = 0) -> (bytes: [UInt8], units: [[UInt8]]) {
        var random = SplitMix64(seed: 51)
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x200, 0x0F, [])])
        var sent: [[UInt8]] = []
        for k in 0..<units {
            sent += EndOfUnitTests.plain(1, sizes: 300...6000, into: &stream, from: k, &random)
            if k % 3 == 0 { stream.addClockOnly(ticks: Int64(k) * 900_000) }
            if k % 2 == 0 {
                let sound = (0..<300).map { _ in UInt8.random(in: 0...254, using: &random) }
                stream.addPES(sound, pts: 90_000 + Int64(k) * 3000, bounded: true, id: 0x200)
            }
        }
        var counters: [Int: UInt8] = [:]
        for index in stream.packets.indices where index >= first {
            let packet = stream.packets[index]
            let pid = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
            let (hasPayload, starts) = (packet[3] & 0x10 != 0, packet[1] & 0x40 != 0)
            let last = counters[pid]
            let next: UInt8 =
                switch habit {
                case .standsStill: 5
                case .countsEmpty: last.map { ($0 + 1) & 15 } ?? packet[3] & 15
                case .beginsAnewWithUnits: starts ? 0 : hasPayload ? ((last ?? 0) + 1) & 15 : last ?? 0
                case .isRandom: UInt8.random(in: 0...15, using: &random)
                case .goesBackwards: hasPayload ? ((last ?? 15) &- 1) & 15 : last ?? 15
                }
            counters[pid] = next
            stream.packets[index][3] = packet[3] & 0xF0 | next
        }
        return (stream.bytes, sent)
    }

    /// After its first few wrong steps.
    @Test(arguments: Habit.allCases) func aCounterThatNeverCountedRightShowsNoLosses(habit: Habit) {
        let (bytes, units) = stream(200, counting: habit)
        let (harvest, counters, _) = Harvest.of(bytes)
        #expect(harvest.video.suffix(150).map(\.bytes) == units.suffix(150))
        #expect(harvest.video.suffix(150).allSatisfy(\.damage.isEmpty) && counters.continuityGaps <= 24)
        #expect(harvest.wrongCounters.count { $0 == SyntheticStream.videoID } == 1)
        #expect(harvest.others.count >= 90 && harvest.others.suffix(60).allSatisfy(\.damage.isEmpty))
        // Ends are learnt as in a stream with right counters.
        #expect(counters[.stuffing] > 90)
    }

    /// A counter that was right for long is believed a few times more, and then no longer.
    @Test(arguments: Habit.allCases.filter { $0 != .beginsAnewWithUnits && $0 != .countsEmpty })
    func aCounterLosesItsCredit(habit: Habit) {
        let (bytes, units) = stream(400, counting: habit, from: 2000)
        let (harvest, counters, _) = Harvest.of(bytes)
        #expect(counters.continuityGaps <= 24 && counters.continuityGaps > 0)
        #expect(harvest.video.count { !$0.damage.isEmpty } <= 24 && harvest.video.suffix(150).allSatisfy(\.damage.isEmpty))
        #expect(harvest.video.suffix(150).map(\.bytes) == units.suffix(150))
    }

    @Test func aRightCounterShowsEachLoss() {
        var random = SplitMix64(seed: 52)
        var stream = SyntheticStream()
        _ = EndOfUnitTests.plain(300, sizes: 600...4000, into: &stream, &random)
        var packets = stream.packets
        var lost = 0
        // One of 40 packets, but none of the first 60 and none at the end, where nothing follows.
        for index in (60..<packets.count - 5).reversed() where Int.random(in: 0..<40, using: &random) == 0 {
            packets.remove(at: index)
            lost += 1
        }
        let (harvest, counters, _) = Harvest.of(packets.flatMap { $0 })
        #expect(counters.lostPackets == lost && harvest.wrongCounters.isEmpty && lost > 20)
    }

    @Test func aPacketThatComesTwiceIsIgnored() {
        var random = SplitMix64(seed: 53)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(40, into: &stream, &random)
        let doubled = stream.packets.flatMap { $0 + $0 }
        let (harvest, counters, _) = Harvest.of(doubled, size: 188)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters.continuityGaps == 0 && counters.duplicatePackets > 100)
    }

    /// Tables are read whatever their counters are: their checksum says whether they are whole.
    @Test func aMapThatChangesIsSeenThoughItsCounterStandsStill() {
        var random = SplitMix64(seed: 54)
        var stream = SyntheticStream()
        var units = EndOfUnitTests.plain(10, into: &stream, &random)
        stream.addTables(streams: [(0x180, 0x1B, [])], version: 1)
        for k in 10..<20 {
            let unit = SyntheticPicture.unit(size: 700, isKey: k == 10, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000, id: 0x180)
            units.append(unit)
        }
        for index in stream.packets.indices { stream.packets[index][3] &= 0xF0 }
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.video.map(\.bytes) == units && harvest.programs.map(\.version) == [0, 1])
    }
}
