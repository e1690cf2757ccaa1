import Testing

@testable import Bitstream

struct VP8UnitReaderTests {
    /// The first pictures of a plain grey 320x180, as libvpx codes them for aiortc: with segments, and small.
    private static let keyframe =
        "d00f009d012a4001b400390900031c22161622661220100807601033997ecf002b1f0d753693fe8f002b1f0d75369402b1f0d75369402b1f0d75369402b1f"
        + "0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402b1f0d75369402"
        + "b1f0d75369402b1f0b00fefefaee7fffeff55ff7f55ff7f55feed3ffeaec4f8505e478fdd800"
    private static let other =
        "510900e449d82003a7a05f674f23c6ee51c002315555aaaad5556aaab5555aaaad5556aaab5555aaaad5556aaab5555aaaad5556aaab5555aaaad5556aaab555"
        + "5aaaad540fef03843cdf63d9df1241be05a00"

    private static func bytes(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count - 1, by: 2).map { at in
            let start = text.index(text.startIndex, offsetBy: at)
            return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16) ?? 0
        }
    }

    @Test func aDecoderCanBeginWithAKeyframeThatHasSegments() {
        var reader = VP8UnitReader()
        let first = Self.bytes(Self.keyframe).withUnsafeBytes { reader.read($0) }
        let second = Self.bytes(Self.other).withUnsafeBytes { reader.read($0) }
        #expect(first.hasSlice && first.isRefresh && first.isReference && !first.isHidden && !first.precedesEntryPoint)
        #expect(second.hasSlice && !second.isRefresh && !second.isHidden && !second.precedesEntryPoint)
    }
}
