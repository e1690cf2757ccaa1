import Codec
import Measure
import Media
import Testing

private let start = WallTime(microseconds: 1_795_263_000_000_000)

/// The time code after x264 has coded it.
@Suite struct CodedTimeCodeTests {
    @Test(arguments: [(640, 360, 48.0), (360, 640, 48.0), (320, 180, 40.0), (160, 90, 34.0)])
    func survivesHeavyCompression(width: Int, height: Int, constantRateFactor: Double) throws {
        let size = PictureSize(width: width, height: height)
        var configuration = VideoEncoderConfiguration(size: size, frameRate: Rational(30))
        configuration.preset = .ultrafast
        configuration.rateControl = .quality(constantRateFactor, maximumRate: nil, bufferFrames: 2)
        let encoder = try VideoEncoder(configuration)
        let decoder = try VideoDecoder()
        let pattern = TestPattern(size: size, framesPerSecond: 30)
        let picture = Picture(size: size)
        var readings: [TimeCodeReading] = []
        var failure: CodecError?
        let codes = (0..<15).map {
            TimeCode(captured: start + Int64($0) * 33_333, number: UInt16($0), source: 3)
        }
        for (index, code) in codes.enumerated() {
            pattern.paint(picture.mutableView, code: code, index: index)
            try encoder.encode(picture.view, id: Int64(index), at: MediaTime(ticks: Int64(index) * 3000)) { unit in
                do throws(CodecError) {
                    try decoder.decode(unit.bytes, id: unit.id)
                    while let output = try decoder.next() {
                        if case .picture(let decoded) = consume output {
                            readings.append(TimeCodeReading(luma: decoded.view.y, near: start))
                        }
                    }
                } catch {
                    failure = error
                }
            }
        }
        #expect(failure == nil)
        #expect(readings == codes.map { .code($0) })
    }
}
