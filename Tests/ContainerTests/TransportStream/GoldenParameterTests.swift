import Bitstream
import Media
import Testing

/// The parameters of streams that other programs made.
@Suite struct GoldenParameterTests {
    /// From x264 by way of FFmpeg and GStreamer, read out of the golden streams.
    @Test func goldenStreams() throws {
        let plain = try #require(try Harvest.of(GoldenStream("ffmpeg").bytes).harvest.formats.first)
        #expect(plain.size == PictureSize(width: 128, height: 96))
        #expect(plain.reordering == 0)
        #expect(plain.frameRate == Rational(30) && plain.isProgressive)
        let reordered = try #require(try Harvest.of(GoldenStream("ffmpeg-bframes").bytes).harvest.formats.first)
        #expect(reordered.reordering == 2)
        let interlaced = try #require(try Harvest.of(GoldenStream("ffmpeg-interlaced").bytes).harvest.formats.first)
        #expect(!interlaced.isProgressive && interlaced.size == PictureSize(width: 128, height: 96))
        let colored = try #require(try Harvest.of(GoldenStream("gstreamer").bytes).harvest.formats.first)
        let hevc = try #require(try Harvest.of(GoldenStream("hevc").bytes).harvest.formats.first)
        #expect(hevc.codec == .hevc && hevc.size == PictureSize(width: 128, height: 96))
        #expect(hevc.reordering == 0 && hevc.frameRate == Rational(30) && hevc.isProgressive && hevc.bitDepth == 8)
        let open = try #require(try Harvest.of(GoldenStream("hevc-open").bytes).harvest.formats.first)
        #expect(open.reordering == 2 && open.size == PictureSize(width: 128, height: 96))
        for (name, reordering) in [("mpeg2", nil as Int?), ("mpeg2-bframes", nil), ("mpeg1", nil)] {
            let format = try #require(try Harvest.of(GoldenStream(name).bytes).harvest.formats.first)
            #expect(format.codec == .mpeg2Video && format.size == PictureSize(width: 128, height: 96))
            #expect(format.frameRate == Rational(30) && format.reordering == reordering, "\(name)")
        }
        #expect(colored.color.primaries == 6 && colored.color.matrix == 6 && colored.color.range == .limited)
    }
}
