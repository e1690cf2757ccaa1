import Bitstream
import Media
import Testing

@testable import Container

/// Whatever the bytes are: typed facts, no crash, bounded memory.
@Suite(.timeLimit(.minutes(5))) struct BadStreamTests {
    /// Zeros without end behind a unit that was delivered early. Each is read once: read again with each packet, they would
    /// take minutes.
    @Test func zerosBehindAnEarlyEnd() {
        var random = SplitMix64(seed: 8)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(10, bounded: true, into: &stream, &random)
        let zeros = [UInt8](repeating: 0, count: 184)
        stream.addPacket(SyntheticStream.header(pts: nil) + zeros.dropLast(9), startsUnit: true)
        let packets = 20_000
        for _ in 0..<packets { stream.addPacket(zeros) }
        let after = EndOfUnitTests.plain(2, bounded: true, into: &stream, from: 30, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes)
        #expect(harvest.video.prefix(10).map(\.bytes) == units && harvest.video[4].evidence == .length)
        // Zeros before a start code belong to what follows.
        #expect(harvest.video.count == 12 && harvest.video[10].bytes.count == 175 + packets * 184 + after[0].count)
        #expect(harvest.video[11].bytes == after[1])
    }

    @Test func randomBytesAreNoStream() {
        var random = SplitMix64(seed: 31)
        let noise = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let (harvest, counters, diagnosis) = Harvest.of(noise)
        #expect(harvest.video.isEmpty)
        #expect(diagnosis == .noPackets || diagnosis == .noAssociation)
        #expect(counters.skippedBytes > 190_000)
    }

    @Test func packetsWithoutTables() {
        var random = SplitMix64(seed: 32)
        var stream = SyntheticStream(tables: false)
        _ = EndOfUnitTests.plain(10, into: &stream, &random)
        #expect(Harvest.of(stream.bytes).diagnosis == .noAssociation)
        var unmapped = SyntheticStream(tables: false)
        unmapped.addSection(SyntheticStream.association([(1, 0x100)]), id: 0)
        unmapped.packets += stream.packets
        let (_, counters, diagnosis) = Harvest.of(unmapped.bytes)
        #expect(diagnosis == .noMap && counters.unusedPackets == stream.packets.count)
    }

    @Test func whatCannotBeDecodedIsNamed() throws {
        let golden = try GoldenStream("mpeg2-opus")
        let (harvest, _, diagnosis) = Harvest.of(golden.bytes)
        guard case .video(let format) = diagnosis else { return #expect(Bool(false), "\(diagnosis)") }
        #expect(format.codec == .mpeg2Video)
        #expect(harvest.programs.first?.streams.map(\.codec.name) == ["MPEG-2 video", "Opus"])
        for (type, codec) in [(UInt8(0xEA), StreamCodec.vc1), (0x33, .vvc), (0x10, .mpeg4Video)] {
            var other = SyntheticStream(tables: false)
            other.addTables(streams: [(0x101, type, [])])
            other.addNull()
            #expect(Harvest.of(other.bytes).diagnosis == .unsupportedVideo(codec))
        }
        #expect(harvest.others.count > 2)
        var sound = SyntheticStream(tables: false)
        sound.addTables(streams: [(0x101, 0x0F, [])])
        sound.addNull()
        #expect(Harvest.of(sound.bytes).diagnosis == .noVideo(streams: [.aacADTS]))
    }

    @Test func scrambledVideoIsNamed() {
        var random = SplitMix64(seed: 35)
        var stream = SyntheticStream()
        _ = EndOfUnitTests.plain(4, into: &stream, &random)
        for index in 2..<stream.packets.count { stream.packets[index][3] |= 0x80 }
        let (harvest, counters, diagnosis) = Harvest.of(stream.bytes)
        #expect(diagnosis == .scrambled && counters.scrambledPackets == stream.packets.count - 2)
        #expect(harvest.video.isEmpty && harvest.faults.count == counters.scrambledPackets)
        // Within the PES packet, whose headers stay clear.
        var inside = SyntheticStream()
        let header = SyntheticStream.header(pts: 0)
        var payload = header + SyntheticPicture.unit(size: 150, isKey: true, &random)
        payload[6] |= 0x10
        inside.addPacket(payload, startsUnit: true)
        #expect(Harvest.of(inside.bytes, size: 188).diagnosis == .scrambled)
    }

    /// Garbage of any length between two packets costs at most the unit it falls into.
    @Test func alignmentIsFoundAgain() {
        var random = SplitMix64(seed: 33)
        var stream = SyntheticStream()
        let units = EndOfUnitTests.plain(12, into: &stream, &random)
        let known = Set(units)
        for length in [1, 4, 187, 188, 189, 1000] {
            for at in [5, 17] {
                let garbage = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
                let bytes = stream.packets[..<at].joined() + garbage + stream.packets[at...].joined()
                for size in [188, 1316, 77] {
                    let (harvest, counters, _) = Harvest.of(bytes, size: size)
                    #expect(harvest.video.count >= units.count - 1)
                    #expect(
                        harvest.video.count { known.contains($0.bytes) } >= units.count - 1,
                        "\(length) bytes before packet \(at), messages of \(size)")
                    #expect(counters.syncLosses >= 1)
                }
            }
        }
    }

    @Test func aStreamMayBeginAnywhere() throws {
        let golden = try GoldenStream("ffmpeg-lengths")
        let known = Set(golden.units.map(\.checksum))
        for start in stride(from: 1, to: 2000, by: 31) {
            let (harvest, _, _) = Harvest.of(golden.bytes[start...].prefix(30_000), size: 1000)
            #expect(harvest.video.allSatisfy { !$0.damage.isEmpty || known.contains($0.checksum) })
            #expect(harvest.torn.isEmpty)
        }
    }

    @Test func aUnitWithoutEndIsDropped() {
        var random = SplitMix64(seed: 34)
        var stream = SyntheticStream()
        stream.addPES(SyntheticPicture.unit(size: 300_000, isKey: true, &random), pts: 0)
        let units = EndOfUnitTests.plain(5, into: &stream, from: 1, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes, unitLimit: 100_000)
        #expect(counters.oversizedUnits == 1)
        #expect(harvest.faults == [.oversizedUnit(presentation: MediaTime(ticks: 0), isKeyframe: true)])
        #expect(harvest.video.map(\.bytes) == units)
    }

    /// Streams with bits flipped, packets lost, doubled, swapped and cut: a standing fuzz test with fixed seeds.
    @Test(arguments: 0..<12) func mutatedStreams(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(100 + seed))
        let names = GoldenStreamTests.names
        let golden = try GoldenStream(names[seed % names.count])
        for _ in 0..<10 {
            var packets = golden.packets
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let at = Int.random(in: 0..<packets.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: packets.remove(at: at)
                case 1: packets.insert(packets[at], at: at)
                case 2: packets.swapAt(at, Int.random(in: 0..<packets.count, using: &random))
                case 3: packets[at].removeLast(Int.random(in: 1...100, using: &random))
                default:
                    let byte = Int.random(in: 0..<min(40, packets[at].count), using: &random)
                    packets[at][byte] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let (harvest, _, _) = Harvest.of(
                packets.joined(), size: Int.random(in: 1...3000, using: &random))
            #expect(harvest.video.map(\.serial) == Array(0..<harvest.video.count) || harvest.programs.count > 1)
            #expect(harvest.video.reduce(0) { $0 + $1.bytes.count } <= golden.bytes.count * 2)
        }
    }
}
