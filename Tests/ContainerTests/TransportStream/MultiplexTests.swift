import Media
import TestSupport
import Testing

@testable import Container

/// Other programs than the one that is followed: their packets come out as they are.
@Suite struct MultiplexTests {
    typealias Streams = [(id: Int, type: UInt8, descriptors: [UInt8])]

    /// Program 1 (video on 0x101, sound on 0x102) and program 2 (0x201, 0x202).
    private static func tables(
        first: Streams = [(0x101, 0x1B, []), (0x102, 0x0F, [])], second: Streams = [(0x201, 0x1B, []), (0x202, 0x0F, [])],
        clock: Int = 0x201, version: Int = 0, descriptors: [UInt8] = []
    ) -> SyntheticStream {
        var stream = SyntheticStream(tables: false)
        stream.addSection(SyntheticStream.association([(0, 0x1F0), (1, 0x100), (2, 0x200)], stream: 77), id: 0)
        stream.addSection(SyntheticStream.map(program: 1, streams: first), id: 0x100)
        stream.addSection(
            SyntheticStream.map(program: 2, streams: second, version: version, clock: clock, descriptors: descriptors),
            id: 0x200)
        return stream
    }

    private func payload(_ random: inout SplitMix64) -> [UInt8] {
        (0..<184).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func identifier(_ packet: [UInt8]) -> Int { Int(packet[1] & 0x1F) << 8 | Int(packet[2]) }

    /// In order and byte for byte, whatever the pieces that they come in, also where a counter jumps or a packet is scrambled.
    @Test(arguments: [1, 188, 500, 1316, 1 << 20]) func packetsPassAsTheyAre(size: Int) throws {
        var random = SplitMix64(seed: 50)
        // Program 2 has messages for descramblers: named in both kinds of loops, and by the access table.
        var stream = Self.tables(
            second: [(0x201, 0x1B, [0x09, 4, 0, 1, 0xE2, 0x11]), (0x202, 0x86, [])], clock: 0x203,
            descriptors: [0x09, 4, 0, 1, 0xE2, 0x10])
        var units: [[UInt8]] = []
        let access = SyntheticStream.section(table: 1, extension: 0xFFFF, version: 0, body: [0x09, 4, 0, 1, 0xE2, 0x20])
        stream.addSection(access, id: 1)
        let known = stream.packets.count
        for k in 0..<40 {
            let unit = SyntheticPicture.unit(size: 700, isKey: k == 0, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000)
            units.append(unit)
            // Streams, clock, descramblers', network, services, events, ATSC's tables.
            for id in [0x201, 0x202, 0x203, 0x210, 0x211, 0x220, 0x1F0, 0x11, 0x12, 0x1FFB] {
                stream.addPacket(payload(&random), id: id)
            }
            if k % 7 == 0 { stream.skipContinuity(by: 3, id: 0x201) }
            if k % 5 == 0 { stream.packets[stream.packets.count - 10][3] |= 0xC0 }
            // Of no program: what nobody names, and what fills.
            stream.addPacket(payload(&random), id: 0x300)
            stream.addNull()
        }
        let own = [0, 0x100, 0x101, 0x102, 0x300, 0x1FFF]
        // The map of program 2 and the access table complete what is known.
        let expected = stream.packets[2...].filter { !own.contains(identifier($0)) }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: size)
        #expect(harvest.passed == expected.flatMap { $0 })
        #expect(harvest.video.map(\.bytes) == units)
        #expect(counters.unusedPackets == 40 && known == 4)
        #expect(counters.continuityGaps == 0 && counters.scrambledPackets == 0)
        let multiplex = try #require(harvest.multiplexes.last ?? nil)
        #expect(multiplex.transportStreamID == 77 && multiplex.networkPID == 0x1F0)
        #expect(multiplex.program == .init(number: 1, mapPID: 0x100) && multiplex.others == [.init(number: 2, mapPID: 0x200)])
        #expect(multiplex.videoPID == 0x101 && multiplex.passedPIDs == [0x102] && multiplex.leftOut.isEmpty)
        #expect(harvest.programs.count == 1)
    }

