import Media
import Testing
@testable import Relay

/// What the one more encode of a call is: its size, its bits, and which pictures go into it.
struct ExtraEncodingTests {
    private static let small = ExtraEncoding(codec: .h264, box: PictureSize(width: 320, height: 180), mostBits: 200_000)

    @Test(arguments: [
        (1280, 720, 320, 180), (720, 1280, 180, 320), (640, 480, 240, 180), (1920, 800, 320, 134), (320, 180, 320, 180),
        (161, 91, 160, 90), (3000, 20, 320, 16), (4, 4, 16, 16),
    ])
    func picturesKeepTheirShapeAndAreNotEnlarged(width: Int, height: Int, smallWidth: Int, smallHeight: Int) {
        let size = Self.small.size(of: PictureSize(width: width, height: height))
        #expect(size == PictureSize(width: smallWidth, height: smallHeight))
    }

    @Test func withoutABoxTheSizeStays() {
        let encoding = ExtraEncoding(codec: .vp8)
        #expect(encoding.size(of: PictureSize(width: 1281, height: 721)) == PictureSize(width: 1280, height: 720))
    }

    @Test func ratesFollowFromTheSizeOrTheOperator() {
        let size = PictureSize(width: 320, height: 180)
        #expect(Self.small.rates(of: size) == 66_666...200_000)
        #expect(ExtraEncoding(codec: .h264, mostBits: nil).rates(of: size) == 57_600...172_800)
        #expect(ExtraEncoding(codec: .h264, mostBits: 30_000).rates(of: size) == 48_000...48_000)
    }

    /// With few bits only every second picture, and later all again, without going to and fro.
    @Test func fewBitsMakeFewerPictures() {
        var pace = ExtraPace()
        let size = PictureSize(width: 320, height: 180)
        func share(_ bits: Int) -> Int { (0..<120).count { _ in pace.takes(size, rate: 30, bits: bits) } }
        #expect(share(200_000) == 120)
        #expect(share(60_000) == 60)
        // What carries all of them just so is not enough to rise.
        #expect(share(85_000) == 60)
        #expect(share(120_000) >= 119)
        #expect(share(1_000) == 30)
    }

    @Test func theLoadIsAMean() {
        var load = LoadMean()
        var now = MonotonicTime(nanoseconds: 0)
        for _ in 0..<600 {
            load.add(.milliseconds(3), at: now)
            now = now + .milliseconds(30)
        }
        #expect(abs(load.cores - 0.1) < 0.01)
    }
}
