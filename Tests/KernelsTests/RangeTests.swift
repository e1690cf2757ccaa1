import Kernels
import Media
import Testing

/// The full range of samples becomes the limited one.
@Suite struct RangeTests {
    @Test(arguments: [true, false]) func samplesAreLimitedToTheNearest(isLuma: Bool) {
        let samples = (0...255).map { UInt8($0) }
        for width in [1, 31, 256] {
            var limited = [UInt8](repeating: 7, count: 512)
            samples.withUnsafeBufferPointer { from in
                limited.withUnsafeMutableBufferPointer { to in
                    Kernels.limitRange(
                        of: from.baseAddress!, 0, PictureSize(width: width, height: 2), isLuma: isLuma, into: to.baseAddress!,
                        256)
                }
            }
            for x in 0..<256 {
                let wanted = isLuma ? 16 + Double(x) * 219 / 255 : 128 + Double(x - 128) * 224 / 255
                let expected = x < width ? UInt8(wanted.rounded()) : 7
                #expect(limited[x] == expected && limited[256 + x] == expected, "\(x)")
            }
        }
    }
}
