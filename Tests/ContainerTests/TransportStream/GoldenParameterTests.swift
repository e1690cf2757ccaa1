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
        #expect(colored.color.primaries == 6 && colored.color.matrix == 6 && colored.color.range == .limited)
    }
}
