import Media
import Testing

@testable import Container

/// Continuity counters that do not count what they should.
@Suite struct WrongCounterTests {
    enum Habit: CaseIterable {
        case standsStill, countsEmpty, beginsAnewWithUnits, isShared, isRandom, goesBackwards

        /// It can be told from losses at once.
        var isKnown: Bool { self != .isRandom && self != .goesBackwards }
    }

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
        var all: UInt8 = 0
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
                case .isShared: (all + 1) & 15
                case .isRandom: UInt8.random(in: 0...15, using: &random)
                case .goesBackwards: hasPayload ? ((last ?? 15) &- 1) & 15 : last ?? 15
                }
            counters[pid] = next
            all = next
            stream.packets[index][3] = packet[3] & 0xF0 | next
        }
        return (stream.bytes, sent)
    }

    /// From the first picture on. Of a counter without any rule the first wrong step counts as a loss.
    @Test(arguments: Habit.allCases) func aCounterThatNeverCountedRightShowsNoLosses(habit: Habit) {
        let (bytes, units) = stream(200, counting: habit)
        let (harvest, counters, _) = Harvest.of(bytes)
        #expect(harvest.video.map(\.bytes) == units)
        let spare = habit.isKnown ? 0 : 2
        #expect(harvest.video.dropLast().count { !$0.damage.isEmpty } <= spare && counters.continuityGaps <= 2 * spare)
        #expect(harvest.wrongCounters.count { $0 == SyntheticStream.videoID } == 1)
        #expect(harvest.others.count == 100 && harvest.others.count { !$0.damage.isEmpty } <= spare)
        // Ends are learnt as in a stream with right counters.
        #expect(counters[.stuffing] > 90)
    }

    /// The same where reading begins in the middle.
    @Test(arguments: Habit.allCases.filter(\.isKnown)) func aStreamThatWasJoinedShowsNoLosses(habit: Habit) {
        let (bytes, units) = stream(200, counting: habit)
        let head = SyntheticStream().bytes.count
        for skipped in stride(from: 1, to: 60, by: 7) {
            let (harvest, counters, _) = Harvest.of(bytes[..<head] + bytes[(head + skipped * 188)...])
            #expect(counters.continuityGaps == 0, "\(skipped) packets")
            let damaged = harvest.video.dropLast().count { !$0.damage.isEmpty }
            #expect(damaged == 0, "\(skipped) packets")
            #expect(harvest.video.suffix(150).map(\.bytes) == units.suffix(150))
        }
    }

    /// Packets without payload inside a PES packet: the first one that counts may be a loss, and no other.
    @Test func aCounterThatCountsInsideUnitsShowsOneLossAtMost() {
        var random = SplitMix64(seed: 56)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(60, sizes: 900...2500, into: &stream, &random)
        var packets: [[UInt8]] = []
        var counter: UInt8 = 0
        for (index, packet) in stream.packets.enumerated() {
            guard packet[2] == UInt8(SyntheticStream.videoID & 255) else {
                packets.append(packet)
                continue
            }
            if index % 5 == 0 {
                let head: [UInt8] = [0x47, packet[1] & 0x1F, packet[2], 0x20 | counter, 183, 0]
                packets.append(head + [UInt8](repeating: 0xFF, count: 182))
                counter = (counter + 1) & 15
            }
            packets.append(packet[..<3] + [packet[3] & 0xF0 | counter] + packet[4...])
            counter = (counter + 1) & 15
        }
        let (harvest, counters, _) = Harvest.of(packets.flatMap { $0 })
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters.continuityGaps <= 1 && harvest.video.dropLast().count { !$0.damage.isEmpty } <= 1)
    }

    /// Whichever packet of the first pictures is missing, one of the pictures counts as damaged, and no other.
    @Test func aLossAtTheBeginningIsSeenAtOnce() {
        var random = SplitMix64(seed: 55)
        var stream = SyntheticStream()
        for k in 0..<6 {
            _ = EndOfUnitTests.plain(1, sizes: 900...2500, into: &stream, from: k, &random)
            stream.addClockOnly(ticks: Int64(k) * 900_000)
        }
        let video = stream.packets.indices.filter {
            stream.packets[$0][2] == UInt8(SyntheticStream.videoID & 255) && stream.packets[$0][3] & 0x10 != 0
        }
        #expect(video.count > 30)
        for index in video.dropFirst().dropLast() {
            var packets = stream.packets
            packets.remove(at: index)
            let (harvest, counters, _) = Harvest.of(packets.flatMap { $0 })
            let startsUnit = stream.packets[index][1] & 0x40 != 0
            #expect(counters.continuityGaps == 1 && counters.lostPackets == 1, "packet \(index)")
            // What begins a picture takes it along: its bytes seem to be those of the one before.
            #expect(startsUnit || harvest.video.count { $0.damage.contains(.packetsLost) } == 1, "packet \(index)")
            #expect(harvest.wrongCounters.isEmpty)
        }
    }

    /// A counter that was right for long is believed a few times more, and then no longer.
    @Test(arguments: [Habit.standsStill, .isRandom, .goesBackwards])
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
