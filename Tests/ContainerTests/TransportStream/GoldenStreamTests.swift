import Media
import Testing

@testable import Container

/// Streams of several muxers, unit by unit against libavformat's view of them.
@Suite struct GoldenStreamTests {
    static let names = [
        "ffmpeg", "ffmpeg-lengths", "ffmpeg-slices", "ffmpeg-bframes", "ffmpeg-interlaced", "ffmpeg-constant-rate",
        "ffmpeg-two-programs", "ffmpeg-wrap", "gstreamer", "hevc", "hevc-open", "hevc-slices", "mpeg2", "mpeg2-bframes",
        "mpeg1",
    ]

    static func expectExact(_ harvest: Harvest, _ golden: GoldenStream) {
        #expect(harvest.video.map(\.bytes.count) == golden.units.map(\.size))
        #expect(harvest.video.map(\.checksum) == golden.units.map(\.checksum))
        guard let first = harvest.video.first?.decode, let reference = golden.units.first?.decode else { return }
        // Stamps count from the first: libavformat unwraps to another multiple of 2^33.
        #expect(harvest.video.map { $0.decode.map { $0 - first } } == golden.units.map { $0.decode - reference })
        let presentations = harvest.video.map { $0.presentation.map { $0 - first } }
        #expect(presentations == golden.units.map { $0.presentation - reference })
        #expect(harvest.video.dropLast().allSatisfy { $0.damage.isEmpty })
        #expect(harvest.torn.isEmpty)
    }

    @Test(arguments: names, [188, 1316, 1, 187, 4096, 1 << 20]) func everyUnitIsExact(name: String, size: Int) throws {
        let golden = try GoldenStream(name)
        let (harvest, counters, _) = Harvest.of(golden.bytes, size: size)
        Self.expectExact(harvest, golden)
        #expect(counters.brokenPackets == 0 && counters.continuityGaps == 0 && counters.skippedBytes == 0)
        #expect(counters.packets == golden.bytes.count / 188)
    }

    @Test(arguments: names) func entryPointsAreThoseOfLibavformat(name: String) throws {
        let golden = try GoldenStream(name)
        let (harvest, _, _) = Harvest.of(golden.bytes)
        #expect(harvest.video.map(\.isKeyframe) == golden.units.map(\.isKeyframe))
        #expect(golden.units.first?.isKeyframe == true)
    }

    /// How many units wait for the next one's start: those of the probation, and those that fill their last packet.
    @Test(arguments: [
        ("ffmpeg", 24), ("ffmpeg-slices", 26), ("ffmpeg-lengths", 3), ("gstreamer", 3), ("hevc", 27), ("mpeg2", 30),
    ])
    func unitsComeEarly(name: String, waiting: Int) throws {
        let golden = try GoldenStream(name)
        let (harvest, counters, _) = Harvest.of(golden.bytes, size: 188)
        #expect(counters[.nextStart] <= waiting)
        let early = harvest.video.filter { $0.evidence == .length || $0.evidence == .stuffing }
        #expect(early.count >= harvest.video.count - waiting)
        #expect(early.allSatisfy { $0.after == $0.lastArrival })
    }

    @Test(arguments: names) func losingAnyPacketMakesNoWrongUnit(name: String) throws {
        let golden = try GoldenStream(name)
        let known = Set(golden.units.map(\.checksum))
        let packets = golden.packets
        // The first 40 packets and a regular choice of the others.
        for k in packets.indices where k < 40 || k % 13 == 0 {
            var lossy = packets
            lossy.remove(at: k)
            let (harvest, _, _) = Harvest.of(lossy.flatMap { $0 })
            #expect(harvest.video.allSatisfy { !$0.damage.isEmpty || known.contains($0.checksum) })
            #expect(harvest.torn.isEmpty && harvest.video.count >= golden.units.count - 4)
        }
    }
}
