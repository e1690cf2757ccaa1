import Bitstream
import Media
import Testing

/// Headers as encoders write them.
@Suite struct SoundFrameTests {
    private typealias Format = SoundFrame.Format

    private func read(_ bytes: [UInt8], _ codec: Format.Codec) -> SoundFrame? { SoundFrame(bytes.span, codec) }

    @Test func headersOfEveryCodec() throws {
        // AAC-LC, 48 kHz, stereo, 371 bytes; 44.1 kHz mono with two blocks.
        let stereo = try #require(read([0xFF, 0xF1, 0x4C, 0x80, 0x2E, 0x7F, 0xFC], .aac))
        #expect(stereo.format == Format(.aac, sampleRate: 48_000, channels: 2) && stereo.samples == 1024)
        #expect(stereo.byteCount == 371)
        let mono = try #require(read([0xFF, 0xF9, 0x50, 0x40, 0x01, 0x1F, 0xFD], .aac))
        #expect(mono.format == Format(.aac, sampleRate: 44_100, channels: 1) && mono.samples == 2048 && mono.byteCount == 8)
        // Layer II: 192 kb/s at 48 kHz; MPEG-2 at 24 kHz, 64 kb/s, mono; 44.1 kHz with padding.
        let layer2 = try #require(read([0xFF, 0xFD, 0xA4, 0x00], .layer2))
        #expect(layer2.format == Format(.layer2, sampleRate: 48_000, channels: 2, bitRate: 192_000))
        #expect(layer2.byteCount == 576 && layer2.samples == 1152)
        let low = try #require(read([0xFF, 0xF5, 0x84, 0xC0], .layer2))
        #expect(low.format == Format(.layer2, sampleRate: 24_000, channels: 1, bitRate: 64_000) && low.byteCount == 384)
        #expect(read([0xFF, 0xFD, 0xA2, 0x00], .layer2)?.byteCount == 627)
        // AC-3: 48 kHz, 192 kb/s, stereo; 448 kb/s with five channels and one for low frequencies; 44.1 kHz.
        let ac3 = try #require(read([0x0B, 0x77, 0, 0, 0x14, 0x40, 0x43, 0xE0], .ac3))
        #expect(ac3.format == Format(.ac3, sampleRate: 48_000, channels: 2, bitRate: 192_000))
        #expect(ac3.byteCount == 768 && ac3.samples == 1536)
        let surround = try #require(read([0x0B, 0x77, 0, 0, 0x1E, 0x40, 0xE1, 0xFF], .ac3))
        #expect(surround.format == Format(.ac3, sampleRate: 48_000, channels: 6, bitRate: 448_000))
        #expect(read([0x0B, 0x77, 0, 0, 0x55, 0x40, 0x43, 0xE0], .ac3)?.byteCount == 836)
        // Opus: 20 ms of CELT in stereo; two frames of 10 ms of SILK behind trims; three frames of 20 ms.
        let opus = try #require(read([0x7F, 0xE0, 3, 0xFC, 0xFF, 0xFE], .opus))
        #expect(opus.format == Format(.opus, sampleRate: 48_000, channels: 2) && opus.samples == 960 && opus.byteCount == 6)
        #expect(read([0x7F, 0xF8, 2, 0, 1, 0, 1, 0x01, 9], .opus)?.samples == 960)
        #expect(read([0x7F, 0xE0, 255, 10, 0xFB, 3], .opus)?.samples == 2880)
        #expect(read([0x7F, 0xE0, 255, 10, 0xFB, 3], .opus)?.byteCount == 269)
    }

    @Test func whatIsNoHeaderIsRefused() {
        #expect(read([0xFF, 0xF1, 0x4C, 0x80, 0x00, 0xDF, 0xFC], .aac) == nil, "shorter than its header")
        #expect(read([0xFF, 0xF1, 0x7C, 0x80, 0x2E, 0x7F, 0xFC], .aac) == nil, "no such rate")
        #expect(read([0xFF, 0xF1, 0x4C, 0x00, 0x2E, 0x7F, 0xFC], .aac) == nil, "channels described elsewhere")
        #expect(read([0xFF, 0xFB, 0xA4, 0x00], .layer2) == nil, "layer III")
        #expect(read([0xFF, 0xFD, 0x04, 0x00], .layer2) == nil, "free format")
        #expect(read([0x0B, 0x77, 0, 0, 0x14, 0x80, 0x43, 0xE0], .ac3) == nil, "E-AC-3")
        #expect(read([0x7F, 0xE0, 0, 0xFC], .opus) == nil, "empty")
        #expect(read([0x7F, 0xE0, 3, 0xFF, 0, 0], .opus) == nil, "no frames")
    }

    /// Whatever the bytes are, a frame is never empty, so that a reader of many frames comes to an end.
    @Test func anyBytesMayBeGiven() {
        var random = SplitMix64(seed: 5)
        for codec in [Format.Codec.aac, .layer2, .ac3, .opus] {
            for _ in 0..<20_000 {
                var bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                let sync: [UInt8] = [[0xFF, 0xF1], [0xFF, 0xFD], [0x0B, 0x77], [0x7F, 0xE0]].randomElement(using: &random)!
                if bytes.count > 2 { bytes.replaceSubrange(0..<2, with: sync) }
                guard let frame = read(bytes, codec) else { continue }
                #expect(frame.byteCount > 0 && frame.samples > 0 && frame.format.channels > 0)
                #expect(frame.format.sampleRate >= 7350)
            }
        }
    }
}
