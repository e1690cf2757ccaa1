import Container
import Media
import Testing

/// How large the pictures are that begin with a payload.
struct RTPPictureSizeTests {
    /// 640x360 in Constrained Baseline, as x264 writes it.
    static let sequenceSet: [UInt8] = [
        0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x2f, 0xf9, 0x61, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x3c,
        0x0f, 0x16, 0x2e, 0x48,
    ]
    private static let pictureSet: [UInt8] = [0x68, 0xcb, 0x83, 0xcb, 0x20]

    private func size(_ payload: [UInt8], _ format: RTPPayloadFormat = .h264) -> PictureSize? {
        RTPPictureSize.read(payload.span, format)
    }

    private static func aggregated(_ units: [UInt8]...) -> [UInt8] {
        [0x78] + units.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
    }

    @Test func aSequenceSetSaysIt() {
        let wanted = PictureSize(width: 640, height: 360)
        #expect(size(Self.sequenceSet) == wanted)
        #expect(size(Self.aggregated(Self.sequenceSet, Self.pictureSet)) == wanted)
        #expect(size(Self.aggregated([9, 0xf0], Self.sequenceSet)) == wanted)
        #expect(size(Self.sequenceSet, .opus) == nil)
    }

    @Test func nothingElseDoes() {
        for payload: [UInt8] in [
            [], [0x78], [0x78, 0], [0x78, 0, 0], [0x78, 0, 200, 0x67], [0x67], [0x67, 1, 2], [0x65, 0x88, 0x84],
            [0x7c, 0x85, 1, 2],
            Self.pictureSet, Self.aggregated(Self.pictureSet),
        ] { #expect(size(payload) == nil, "\(payload)") }
        for count in 0..<Self.sequenceSet.count { _ = size(Self.aggregated(Array(Self.sequenceSet[..<count]))) }
    }

    @Test func aKeyframeOfVP8SaysIt() {
        let frame: [UInt8] = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x41, 1, 2]
        #expect(size([0x10] + frame, .vp8) == PictureSize(width: 640, height: 360))
        #expect(size([0x90, 0x80, 0x81, 0x23] + frame, .vp8) == PictureSize(width: 640, height: 360))
        // Another part of a frame, an interframe, and what is cut off.
        #expect(size([0x00] + frame, .vp8) == nil && size([0x10, 0x11] + frame.dropFirst(), .vp8) == nil)
        for count in 0..<11 { #expect(size(Array(([0x10] + frame).prefix(count)), .vp8) == nil) }
    }
}
