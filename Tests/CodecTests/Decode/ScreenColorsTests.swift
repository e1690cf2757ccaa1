import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

/// HDR and wide-gamut pictures come out of decoders as SDR with BT.709's colours.
@Suite struct ScreenColorsTests {
    /// A grey picture of 10 bits, 96x64, with a value of luma, described as `tags` say.
    private func pictures(luma: Int, tags: String, options: [String] = [], size: String = "96x64") throws -> [[UInt8]] {
        let folder = try TemporaryFolder()
        let file = folder.file("a.h264")
        let made = try runTool(
            [
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=black:size=\(size):rate=30",
                "-vf", "format=yuv420p10le,geq=lum=\(luma):cb=512:cr=512", "-frames:v", "3", "-c:v", "libx264", "-qp", "4",
                "-tune", "zerolatency", "-x264-params", tags,
            ] + options + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", file.path])
        #expect(made.status == 0, "\(made.errors)")
        return splitAtDelimiters([UInt8](try Data(contentsOf: file)))
    }

    private func lumas(_ decoder: VideoDecoder, _ units: [[UInt8]]) throws -> [(
        mean: Double, color: ColorDescription, before: ColorDescription?
    )] {
        var found: [(Double, ColorDescription, ColorDescription?)] = []
        for (index, unit) in units.enumerated() {
            try unit.withUnsafeBytes { _ = try decoder.decode($0, id: Int64(index)) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                let (size, view) = (picture.size, picture.view)
                var sum = 0
                for y in 0..<size.height { for x in 0..<size.width { sum += Int(view.y.row(y)[x]) } }
                found.append((Double(sum) / Double(size.samples), picture.color, picture.colorBefore))
            }
        }
        return found
    }

    private static let pq = "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"
    private static let hlg = "colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc"

    /// 10 bits are more than 8 levels: the mean of what is dithered keeps them.
    @Test(arguments: [(pq, 420), (pq, 421), (pq, 573), (hlg, 397), (hlg, 720)]) func greysBecomeThoseOfSDR(
        tags: String, luma: Int
    ) throws {
        let found = try lumas(VideoDecoder(), try pictures(luma: luma, tags: tags))
        #expect(found.count == 3)
        let before = try #require(found.first?.before)
        #expect(before.isHDR && before.primaries == 9)
        let map = try #require(ColorConversion(of: before)).makeMapper()
        let wanted = map([Double(luma) / 4, 128, 128]).x
        for picture in found {
            #expect(abs(picture.mean - wanted) < 0.3, "\(picture.mean), \(wanted)")
            #expect(picture.color == ColorConversion.described(before))
        }
    }

    /// The operator's word, and then the pictures' own, before the usual peak. FFmpeg 5.1 reads metadata of HEVC.
    @Test func thePeakIsTheOperatorsOrThePictures() throws {
        func mean(_ metadata: String, _ peak: Double? = nil) throws -> Double {
            let folder = try TemporaryFolder()
            let file = folder.file("a.mkv")
            let made = try runTool([
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=black:size=96x64:rate=30", "-vf",
                "format=yuv420p10le,geq=lum=700:cb=512:cr=512", "-frames:v", "2", "-c:v", "libx265", "-qp", "4", "-x265-params",
                "log-level=none:" + Self.pq + metadata, file.path,
            ])
            #expect(made.status == 0, "\(made.errors)")
            let reader = try FileReader(path: file.path, hdrPeak: peak)
            while let item = try reader.next() {
                guard case .picture(let picture, time: _) = consume item else { continue }
                let (size, view) = (picture.size, picture.view)
                var sum = 0
                for y in 0..<size.height { for x in 0..<size.width { sum += Int(view.y.row(y)[x]) } }
                return Double(sum) / Double(size.samples)
            }
            return 0
        }
        let (usual, of4000) = (try mean(""), try mean("", 4000))
        #expect(usual > of4000 + 3)
        let mastered = "G(8500,39850)B(6550,2300)R(35400,14600)WP(15635,16450)L(40000000,50)"
        let likeOthers = [
            (try mean(":max-cll=4000,400"), of4000), (try mean(":master-display=\(mastered)"), of4000),
            (try mean(":max-cll=0,0"), usual), (try mean(":max-cll=4000,400", 1000), usual),
        ]
        for (found, wanted) in likeOthers { #expect(abs(found - wanted) < 0.5) }
    }

    /// Sizes with a half block, and formats for which the samples are converted first.
    @Test(arguments: ["98x66", "96x64"], [[], ["-pix_fmt", "yuv422p10le"], ["-pix_fmt", "yuv420p"]])
    func otherShapesAndFormats(size: String, options: [String]) throws {
        let found = try lumas(VideoDecoder(), try pictures(luma: 500, tags: Self.pq, options: options, size: size))
        let before = try #require(found.first?.before)
        let wanted = try #require(ColorConversion(of: before)).makeMapper()([125, 128, 128]).x
        #expect(abs(found[0].mean - wanted) < 1, "\(found[0].mean), \(wanted)")
    }

    @Test func usualPicturesStayAsTheyAre() throws {
        let tags = "colorprim=bt709:transfer=bt709:colormatrix=bt709"
        let found = try lumas(VideoDecoder(), try pictures(luma: 500, tags: tags))
        #expect(found.allSatisfy { $0.before == nil && abs($0.mean - 125) < 0.5 })
    }

    /// Live receivers may not know the full range.
    @Test(arguments: [["-pix_fmt", "yuv420p"], ["-pix_fmt", "yuv422p"], ["-pix_fmt", "yuv420p10le"]], [true, false])
    func theFullRangeBecomesTheLimitedOneLive(options: [String], isLive: Bool) throws {
        var configuration = VideoDecoder.Configuration()
        configuration.isLive = isLive
        let tags = "colorprim=bt709:transfer=bt709:colormatrix=bt709:fullrange=on"
        // FFmpeg has no range here that it could convert.
        let found = try lumas(VideoDecoder(configuration), try pictures(luma: 720, tags: tags, options: options))
        #expect(found.count == 3)
        for picture in found {
            let wanted = isLive ? 16 + 180 * 219.0 / 255 : 180
            #expect(abs(picture.mean - wanted) < 1, "\(picture.mean), \(wanted)")
            #expect(picture.color.range == (isLive ? .limited : .full))
            #expect(picture.before?.range == (isLive ? .full : nil))
            #expect(picture.color.matrix == 1 && picture.color.primaries == 1)
        }
    }

    /// SDR, HDR and SDR again: each picture has the colours of its kind, from the first one on.
    @Test func picturesOfTwoKindsInOneStream() throws {
        let sdr = "colorprim=bt709:transfer=bt709:colormatrix=bt709"
        let parts = try [sdr, Self.pq, sdr, Self.hlg].map { try pictures(luma: 573, tags: $0, options: ["-g", "1"]) }
        for isLive in [true, false] {
            var configuration = VideoDecoder.Configuration()
            configuration.isLive = isLive
            let found = try lumas(VideoDecoder(configuration), parts.flatMap { $0 })
            #expect(found.count == 12)
            for (index, picture) in found.enumerated() {
                let conversion = picture.before.flatMap { ColorConversion(of: $0) }
                #expect((conversion != nil) == (index / 3 % 2 == 1))
                let wanted = conversion.map { $0.makeMapper()([573.0 / 4, 128, 128]).x } ?? 573.0 / 4
                #expect(abs(picture.mean - wanted) < 0.6, "\(index): \(picture.mean), \(wanted)")
            }
        }
    }

    /// A live picture whose peak is another need not wait. Those of files do.
    @Test(arguments: [true, false]) func theTableOfTheFormerPeakServesUntilTheNextIsThere(isExact: Bool) throws {
        var color = ColorDescription()
        (color.primaries, color.transfer, color.matrix) = (9, ColorDescription.pq, 9)
        let peaks = try [1000.0, 4000].map { try #require(ColorConversion(of: color, peak: $0)) }
        #expect(peaks[0].differsInPeakAlone(from: peaks[1]))
        let tables = ColorTables(isExact: isExact)
        tables.expect(peaks[0])
        let first = tables.table(for: peaks[0])
        #expect(tables.table(for: peaks[0]) === first)
        var second = tables.table(for: peaks[1])
        #expect(!isExact || second !== first)
        while second === first { second = tables.table(for: peaks[1]) }
        #expect(tables.table(for: peaks[1]) === second)
        color.transfer = ColorDescription.hlg
        let hlg = try #require(ColorConversion(of: color))
        #expect(!hlg.differsInPeakAlone(from: peaks[1]))
        #expect(tables.table(for: hlg) !== second)
        tables.expect(peaks[0])
        #expect(tables.table(for: hlg) !== second)
    }
}
