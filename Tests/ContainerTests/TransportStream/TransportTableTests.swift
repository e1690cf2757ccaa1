import Media
import TestSupport
import Testing

@testable import Container

/// Tables, time stamps, and what is not a good stream.
@Suite struct TransportTableTests {
    @Test func aMapMayChangeTheVideosPID() {
        var random = SplitMix64(seed: 21)
        var stream = SyntheticStream()
        var units = EndOfUnitTests.plain(10, into: &stream, &random)
        stream.addTables(streams: [(0x180, 0x1B, [])], version: 1)
        for k in 10..<20 {
            let unit = SyntheticPicture.unit(size: 700, isKey: k == 10, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000, id: 0x180)
            units.append(unit)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(harvest.programs.map(\.version) == [0, 1])
        #expect(harvest.video.map(\.stream).last == 0x180)
    }

    @Test func theAssociationMayMoveTheMap() {
        var random = SplitMix64(seed: 22)
        var stream = SyntheticStream()
        var units = EndOfUnitTests.plain(10, into: &stream, &random)
        stream.addTables(mapID: 0x1F0, version: 1)
        units += EndOfUnitTests.plain(10, into: &stream, from: 10, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(harvest.programs.map(\.mapID) == [0x100, 0x1F0])
    }

    @Test func aRepeatedMapChangesNothing() {
        var random = SplitMix64(seed: 23)
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        for k in 0..<10 {
            units += EndOfUnitTests.plain(5, into: &stream, from: k * 5, &random)
            stream.addTables()
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(harvest.programs.count == 1)
    }

    @Test func aMapMaySpanPackets() throws {
        var stream = SyntheticStream(tables: false)
        var streams: [(id: Int, type: UInt8, descriptors: [UInt8])] = (0..<20).map {
            (0x200 + $0, 0x0F, [0x0A, 4, 0x64, 0x65, 0x75, 0])
        }
        streams.append((SyntheticStream.videoID, 0x1B, []))
        streams.append((0x300, 0x06, [0x05, 4] + Array("Opus".utf8)))
        streams.append((0x301, 0x24, []))
        streams.append((0x302, 0x86, []))
        streams.append((0x303, 0x1B, []))
        stream.addTables(streams: streams)
        let (harvest, _, diagnosis) = Harvest.of(stream.bytes + [UInt8](repeating: 0, count: 0), size: 188)
        let program = try #require(harvest.programs.first)
        #expect(program.streams.count == 25)
        #expect(program.mainVideo?.id == SyntheticStream.videoID)
        #expect(program.streams[0].descriptors == [0x0A, 4, 0x64, 0x65, 0x75, 0])
        #expect(program.streams[21].codec == .opus && program.streams[21].role == .passing)
        #expect(program.streams[22].codec.name == "HEVC" && program.streams[22].role == .passing)
        #expect(program.streams[23].role == .ignored)
        #expect(program.streams[24].codec == .h264 && program.streams[24].role == .passing)
        #expect(diagnosis == .noParameters)
    }

    @Test func aSectionWithAWrongChecksumIsDropped() {
        var stream = SyntheticStream(tables: false)
        stream.addSection(SyntheticStream.association([(1, 0x100)]), id: 0)
        var map = SyntheticStream.map(program: 1, streams: [(0x101, 0x1B, [])])
        map[14] ^= 1
        stream.addSection(map, id: 0x100)
        stream.addNull()
        let (harvest, counters, diagnosis) = Harvest.of(stream.bytes, size: 188 * 3)
        #expect(harvest.programs.isEmpty && counters.sectionFaults == 1 && diagnosis == .noMap)
    }

    @Test func theFirstProgramWithVideoIsFollowed() {
        var stream = SyntheticStream(tables: false)
        stream.addSection(SyntheticStream.association([(1, 0x100), (2, 0x110), (3, 0x120)]), id: 0)
        stream.addSection(SyntheticStream.map(program: 3, streams: [(0x301, 0x1B, [])]), id: 0x120)
        stream.addSection(SyntheticStream.map(program: 2, streams: [(0x201, 0x1B, [])]), id: 0x110)
        stream.addSection(SyntheticStream.map(program: 1, streams: [(0x101, 0x0F, [])]), id: 0x100)
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.programs.map(\.number) == [2])
    }

    @Test func aProgramWhoseMapNeverComesIsNotWaitedForLong() {
        var stream = SyntheticStream(tables: false)
        for _ in 0..<3 {
            stream.addSection(SyntheticStream.association([(1, 0x100), (2, 0x110)]), id: 0)
            stream.addSection(SyntheticStream.map(program: 2, streams: [(0x201, 0x1B, [])]), id: 0x110)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.programs.map(\.number) == [2])
    }

    @Test func stampsUnwrap() {
        var random = SplitMix64(seed: 24)
        var stream = SyntheticStream()
        let top = Int64(1) << 33
        let stamps = (0..<10).map { top - 15_000 + Int64($0) * 3000 } + [5_000_000, 5_003_000, 1_000_000]
        for stamp in stamps {
            let unit = SyntheticPicture.unit(size: 700, isKey: true, &random)
            stream.addPES(unit, pts: (stamp + 6000) % top, dts: stamp % top)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        let first = harvest.video[0].decode!.ticks
        #expect(harvest.video.prefix(10).map { $0.decode!.ticks - first } == (0..<10).map { Int64($0) * 3000 })
        #expect(harvest.video.map { $0.presentation! - $0.decode! } == stamps.map { _ in 6000 })
    }

    @Test func otherStreamsPassWithTheirStamps() {
        var random = SplitMix64(seed: 25)
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(0x101, 0x1B, []), (0x102, 0x0F, [])])
        var sound: [[UInt8]] = []
        for k in 0..<30 {
            _ = EndOfUnitTests.plain(1, into: &stream, from: k, &random)
            let frame = (0..<Int.random(in: 1...600, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
            stream.addPES(frame, pts: Int64(k) * 1920, bounded: k % 7 != 0, id: 0x102)
            sound.append(frame)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.others.map(\.bytes) == sound)
        let times = (0..<30 as Range<Int64>).map { $0 * 1920 }
        #expect(harvest.others.map { $0.presentation!.ticks } == times)
        #expect(harvest.others.allSatisfy { ($0.evidence == .length) == ($0.serial % 7 != 0) })
    }

    @Test func otherPacketsBetweenDoNoHarm() throws {
        var random = SplitMix64(seed: 26)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(40, into: &stream, &random)
        var mixed = SyntheticStream(tables: false)
        var clocks = 0
        for (k, packet) in stream.packets.enumerated() {
            mixed.packets.append(packet)
            if k % 3 == 0 { mixed.addNull() }
            if k % 4 == 1, k > 2 {
                // Clock references carry the counter of the packet before.
                mixed.skipContinuity(by: (Int(packet[3] & 15) + 16 - 15) & 15)
                mixed = mixed.withClock(after: packet, ticks: Int64(k) * 1000)
                clocks += 1
            }
        }
        let (harvest, counters, _) = Harvest.of(mixed.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(mixed.packets.count { $0[1] == 0x1F && $0[2] == 0xFF } > 30 && clocks > 30)
        #expect(counters.continuityGaps == 0 && counters[.stuffing] > 10)
    }

    @Test func brokenAndScrambledPacketsDamageTheirUnit() {
        var random = SplitMix64(seed: 27)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(40, into: &stream, &random)
        let known = Set(units)
        for (index, bit) in [(1, UInt8(0x80)), (3, UInt8(0x80))] {
            var packets = stream.packets
            packets[20][index] |= bit
            let (harvest, counters, _) = Harvest.of(packets.joined(), size: 188)
            #expect(harvest.video.count { !$0.damage.isEmpty } == 1)
            #expect(harvest.video.allSatisfy { !$0.damage.isEmpty || known.contains($0.bytes) })
            #expect(counters.brokenPackets + counters.scrambledPackets == 1)
        }
    }

    /// Program tables have at most 1,024 bytes (2.4.4.9). What says that it is longer is no table.
    @Test(arguments: [true, false]) func aProgramMapThatIsTooLongIsBroken(isTooLong: Bool) {
        var random = SplitMix64(seed: 9)
        var stream = SyntheticStream(tables: false)
        // 12 bytes before the streams and 4 behind, 5 for each stream.
        let length = 1024 - 16 - 2 * 5 + (isTooLong ? 1 : 0)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x102, 0x0F, [UInt8](repeating: 0x80, count: length))])
        _ = EndOfUnitTests.plain(5, into: &stream, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        #expect(counters.sectionFaults == (isTooLong ? 1 : 0))
        #expect(harvest.video.count == (isTooLong ? 0 : 5))
    }

    /// The first packet of a unit is lost after the unit before was delivered. What is left of the unit belongs to
    /// nothing, and the unit after it keeps its stamps and slices.
    @Test(arguments: [true, false]) func aLostBeginningLeavesTheNextUnitWhole(hasDelimiters: Bool) {
        var random = SplitMix64(seed: 36)
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        var starts: [Int] = []
        for k in 0..<100 {
            let size = Int.random(in: 500...1500, using: &random)
            let isKey = k % 30 == 0
            let unit =
                hasDelimiters || isKey
                ? SyntheticPicture.unit(size: size, isKey: isKey, &random) : SyntheticPicture.slice(size, &random)
            starts.append(stream.packets.count)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000)
            units.append(unit)
        }
        for lost in [85, 89, 90, 91, 95] {
            var packets = stream.packets
            packets.remove(at: starts[lost])
            let (harvest, counters, _) = Harvest.of(packets.joined(), size: 188)
            let rest = units.indices.filter { $0 != lost }
            #expect(harvest.video.count == rest.count)
            for (unit, index) in zip(harvest.video, rest) {
                #expect(unit.bytes == units[index] && unit.damage.isEmpty, "unit \(index) of \(lost)")
                #expect(unit.presentation?.ticks == 90_000 + Int64(index) * 3000, "unit \(index) of \(lost)")
            }
            #expect(counters.orphanBytes > 300 && counters.tornUnits == 0)
        }
    }

    /// Sixteen packets lost leave the continuity counter as it was.
    @Test func aLossThatCountersHideIsReportedByTheTransport() {
        var random = SplitMix64(seed: 28)
        var stream = SyntheticStream()
        let unit = SyntheticPicture.unit(size: 184 * 30, isKey: true, &random)
        stream.addPES(unit, pts: 0)
        _ = EndOfUnitTests.plain(2, into: &stream, from: 1, &random)
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        harvest.push(stream.packets[..<8].joined(), into: &demuxer, size: 188)
        demuxer.recordLoss()
        harvest.push(stream.packets[24...].joined(), into: &demuxer, size: 188)
        demuxer.finish(handler: harvest.add)
        #expect(harvest.video.first?.damage == .packetsLost)
    }

    @Test func afterARestartTheNextStreamIsDiagnosedAnew() {
        var random = SplitMix64(seed: 30)
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        var first = SyntheticStream()
        let units = EndOfUnitTests.plain(10, into: &first, &random)
        harvest.push(first.packets.joined(), into: &demuxer, size: 188)
        demuxer.restart(handler: harvest.add)
        #expect(harvest.video.map(\.bytes) == units)
        #expect(demuxer.diagnosis == .noPackets && demuxer.program == nil && demuxer.format == nil)
        #expect(demuxer.packets == first.packets.count)

        var second = SyntheticStream(tables: false)
        second.addNull()
        harvest.push(second.packets.joined(), into: &demuxer, size: 188)
        #expect(demuxer.diagnosis == .noAssociation)
        second = SyntheticStream(tables: false)
        second.addTables(streams: [(0x101, 0x33, [])])
        harvest.push(second.packets.joined(), into: &demuxer, size: 188)
        #expect(demuxer.diagnosis == .unsupportedVideo(.vvc))

        demuxer.restart(handler: harvest.add)
        harvest.push(first.packets.joined(), into: &demuxer, size: 188)
        demuxer.finish(handler: harvest.add)
        #expect(harvest.video.map(\.bytes) == units + units)
        #expect(harvest.programs.count == 3)
    }

    @Test func bothFieldsOfAFrameAreOneUnit() {
        var random = SplitMix64(seed: 29)
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        for k in 0..<20 {
            var unit: [UInt8] = []
            if k == 0 { unit += SyntheticField.parameters }
            unit += SyntheticField.slice(frame: k % 16, isBottom: false, &random)
            unit += SyntheticPicture.delimiter + SyntheticField.slice(frame: k % 16, isBottom: true, &random)
            stream.addPES(SyntheticPicture.delimiter + unit, pts: Int64(k) * 3600)
            units.append(SyntheticPicture.delimiter + unit)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.video.map(\.bytes) == units)
    }
}

extension SyntheticStream {
    /// Adds a packet without payload that carries the same counter as `packet`.
    func withClock(after packet: [UInt8], ticks: Int64) -> SyntheticStream {
        var copy = self
        copy.addClockOnly(ticks: ticks)
        copy.packets[copy.packets.count - 1][3] = 0x20 | packet[3] & 15
        copy.packets[copy.packets.count - 1][1] = packet[1] & 0x1F
        copy.packets[copy.packets.count - 1][2] = packet[2]
        return copy
    }
}

/// Field pictures: a main profile sequence that allows fields.
enum SyntheticField {
    static let parameters: [UInt8] = {
        var w = BitWriter()
        for byte in [0x67, 77, 0, 21] { w.bits(byte, 8) }
        for code in [0, 0, 2, 2] { w.unsigned(code) }
        w.bits(0, 1)
        w.unsigned(7)
        w.unsigned(2)
        // Fields allowed, no adaptive ones; inference, no crop, no usability information.
        w.bits(0b0_0_1_0_0, 5)
        return [0, 0, 0, 1] + w.finished + SyntheticPicture.pictureParameters
    }()

    static func slice(frame: Int, isBottom: Bool, _ random: inout SplitMix64) -> [UInt8] {
        var w = BitWriter()
        w.unsigned(0)
        w.unsigned(5)
        w.unsigned(0)
        w.bits(frame, 4)
        w.bits(isBottom ? 0b11 : 0b10, 2)
        return [0, 0, 1, 0x61] + w.padded + (0..<300).map { _ in UInt8.random(in: 4...255, using: &random) }
    }
}
