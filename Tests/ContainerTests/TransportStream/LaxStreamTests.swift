import Media
import Testing

@testable import Container

/// What some senders leave out, or write although the standard has no place for it.
@Suite struct LaxStreamTests {
    /// A map without an association stands for itself, once it has come again and again.
    @Test func aStreamMayHaveNoAssociation() {
        var random = SplitMix64(seed: 81)
        var stream = SyntheticStream(tables: false)
        let map = SyntheticStream.map(program: 7, streams: [(SyntheticStream.videoID, 0x1B, [])])
        var units: [[UInt8]] = []
        for round in 0..<10 {
            stream.addSection(map, id: 0x1001)
            units += EndOfUnitTests.plain(30, into: &stream, from: round * 30, &random)
        }
        let (harvest, _, diagnosis) = Harvest.of(stream.bytes)
        #expect(harvest.video.map(\.bytes) == units.suffix(30 * 7) && harvest.programs.map(\.number) == [7])
        guard case .video = diagnosis else { return #expect(Bool(false), "\(diagnosis)") }
    }

    /// The association that comes later says which program it is.
    @Test func anAssociationThatComesLaterHolds() {
        var random = SplitMix64(seed: 82)
        var stream = SyntheticStream(tables: false)
        for round in 0..<5 {
            stream.addSection(SyntheticStream.map(program: 7, streams: [(0x200, 0x0F, [])]), id: 0x1001)
            _ = EndOfUnitTests.plain(2, into: &stream, from: round, &random)
        }
        stream.addTables()
        let units = EndOfUnitTests.plain(30, into: &stream, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.programs.map(\.number) == [7, 1] && harvest.video.map(\.bytes) == units)
    }

    /// Packets that are to have payload and hold stuffing alone.
    @Test func aPacketMayHaveNoByteOfPayload() {
        var random = SplitMix64(seed: 83)
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        for k in 0..<80 {
            units += EndOfUnitTests.plain(1, into: &stream, from: k, &random)
            if k % 3 == 0 { stream.addPacket([]) }
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters.brokenPackets == 0 && counters.continuityGaps == 0 && harvest.video.allSatisfy(\.damage.isEmpty))
        #expect(counters[.stuffing] > 40)
    }

    /// Blu-ray's number for lossless sound is ATSC's for splice messages.
    @Test func theProgramTellsSoundFromSpliceMessages() throws {
        func role(_ program: [UInt8], _ own: [UInt8]) throws -> ElementaryStreamDescription {
            let map = SyntheticStream.map(
                program: 1, streams: [(SyntheticStream.videoID, 0x1B, []), (0x200, 0x86, own)], descriptors: program)
            return try #require(ProgramDescription(map, mapID: 0x100)).streams[1]
        }
        func registration(_ name: String) -> [UInt8] { [5, 4] + Array(name.utf8) }
        #expect(try role([], []).role == .ignored && role(registration("CUEI"), []).role == .ignored)
        #expect(try role(registration("HDMV"), []).codec == .dts && role(registration("HDMV"), []).role == .passing)
        #expect(try role([], registration("DTS2")).codec == .dts && role([5, 200], []).role == .ignored)
    }

    /// A map that says something else under the same version.
    @Test func aMapMayChangeWithoutANewVersion() {
        var random = SplitMix64(seed: 84)
        var stream = SyntheticStream()
        _ = EndOfUnitTests.plain(10, into: &stream, &random)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x200, 0x0F, [])])
        _ = EndOfUnitTests.plain(10, into: &stream, from: 10, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.programs.map(\.streams.count) == [1, 2] && harvest.video.count == 20)
    }

    /// A map that names two videos, and nothing comes of the first. The second one is followed then, also under later maps.
    @Test func aVideoOfWhichNothingComesIsLeft() {
        var random = SplitMix64(seed: 85)
        var stream = SyntheticStream(tables: false)
        let streams: [(id: Int, type: UInt8, descriptors: [UInt8])] = [(0x1F0, 0x1B, []), (SyntheticStream.videoID, 0x1B, [])]
        stream.addTables(streams: streams)
        var units = EndOfUnitTests.plain(40, into: &stream, &random)
        stream.addTables(streams: streams)
        units += EndOfUnitTests.plain(10, into: &stream, from: 40, &random)
        stream.addTables(streams: streams + [(0x200, 0x0F, [])], version: 1)
        units += EndOfUnitTests.plain(10, into: &stream, from: 50, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.programs.map { $0.mainVideo?.id } == [0x1F0, SyntheticStream.videoID, SyntheticStream.videoID])
        #expect(harvest.video.map(\.bytes) == units.suffix(46))
    }

    /// The first video stays the main one where it comes at all.
    @Test func theFirstVideoMayBeginLater() {
        var random = SplitMix64(seed: 86)
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x1F0, 0x1B, [])])
        for _ in 0..<14 { stream.addPacket(SyntheticStream.header(pts: 9000) + [0, 0, 1, 9], id: 0x1F0, startsUnit: true) }
        let units = EndOfUnitTests.plain(10, into: &stream, &random)
        for _ in 0..<30 { stream.addPacket(SyntheticStream.header(pts: 9000) + [0, 0, 1, 9], id: 0x1F0, startsUnit: true) }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.programs.count == 1 && harvest.video.map(\.bytes) == units)
    }
}
