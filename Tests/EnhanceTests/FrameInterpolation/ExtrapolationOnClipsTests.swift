import Enhance
import Foundation
import Media
import Testing

/// Extrapolation on real clips, for the table in docs/interpolation.md. Runs only where BURNISH_CLIPS names a folder of
/// .y4m files, as `tools/compare-fi --y4m FOLDER` writes them.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BURNISH_CLIPS"] != nil)) struct ExtrapolationOnClipsTests {
    /// A clip's even frames; each is predicted from those before it, or repeated.
    @Test func predictingBeatsRepeating() throws {
        let folder = URL(filePath: ProcessInfo.processInfo.environment["BURNISH_CLIPS"] ?? "")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "y4m" }.sorted { $0.path < $1.path }
        try #require(!files.isEmpty)
        for limit in [61, Int.max] {
            var gains: [Double] = []
            for file in files {
                let (predicted, repeated) = try Self.scores(file, frames: limit)
                print(file.lastPathComponent, limit == .max ? "all" : "\(limit)", predicted, repeated)
                gains.append(predicted - repeated)
                #expect(predicted >= repeated, "\(file.lastPathComponent)")
            }
            #expect(gains.reduce(0, +) / Double(gains.count) >= 2)
        }
    }

    /// Mean luma PSNR of frames predicted and repeated.
    static func scores(_ file: URL, frames limit: Int) throws -> (predicted: Double, repeated: Double) {
        let bytes = [UInt8](try Data(contentsOf: file))
        let header = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self).split(separator: " ")
        let size = PictureSize(
            width: Int(header.first { $0.first == "W" }!.dropFirst())!,
            height: Int(header.first { $0.first == "H" }!.dropFirst())!)
        let length = size.width * size.height + 2 * size.chroma.width * size.chroma.height
        let start = bytes.firstIndex(of: 10)! + 1
        let count = min((bytes.count - start) / (length + 6), limit)
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: size))
        let (picture, output, last) = (Picture(size: size), Picture(size: size), Picture(size: size))
        var (predicted, repeated, frames) = (0.0, 0.0, 0.0)
        for i in stride(from: 0, to: count, by: 2) {
            load(bytes[(start + i * (length + 6) + 6)...], into: picture)
            if i >= 6 {
                predicted += psnr(output, picture)
                repeated += psnr(last, picture)
                frames += 1
            }
            load(bytes[(start + i * (length + 6) + 6)...], into: last)
            try session.push(picture.view, enhanced: picture.view)
            try session.synthesise(distance: 1, into: output.mutableView)
        }
        return (predicted / frames, repeated / frames)
    }

    private static func load(_ bytes: ArraySlice<UInt8>, into picture: Picture) {
        var at = bytes.startIndex
        for plane in [picture.mutableView.y, picture.mutableView.u, picture.mutableView.v] {
            for y in 0..<plane.height {
                for x in 0..<plane.width { plane.row(y)[x] = bytes[at + x] }
                at += plane.width
            }
        }
    }

    private static func psnr(_ a: Picture, _ b: Picture) -> Double {
        var sum = 0
        for y in 0..<a.size.height {
            for x in 0..<a.size.width {
                let d = Int(a.view.y.row(y)[x]) - Int(b.view.y.row(y)[x])
                sum += d * d
            }
        }
        return 10 * log10(65025 / max(Double(sum) / Double(a.size.width * a.size.height), 1e-3))
    }
}
