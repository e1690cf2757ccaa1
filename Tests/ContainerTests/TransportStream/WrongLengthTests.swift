import Media
import Testing

@testable import Container

/// PES packets whose length is not that of their payload.
@Suite struct WrongLengthTests {
    /// Units of any size under 16 bits of their length, as a muxer writes that never asks whether they suffice.
    private func wrapped(_ sizes: [Int], id: Int = SyntheticStream.videoID, into stream: inout SyntheticStream) -> [[UInt8]] {
        var random = SplitMix64(seed: 41)
        return sizes.enumerated().map { k, size in
            let unit = SyntheticPicture.unit(size: size, isKey: k % 30 == 0, &random)
            var header = SyntheticStream.header(pts: 90_000 + Int64(k) * 3000)
            let length = (header.count - 6 + unit.count) & 0xFFFF
            (header[4], header[5]) = (UInt8(length >> 8), UInt8(length & 255))
            Self.add(header + unit, id: id, to: &stream)
            return unit
        }
    }

    private static func add(_ pes: [UInt8], id: Int = SyntheticStream.videoID, to stream: inout SyntheticStream) {
        for start in stride(from: 0, to: pes.count, by: 184) {
            stream.addPacket(Array(pes[start..<min(pes.count, start + 184)]), id: id, startsUnit: start == 0)
        }
    }

    @Test func aLengthThatTheDataContradictsLoses() {
        var stream = SyntheticStream()
        let sizes = [70_000, 66_000, 131_000, 65_600, 140_000, 900, 1_200, 67_000, 1_000, 65_536, 65_535, 200_000]
        let units = wrapped(sizes, into: &stream)
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(harvest.video.dropLast().allSatisfy(\.damage.isEmpty) && counters.orphanBytes == 0)
    }

    /// The length modulo 65,536 is reached with a packet's last byte, so that only the next packet contradicts it.
    @Test func anEndThatFillsAPacketIsNotBelievedInSuchAStream() {
        var stream = SyntheticStream()
        // 14 bytes of header; the wrapped length ends with packet 4.
        let exact = 65_536 + 4 * 184 - 14
        let units = wrapped([70_000, 900, 900, 900, 900] + Array(repeating: exact, count: 6) + [900, 900], into: &stream)
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters[.length] >= 2, "units whose packets are stuffed still end by their length")
    }

    @Test func aLengthWithoutRoomForItsHeaderSaysNothing() {
        var random = SplitMix64(seed: 42)
        var stream = SyntheticStream()
        let units = (0..<40).map { k in
            let unit = SyntheticPicture.unit(size: 900, isKey: k % 30 == 0, &random)
            var header = SyntheticStream.header(pts: 90_000 + Int64(k) * 3000)
            header[5] = 2
            Self.add(header + unit, to: &stream)
            return unit
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters[.stuffing] > 0)
    }

    /// What fills a packet behind the end of its PES packet is none of the payload.
    @Test func paddingInThePayloadIsLeftOut() {
        var random = SplitMix64(seed: 43)
        var stream = SyntheticStream()
        let units = (0..<20).map { k in
            let unit = SyntheticPicture.unit(size: 700, isKey: k % 30 == 0, &random)
            let pes = SyntheticStream.header(pts: 90_000 + Int64(k) * 3000, length: unit.count) + unit
            Self.add(pes + [UInt8](repeating: 0xFF, count: 184 - pes.count % 184), to: &stream)
            return unit
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        EndOfUnitTests.expectExact(harvest, units)
        #expect(counters[.length] == 17)
    }

    /// Each unit in several PES packets of any right length, of which the first alone has time stamps.
    @Test(arguments: [1, 100, 400, 65_000, 65_500]) func aUnitMayLieInSeveralPackets(part: Int) {
        var random = SplitMix64(seed: 44)
        var stream = SyntheticStream()
        let units = (0..<12).map { k in
            let unit = SyntheticPicture.unit(size: part < 1000 ? 900 : 140_000, isKey: k % 6 == 0, &random)
            var start = 0
            while start < unit.count {
                // The first part may end inside the parameter sets.
                let piece = Array(unit[start..<min(unit.count, start + (start == 0 ? part : max(part, 300)))])
                Self.add(
                    SyntheticStream.header(pts: start == 0 ? 90_000 + Int64(k) * 3000 : nil, length: piece.count) + piece,
                    to: &stream)
                start += piece.count
            }
            return unit
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        EndOfUnitTests.expectExact(harvest, units)
        // The last one ends with the stream.
        #expect(harvest.video.dropLast().allSatisfy(\.damage.isEmpty) && counters.orphanBytes == 0)
        #expect(harvest.video.map(\.presentation) == (0..<12).map { MediaTime(ticks: 90_000 + $0 * 3000) })
    }

    /// Video beside the main one passes whole, too.
    @Test func furtherVideoPassesWhole() {
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x200, 0x1B, [])])
        let units = wrapped([70_000, 900, 66_000], id: 0x200, into: &stream)
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.others.map(\.bytes) == units)
    }
}
