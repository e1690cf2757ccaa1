import Bitstream
import Testing
@testable import Codec

@Suite struct SilentSoundTests {
    private typealias Format = SoundFrame.Format

    /// The frame is of the stream's own format, and whole.
    @Test(arguments: [
        SoundFrame.Format(.aac, sampleRate: 48_000, channels: 2), .init(.aac, sampleRate: 44_100, channels: 1),
        .init(.aac, sampleRate: 22_050, channels: 6), .init(.aac, sampleRate: 48_000, channels: 8),
        .init(.layer2, sampleRate: 48_000, channels: 2, bitRate: 192_000),
        .init(.layer2, sampleRate: 32_000, channels: 1, bitRate: 64_000),
        .init(.layer2, sampleRate: 24_000, channels: 1, bitRate: 64_000),
        .init(.ac3, sampleRate: 48_000, channels: 2, bitRate: 192_000),
        .init(.ac3, sampleRate: 44_100, channels: 6, bitRate: 448_000),
        .init(.opus, sampleRate: 48_000, channels: 1), .init(.opus, sampleRate: 48_000, channels: 2),
    ])
    func silenceHasTheStreamsFormat(format: SoundFrame.Format) throws {
        let frame = try SilentSound.frame(format)
        let read = SoundFrame(frame.span, format.codec)
        let header = try #require(read)
        #expect(header.format == format && header.byteCount == frame.count)
        #expect(header.samples == (format.codec == .opus ? 960 : format.codec == .aac ? 1024 : header.samples))
        if format.codec == .aac { #expect(frame.count < 7 + 16 * format.channels, "\(frame.count) bytes are no silence") }
    }

    @Test func whatCannotBeMadeIsATypedError() {
        #expect(throws: CodecError.self) { try SilentSound.frame(.init(.aac, sampleRate: 48_000, channels: 7)) }
        #expect(throws: CodecError.self) { try SilentSound.frame(.init(.layer2, sampleRate: 48_000, channels: 2, bitRate: 1)) }
    }
}
