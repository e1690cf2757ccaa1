import Bitstream
import Media
import Testing

/// What pictures carry beside their samples, in every format that can.
@Suite struct UserDataReaderTests {
    private let captions: [UInt8] =
        [0x47, 0x41, 0x39, 0x34, 3, 0x42, 0xFF, 0xFC, 0x94, 0x20, 0xFD, 0x80, 0x80, 0xFF]
    private let format: [UInt8] = [0x44, 0x54, 0x47, 0x31, 0x41, 0xF9]
    /// From line 60 down to line 300 there is no bar.
    private let bars: [UInt8] = [0x47, 0x41, 0x39, 0x34, 6, 0xCF, 0xC0, 60, 0xC1, 0x2C]

    private func message(_ contents: [UInt8]) -> [UInt8] {
        let header: [UInt8] = [4, UInt8(contents.count + 3), 0xB5, 0, 0x31]
        return header + contents
    }

    /// A unit of AV1's metadata with its size, and the trailing bits.
    private func metadata(_ contents: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x2A, UInt8(contents.count + 5), 4, 0xB5, 0, 0x31]
        bytes += contents
        return bytes + [0x80]
    }

    private func unit(_ codec: VideoCodec) -> [UInt8] {
        // Units without their start codes.
        var units: [[UInt8]] = []
        let all = [captions, format, bars]
        switch codec {
        case .h264:
            // Another message, whose contents look like one of ours, comes before them.
            var messages: [UInt8] = [6, 5, 3, 4, 4, 4]
            for contents in all { messages += message(contents) }
            units = [[9, 0xF0], messages + [0x80], [0x65, 0x88, 0x84, 0]]
        case .hevc:
            units = [[0x46, 1, 0x50]]
            for contents in all { units.append([0x4E, 1] + message(contents) + [0x80]) }
            units.append([0x26, 1, 0xAF])
        case .mpeg2Video:
            units = [[0, 0, 0x0F, 0xFF, 0xF8]]
            for contents in all { units.append([0xB2] + contents) }
            units.append([1, 0x22, 0x33])
        default:
            units = [[0x10]]
            for contents in all { units.append(metadata(contents)) }
            units.append([0x30, 0x10, 0])
        }
        return units.flatMap { [0, 0, 1] + $0 }
    }

    private func read(_ unit: [UInt8], _ codec: VideoCodec) -> PictureUserData? {
        unit.withUnsafeBytes { UserDataReader.read($0, of: codec) }
    }

    private func expectAll(_ data: PictureUserData?) throws {
        let data = try #require(data)
        #expect(data.pieces == 2 && data.validPieces == 1 && data.activeFormat == 9)
        #expect((0..<6).map { data[$0] } == [0xFC, 0x94, 0x20, 0xFD, 0x80, 0x80])
        #expect(data.bars?.endOfTop == 60 && data.bars?.startOfBottom == 300 && data.bars?.endOfLeft == nil)
    }

    @Test(arguments: [VideoCodec.h264, .hevc, .mpeg2Video, .av1]) func everyFormatTells(codec: VideoCodec) throws {
        try expectAll(read(unit(codec), codec))
    }

    @Test func av1OfFilesTells() throws {
        var unit: [UInt8] = [0x12, 0]
        for contents in [captions, format, bars] { unit += metadata(contents) }
        try expectAll(read(unit + [0x32, 2, 0x10, 0], .av1))
    }

    @Test(arguments: [VideoCodec.h264, .hevc, .mpeg2Video, .av1]) func nothingIsReadBehindTheFirstSlice(codec: VideoCodec) {
        let slice: [UInt8] =
            switch codec {
            case .h264: [0, 0, 1, 0x41]
            case .hevc: [0, 0, 1, 2, 1]
            case .mpeg2Video: [0, 0, 1, 1]
            default: [0, 0, 1, 0x30]
            }
        #expect(read(slice + unit(codec), codec) == nil)
        #expect(read([], codec) == nil && read(slice, codec) == nil)
    }

    @Test func whatIsBrokenIsLeftOut() {
        for codec in [VideoCodec.h264, .hevc, .mpeg2Video, .av1] {
            let whole = unit(codec)
            for length in whole.indices {
                _ = read(Array(whole[..<length]), codec)
                var broken = whole
                broken[length] = 255
                _ = read(broken, codec)
            }
        }
        // More pieces than there are bytes.
        var short = captions
        short[5] = 0x5F
        let start: [UInt8] = [0, 0, 1, 6]
        #expect(read(start + message(short) + [0x80], .h264) == nil)
    }

    private func data(_ pieces: [(UInt8, UInt8, UInt8)]) -> PictureUserData {
        var data = PictureUserData()
        for piece in pieces { data.append(piece.0, piece.1, piece.2) }
        return data
    }

    /// What fits goes into one picture, in its order and without padding; the rest stays for the next.
    @Test func captionsOfSeveralPicturesBecomeOne() {
        let padding: (UInt8, UInt8, UInt8) = (0xF8, 0, 0)
        var first = data(
            (0..<20).map { (place: Int) -> (UInt8, UInt8, UInt8) in place < 16 ? (0xFC, 1, UInt8(place)) : padding })
        first.activeFormat = 8
        var second = data((0..<20).map { (place: Int) -> (UInt8, UInt8, UInt8) in (0xFE, 2, UInt8(place)) })
        second.activeFormat = 10
        var all = PictureUserData()
        #expect(all.absorb(&first) && first.isEmpty && all.pieces == 20 && all.validPieces == 16)
        #expect(!all.absorb(&second) && all.pieces == 31 && all.validPieces == 31 && all.activeFormat == 10)
        #expect(second.pieces == 5 && second.activeFormat == nil && second[2] == 15)
        #expect(all[3 * 16] == 0xFE && all[3 * 30 + 2] == 14)
        var next = PictureUserData()
        #expect(next.absorb(&second) && next.pieces == 5 && next[2] == 15)
    }

    @Test func barsGrowWithThePicture() {
        var bars = PictureBars()
        (bars.endOfTop, bars.startOfBottom, bars.startOfRight) = (60, 300, 16000)
        let scaled = bars.scaled(across: 2, down: 1.5)
        #expect(scaled.endOfTop == 90 && scaled.startOfBottom == 450 && scaled.startOfRight == 16383 && scaled.endOfLeft == nil)
    }
}
