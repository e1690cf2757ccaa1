import Bitstream
import Media
import Testing

@testable import Codec

/// What live streams need of x265.
@Suite struct HEVCEncoderTests {
    private func configuration(_ width: Int = 320, _ height: Int = 192) -> VideoEncoderConfiguration {
        var configuration = VideoEncoderConfiguration(size: PictureSize(width: width, height: height), frameRate: Rational(30))
        configuration.codec = .hevc
        configuration.preset = .ultrafast
        return configuration
    }

    @Test(arguments: [EncoderPreset.ultrafast, .quick, .superfast, .careful, .veryfast], [1, 2])
    func everyUnitIsEmittedBeforeTheCallReturns(preset: EncoderPreset, threads: Int) throws {
        var configuration = self.configuration()
        configuration.preset = preset
        configuration.threads = threads
        let encoder = try VideoEncoder(configuration)
        for index in 0..<6 {
            var units: [KeptUnit] = []
            let picture = makePicture(configuration.size, index: index)
            try encoder.encode(picture.view, id: Int64(100 - index), at: MediaTime(ticks: Int64(index) * 3003)) {
                units.append(KeptUnit($0))
            }
            withExtendedLifetime(picture) {}
            try #require(units.count == 1)
            #expect(units[0].id == Int64(100 - index))
            #expect(units[0].presentationTime == MediaTime(ticks: Int64(index) * 3003))
            #expect(units[0].decodeTime == units[0].presentationTime)
            #expect(units[0].isKeyframe == (index == 0))
            // An access unit delimiter.
            #expect(units[0].bytes.starts(with: [0, 0, 0, 1, 35 << 1]))
        }
        try encoder.finish { _ in Issue.record("the encoder held a unit back") }
    }

    /// Each can be decoded from: parameter sets and an IDR picture are in it.
    @Test(arguments: [(320, 192), (48, 32)]) func keyframesComeWhenAskedForAndOnlyThen(width: Int, height: Int) throws {
        let units = try encodeUnits(configuration(width, height), count: 50, keyframeEvery: 13)
        #expect(units.indices.filter { units[$0].isKeyframe } == [0, 13, 26, 39])
        var decoding = VideoDecoder.Configuration()
        decoding.codec = .hevc
        let outputs = try VideoDecoder(decoding).decodeAll(units.dropFirst(26).map(\.bytes))
        #expect(outputs.count == 24 && outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    @Test func theMaximumRateHolds() throws {
        var configuration = self.configuration()
        configuration.rateControl = .rate(600_000, bufferFrames: 4)
        let bits = try encodeUnits(configuration, count: 90, keyframeEvery: 30).map { 8 * $0.bytes.count }
        #expect(bits.reduce(0, +) < 2_000_000)
    }

    /// libx265's wrapper takes over no other rate, so that the caller opens another encoder.
    @Test func anotherRateNeedsAnotherEncoder() throws {
        var configuration = self.configuration()
        configuration.rateControl = .rate(600_000, bufferFrames: 4)
        let encoder = try VideoEncoder(configuration)
        #expect(!encoder.change(.rate(500_000, bufferFrames: 4), at: Rational(30)))
        #expect(encoder.configuration.rateControl == .rate(600_000, bufferFrames: 4))
    }

    @Test(arguments: [(17, 16), (14, 64), (20_000, 64)]) func impossibleSizesAreRefused(width: Int, height: Int) {
        #expect(throws: CodecError.self) { _ = try VideoEncoder(configuration(width, height)) }
    }

    /// Captions stand in a message of HEVC's own form before the slices, where decoders find them.
    @Test func captionsGoOutWithTheirPicture() throws {
        let encoder = try VideoEncoder(configuration(64, 64))
        var decoding = VideoDecoder.Configuration()
        decoding.codec = .hevc
        let decoder = try VideoDecoder(decoding)
        var data = PictureUserData()
        data.append(0xFC, 0x94, 0x2C)
        var found: [Int] = []
        for index in 0..<3 {
            var unit: [UInt8] = []
            let picture = makePicture(PictureSize(width: 64, height: 64), index: index)
            try encoder.encode(
                picture.view, id: Int64(index), at: MediaTime(ticks: Int64(index) * 3000), carrying: index == 1 ? data : nil
            ) { unit = Array($0.bytes) }
            withExtendedLifetime(picture) {}
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: Int64(index)) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output, let data = picture.userData else { continue }
                found.append(index)
                #expect(data.pieces == 1 && data[1] == 0x94)
            }
        }
        #expect(found == [1])
    }
}