    @Test func aStreamOfOneProgramHasNoOther() {
        var random = SplitMix64(seed: 51)
        var stream = SyntheticStream()
        _ = EndOfUnitTests.plain(5, into: &stream, &random)
        for _ in 0..<3 { stream.addPacket(payload(&random), id: 0x11) }
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        #expect(harvest.multiplexes == [nil] && harvest.passed.isEmpty && counters.unusedPackets == 3)
    }

    /// A stream that both programs name comes out twice: as units, and as packets.
    @Test(arguments: [false, true]) func whatIsSharedComesOutTwice(isClock: Bool) throws {
        var random = SplitMix64(seed: 52)
        var stream =
            isClock ? Self.tables(clock: 0x101) : Self.tables(second: [(0x101, 0x1B, []), (0x102, 0x0F, [])], clock: 0x101)
        let tables = stream.packets.count
        let units = EndOfUnitTests.plain(10, into: &stream, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(harvest.passed == stream.packets[(tables - 1)...].flatMap { $0 })
    }

    @Test func aMapThatChangesChangesWhatPasses() throws {
        var random = SplitMix64(seed: 53)
        var stream = Self.tables()
        var expected: [[UInt8]] = [stream.packets.last!]
        func add(_ id: Int, passes: Bool) {
            stream.addPacket(payload(&random), id: id)
            if passes { expected.append(stream.packets.last!) }
        }
        add(0x202, passes: true)
        add(0x204, passes: false)
        stream.addSection(
            SyntheticStream.map(program: 2, streams: [(0x201, 0x1B, []), (0x204, 0x0F, [])], version: 1, clock: 0x201),
            id: 0x200)
        expected.append(stream.packets.last!)
        add(0x202, passes: false)
        add(0x204, passes: true)
        // The program goes, and another comes.
        stream.addSection(SyntheticStream.association([(1, 0x100)], version: 1), id: 0)
        add(0x201, passes: false)
        add(0x11, passes: true)
        stream.addSection(SyntheticStream.association([(1, 0x100), (9, 0x900)], version: 2), id: 0)
        stream.addSection(SyntheticStream.map(program: 9, streams: [(0x901, 0x1B, [])], clock: 0x901), id: 0x900)
        expected.append(stream.packets.last!)
        add(0x901, passes: true)
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        #expect(harvest.passed == expected.flatMap { $0 } && counters.unusedPackets == 3)
        // A multiplex stays one when its other programs have gone. The maps of programs 2 and 9 make one more each.
        #expect(harvest.multiplexes.map { $0?.others.map(\.number) } == [[2], [2], [2], [], [9], [9]])
        #expect(harvest.multiplexes.allSatisfy { $0?.program.number == 1 })
    }

    @Test func afterARestartTheMultiplexIsReportedAnew() {
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        harvest.push(Self.tables().bytes, into: &demuxer, size: 188)
        demuxer.restart(handler: harvest.add)
        harvest.push(SyntheticStream().bytes, into: &demuxer, size: 188)
        #expect(harvest.multiplexes.map { $0?.others.count } == [1, 1, nil])
        let passed = harvest.passed
        harvest.push(Self.tables().packets.last!, into: &demuxer, size: 188)
        #expect(harvest.passed == passed)
    }

    /// The association that goes out is one section: 253 lines.
    @Test(arguments: [false, true]) func programsBeyondASectionAreLeftOut(hasNetwork: Bool) throws {
        var stream = SyntheticStream(tables: false)
        let lines = (1...255).map { ($0, 0x100 + $0) }
        let sections = [(hasNetwork ? [(0, 0x10)] : []) + Array(lines[..<200]), Array(lines[200...])]
        for (index, part) in sections.enumerated() {
            let body = SyntheticStream.association(part)
            // Sections 0 and 1 of 2.
            var section = Array(body.dropLast(4))
            (section[6], section[7]) = (UInt8(index), 1)
            let sum = CRC32.mpeg(section)
            section += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
            stream.addSection(section, id: 0)
        }
        for (number, id) in lines {
            stream.addSection(SyntheticStream.map(program: number, streams: [(0x1000 + number, 0x1B, [])]), id: id)
        }
        let harvest = Harvest.of(stream.bytes).harvest
        let multiplex = try #require(harvest.multiplexes.last ?? nil)
        #expect(multiplex.others.count == (hasNetwork ? 251 : 252))
        #expect(multiplex.leftOut == Array((hasNetwork ? 253 : 254)...255))
        let left = Int(multiplex.leftOut[0])
        #expect(!multiplex.passing.contains(0x100 + left) && !multiplex.passing.contains(0x1000 + left))
    }

    /// Programs that name thousands of identifiers, some of them the followed program's, leave that one room.
    @Test func identifiersThatPassAreBounded() throws {
        var stream = SyntheticStream(tables: false)
        stream.addSection(SyntheticStream.association((1...40).map { ($0, 0x20 + $0) }), id: 0)
        stream.addSection(SyntheticStream.map(program: 1, streams: [(0x1001, 0x1B, [])]), id: 0x21)
        for program in 2...40 {
            let streams: Streams = (0..<200).map { (0x100 + (program - 2) * 200 + $0, 0x1B, []) }
            let map = SyntheticStream.map(program: program, streams: streams.filter { $0.id < 0x1FFF }, clock: 0x1FFF)
            stream.addSection(map, id: 0x20 + program)
        }
        let multiplex = try #require(Harvest.of(stream.bytes).harvest.multiplexes.last ?? nil)
        #expect(multiplex.passing.count <= Multiplex.mostIdentifiers + 40)
        #expect(multiplex.others.count == 20 && multiplex.leftOut.count == 19)
        #expect(!multiplex.passing.contains(0x20 + 25))
    }

    /// The map of a program cannot pass where the followed program's own is, nor on an identifier that is none.
    @Test func aProgramOnOurMapsIdentifierIsLeftOut() throws {
        var stream = SyntheticStream(tables: false)
        stream.addSection(
            SyntheticStream.association([(1, 0x100), (2, 0x100), (3, 0x1FFF), (4, 3), (5, 0x500), (5, 0x501)]), id: 0)
        for _ in 0..<3 {
            stream.addSection(SyntheticStream.map(program: 1, streams: [(0x101, 0x1B, [])]), id: 0x100)
            stream.addSection(SyntheticStream.map(program: 2, streams: [(0x201, 0x1B, [])]), id: 0x100)
        }
        let harvest = Harvest.of(stream.bytes).harvest
        let multiplex = try #require(harvest.multiplexes.last ?? nil)
        #expect(multiplex.others == [.init(number: 5, mapPID: 0x500)] && multiplex.leftOut == [2, 3, 4])
        #expect(harvest.passed.isEmpty)
    }

    /// Tables that change with every packet.
    @Test func aFloodOfMapsKeepsThePictures() {
        var random = SplitMix64(seed: 54)
        var stream = Self.tables()
        var units: [[UInt8]] = []
        for k in 0..<200 {
            let unit = SyntheticPicture.unit(size: 700, isKey: k == 0, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000)
            units.append(unit)
            let streams: Streams = (0..<30).map { _ in (Int.random(in: 0x10..<0x1FFF, using: &random), 0x1B, []) }
            stream.addSection(
                SyntheticStream.map(
                    program: 2, streams: streams + (k % 3 == 0 ? [(0x101, 0x1B, [])] : []), version: k & 31, clock: 0x101),
                id: 0x200)
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units && harvest.programs.count == 1)
        #expect(harvest.multiplexes.count > 200 && counters.continuityGaps == 0)
    }
}
