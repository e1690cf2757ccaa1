import Bitstream
import Codec
import Media
import Testing

/// What the encoder says about the orientation of pictures, as libavcodec reads it.
@Suite struct OrientationTests {
    @Test(
        arguments: [
            Orientation.upright, Orientation(rotation: 0x4000), Orientation(rotation: 0x8000), Orientation(rotation: 0xC000),
            Orientation(rotation: 0x2000), Orientation(isFlippedHorizontally: true),
            Orientation(isFlippedHorizontally: true, rotation: 0x4000),
        ], OutputCodec.allCases)
    func aKeyframeSaysHowItIsTurned(orientation: Orientation, codec: OutputCodec) throws {
        var configuration = VideoEncoderConfiguration(size: PictureSize(width: 64, height: 48), frameRate: Rational(30))
        configuration.codec = codec
        configuration.color.orientation = orientation
        // libavcodec repeats HEVC's message for the pictures that it holds for.
        let second = codec == .h264 ? Orientation.upright : orientation
        #expect(try decoded(configuration) == [orientation, second, orientation])
    }

    @Test func aVerticalMirrorIsAHorizontalOneUpsideDown() throws {
        var configuration = VideoEncoderConfiguration(size: PictureSize(width: 64, height: 48), frameRate: Rational(30))
        configuration.color.orientation = Orientation(isFlippedVertically: true, rotation: 0x4000)
        let same = Orientation(isFlippedHorizontally: true, rotation: 0xC000)
        #expect(try decoded(configuration) == [same, .upright, same])
    }

    /// Three pictures, of which the first and the last are keyframes.
    private func decoded(_ configuration: VideoEncoderConfiguration) throws -> [Orientation] {
        var decoding = VideoDecoder.Configuration()
        decoding.codec = configuration.codec == .h264 ? .h264 : .hevc
        let decoder = try VideoDecoder(decoding)
        var orientations: [Orientation] = []
        for unit in try encodeUnits(configuration, count: 3, keyframeEvery: 2) {
            _ = try unit.bytes.withUnsafeBytes { try decoder.decode($0, id: unit.id) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                orientations.append(picture.color.orientation)
            }
        }
        return orientations
    }
}
