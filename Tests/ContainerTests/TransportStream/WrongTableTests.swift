import Media
import Testing

@testable import Container

/// Tables whose checksum is wrong, and packets that are not 188 bytes apart.
@Suite struct WrongTableTests {
    private func tables(_ change: (Int, inout [UInt8]) -> Void, times: Int) -> (bytes: [UInt8], units: [[UInt8]]) {
        var random = SplitMix64(seed: 61)
        var stream = SyntheticStream(tables: false)
        var units: [[UInt8]] = []
        for round in 0..<times {
            var association = SyntheticStream.association([(1, 0x100)])
            var map = SyntheticStream.map(program: 1, streams: [(SyntheticStream.videoID, 0x1B, [])])
            change(round, &association)
            change(round, &map)
            stream.addSection(association, id: 0)
            stream.addSection(map, id: 0x100)
            units += EndOfUnitTests.plain(30, into: &stream, from: round * 30, &random)
        }
        return (stream.bytes, units)
    }

    @Test func tablesThatComeThreeTimesAreBelieved() {
        let (bytes, units) = tables({ _, table in table[table.count - 1] ^= 0x5A }, times: 12)
        let (harvest, counters, diagnosis) = Harvest.of(bytes)
        // The map is looked for once the association is believed.
        #expect(harvest.video.map(\.bytes) == units.suffix(30 * 8) || harvest.video.map(\.bytes) == units.suffix(30 * 7))
        #expect(harvest.believedSections == 1 && harvest.programs.count == 1 && counters.sectionFaults <= 5)
        guard case .video = diagnosis else { return #expect(Bool(false), "\(diagnosis)") }
    }

    @Test func tablesThatDifferEachTimeAreNot() {
        let (bytes, _) = tables({ round, table in table[9] ^= UInt8(1 + round) }, times: 12)
        let (harvest, counters, diagnosis) = Harvest.of(bytes)
        #expect(harvest.programs.isEmpty && harvest.believedSections == 0)
        #expect(counters.sectionFaults == 12 && diagnosis == .brokenTables)
    }

    /// One that was right is not replaced by one that was damaged on its way, however often that happens in the same way.
    @Test func aRightTableRefutesWrongOnes() {
        let (bytes, units) = tables({ round, table in if round % 3 != 0 { table[9] ^= 2 } }, times: 12)
        let (harvest, _, _) = Harvest.of(bytes)
        #expect(harvest.programs.count == 1 && harvest.video.map(\.bytes) == units && harvest.believedSections == 0)
    }

    /// Messages of whole packets and of parts; bytes between packets may look like their beginnings.
    @Test(arguments: [192, 204], [7, 1, 3]) func packetsMayLieFurtherApart(spacing: Int, together: Int) {
        var random = SplitMix64(seed: 62)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(60, into: &stream, &random)
        func between() -> [UInt8] { (0..<spacing - 188).map { _ in UInt8.random(in: 0...255, using: &random) } }
        let packets = stream.packets.map { spacing == 192 ? between() + $0 : $0 + between() }
        for size in [spacing * together, 1316, 101] {
            let (harvest, counters, _) = Harvest.of(packets.flatMap { $0 }, size: size)
            EndOfUnitTests.expectExact(harvest, units)
            #expect(counters.skippedBytes <= 4 && counters.brokenPackets == 0)
        }
        // Ends are known as early as elsewhere.
        let (harvest, counters, _) = Harvest.of(packets.flatMap { $0 }, size: spacing)
        #expect(counters[.stuffing] > 25 && harvest.torn.isEmpty)
    }

    @Test(arguments: [192, 204]) func alignmentIsFoundAgain(spacing: Int) {
        var random = SplitMix64(seed: 63)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(20, into: &stream, &random)
        let packets = stream.packets.map { spacing == 192 ? [0, 1, 2, 3] + $0 : $0 + [UInt8](repeating: 9, count: 16) }
        let garbage = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
        let bytes = packets[..<20].flatMap { $0 } + garbage + packets[20...].flatMap { $0 }
        let (harvest, _, _) = Harvest.of(bytes)
        #expect(harvest.video.count { Set(units).contains($0.bytes) } >= units.count - 1)
    }
}
