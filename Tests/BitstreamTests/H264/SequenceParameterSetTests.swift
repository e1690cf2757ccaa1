import Media
import TestSupport
import Testing

@testable import Bitstream

@Suite struct SequenceParameterSetTests {
    static func parse(_ bytes: [UInt8]) throws(BitstreamFault) -> SequenceParameterSet {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(BitstreamFault) in unsafe try SequenceParameterSet(raw) }
        }
        return try result.get()
    }

    /// 1920x1080, High, cropped by eight rows; no usability information.
    static func write(
        width: Int, height: Int, cropRight: Int = 0, cropBottom: Int = 0, usability: ((inout BitWriter) -> Void)? = nil
    ) -> [UInt8] {
        var w = BitWriter()
        for byte in [0x67, 100, 0, 40] { w.bits(byte, 8) }
        for code in [0, 1, 0, 0] { w.unsigned(code) }
        // No bypass; a scaling matrix with one list of which all but the first value are inferred.
        w.bits(0b01, 2)
        w.bits(1, 1)
        w.signed(-8)
        w.bits(0, 7)
        for code in [0, 0, 2, 4] { w.unsigned(code) }
        w.bits(0, 1)
        w.unsigned(width - 1)
        w.unsigned(height - 1)
        w.bits(0b11, 2)
        w.bits(cropRight + cropBottom > 0 ? 1 : 0, 1)
        if cropRight + cropBottom > 0 { for code in [0, cropRight, 0, cropBottom] { w.unsigned(code) } }
        w.bits(usability == nil ? 0 : 1, 1)
        usability?(&w)
        return w.finished
    }

    @Test func croppingAndNoUsability() throws {
        let set = try Self.parse(Self.write(width: 120, height: 68, cropBottom: 4))
        #expect(set.size == PictureSize(width: 1920, height: 1080))
        #expect(set.reordering == nil && set.frameRate == nil)
    }

    @Test func usability() throws {
        let set = try Self.parse(
            Self.write(width: 40, height: 23, cropBottom: 4) { w in
                w.bits(1, 1)
                w.bits(255, 8)
                w.bits(4, 16)
                w.bits(3, 16)
                w.bits(0, 1)
                w.bits(0b1_101_1_1, 6)
                for code in [9, 16, 9] { w.bits(code, 8) }
                w.bits(1, 1)
                w.unsigned(2)
                w.unsigned(2)
                w.bits(1, 1)
                w.bits(1001, 32)
                w.bits(60_000, 32)
                w.bits(0b1_0_0_0, 4)
                w.bits(0b1_1, 2)
                for code in [2, 1, 16, 16, 1, 4] { w.unsigned(code) }
            })
        #expect(set.size == PictureSize(width: 640, height: 360))
        #expect(set.color.primaries == 9 && set.color.transfer == 16 && set.color.matrix == 9)
        #expect(set.color.range == .full && set.color.chromaLocation == 3)
        #expect(set.color.sampleAspectRatio == Rational(4, 3))
        #expect(set.frameRate == Rational(30_000, 1001) && set.reordering == 1)
    }

    @Test func absurdSizesAreRefused() {
        #expect(throws: BitstreamFault.absurdSize(width: 2_000_000, height: 16)) {
            try Self.parse(Self.write(width: 125_000, height: 1))
        }
        #expect(throws: BitstreamFault.absurdSize(width: -32, height: 16)) {
            try Self.parse(Self.write(width: 1, height: 1, cropRight: 24))
        }
    }

    @Test func everyTruncationIsRefused() throws {
        let whole = Self.write(width: 40, height: 23)
        for count in 0..<(whole.count - 1) {
            #expect(throws: BitstreamFault.self) { try Self.parse(Array(whole[..<count])) }
        }
        #expect(throws: BitstreamFault.notAParameterSet) { try Self.parse([0x68, 1, 2, 3]) }
    }

    /// Random changes: an error or a set within its bounds, never a crash.
    @Test func mutations() {
        var random = SplitMix64(seed: 41)
        var read = 0
        for _ in 0..<20_000 {
            var bytes = Self.write(width: 40, height: 23, cropBottom: 4) { w in w.bits(0b0001, 4) }
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 1..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let set = try? Self.parse(bytes) else { continue }
            read += 1
            #expect(set.size.width > 0 && set.size.width <= SequenceParameterSet.largestSide)
            #expect(set.size.height > 0 && set.size.height <= SequenceParameterSet.largestSide)
            #expect((0...16).contains(set.reordering ?? 0))
        }
        #expect(read > 100)
    }
}
