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

    /// The last unit has no next start. Where its last packet has room left, it is whole.
    @Test(arguments: [0, 1, 2, 100]) func theLastUnitIsWholeUnlessItIsCut(missing: Int) {
        var stream = SyntheticStream()
        let units = wrapped([70_000, 66_000, 131_000], into: &stream)
        let (harvest, _, _) = Harvest.of(stream.packets.dropLast(missing).flatMap { $0 })
        #expect(harvest.video.count == 3 && harvest.video.dropLast().allSatisfy(\.damage.isEmpty))
        #expect(harvest.video.last?.damage == (missing == 0 ? [] : .truncated))
        #expect((harvest.video.last?.bytes == units.last) == (missing == 0))
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

    /// How a muxer writes units that are larger than a length can say.
    enum Writing: CaseIterable {
        /// The length modulo 65,536.
        case wrapped
        /// Each unit in two PES packets.
        case halves
        /// Large units in two PES packets, and others in one.
        case largeHalves
        /// As many full PES packets as it takes.
        case pieces
    }

    /// The pictures of an encoder, of which some are made larger than a length can say: each comes out as it went in, with its times.
    @Test(arguments: ["ffmpeg", "ffmpeg-bframes", "hevc"], Writing.allCases)
    func picturesOfAnEncoderComeWhole(name: String, writing: Writing) throws {
        let golden = try GoldenStream(name)
        let video = Harvest.of(golden.bytes).harvest.video
        try #require(video.map(\.checksum) == golden.units.map(\.checksum) && video.count >= 30)
        var random = SplitMix64(seed: 45)
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, name.hasPrefix("hevc") ? 0x24 : 0x1B, [])])
        var units: [[UInt8]] = []
        for (k, unit) in video.enumerated() {
            // The last slice grows.
            let more = k % 7 == 0 ? Int.random(in: 66_000...140_000, using: &random) : 0
            let bytes = unit.bytes + (0..<more).map { _ in UInt8.random(in: 4...255, using: &random) }
            units.append(bytes)
            let time = try #require(unit.presentation).ticks
            let decode = unit.decode.map(\.ticks)
            let header = SyntheticStream.header(pts: time, dts: decode == time ? nil : decode)
            let room =
                switch writing {
                case .wrapped: bytes.count
                case .halves: (bytes.count + 1) / 2
                case .largeHalves: more > 0 ? (bytes.count + 1) / 2 : bytes.count
                case .pieces: 65_500
                }
            for start in stride(from: 0, to: bytes.count, by: room) {
                let part = bytes[start..<min(bytes.count, start + room)]
                var head = start == 0 ? header : SyntheticStream.header(pts: nil)
                let length = (head.count - 6 + part.count) & 0xFFFF
                (head[4], head[5]) = (UInt8(length >> 8), UInt8(length & 255))
                Self.add(head + part, to: &stream)
            }
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes)
        EndOfUnitTests.expectExact(harvest, units)
        // The last one ends with the stream.
        #expect(harvest.video.dropLast().allSatisfy(\.damage.isEmpty) && counters.orphanBytes == 0)
        #expect(harvest.video.map(\.presentation) == video.map(\.presentation))
        #expect(harvest.video.map(\.decode) == video.map(\.decode))
        #expect(harvest.video.map(\.isKeyframe) == video.map(\.isKeyframe))
        // Small units in one PES packet still end by their length, however the large ones are written.
        if writing == .largeHalves { #expect(counters[.length] > video.count / 3) }
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
