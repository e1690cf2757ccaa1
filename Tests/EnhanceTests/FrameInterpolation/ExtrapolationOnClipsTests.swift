import Enhance
import Foundation
import Media
import Testing

/// Extrapolation on real clips, for the tables in docs/measurements/interpolation.md. Runs only where BURNISH_CLIPS
/// names a folder of .y4m files, as `tools/bench/compare-fi --y4m FOLDER` writes them.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BURNISH_CLIPS"] != nil)) struct ExtrapolationOnClipsTests {
    /// Predicts from a clip's even frames the odd ones, half an interval ahead as for a doubled rate, or the next even
    /// ones, a whole interval ahead.
    @Test(arguments: [0.5, 1]) func predictingBeatsRepeating(distance: Double) throws {
        let folder = URL(filePath: ProcessInfo.processInfo.environment["BURNISH_CLIPS"] ?? "")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "y4m" }.sorted { $0.path < $1.path }
        try #require(!files.isEmpty)
        var lines = ["distance \(distance): first 61 frames, predicted and repeated; all frames"]
        var gains: [(Double, Double)] = []
        for file in files {
            let (first, all) = try Self.scores(file, distance: distance)
            let numbers = [first.predicted, first.repeated, all.predicted, all.repeated]
            lines.append("\(file.lastPathComponent) " + numbers.map { String(format: "%.2f", $0) }.joined(separator: " "))
            gains.append((first.predicted - first.repeated, all.predicted - all.repeated))
            #expect(first.predicted >= first.repeated, "\(file.lastPathComponent), first frames")
            #expect(all.predicted >= all.repeated, "\(file.lastPathComponent)")
        }
        let mean = gains.reduce((0, 0)) { ($0.0 + $1.0 / Double(gains.count), $0.1 + $1.1 / Double(gains.count)) }
        lines.append(String(format: "mean gain %.2f %.2f", mean.0, mean.1))
        print(lines.joined(separator: "\n"))
        #expect(mean.0 >= 2 && mean.1 >= 2)
    }

    private typealias Score = (predicted: Double, repeated: Double)

    /// Mean luma PSNR of predicted and of repeated frames, for the first 61 frames and for all.
    private static func scores(_ file: URL, distance: Double) throws -> (first: Score, all: Score) {
        let bytes = try Data(contentsOf: file, options: .mappedIfSafe)
        let header = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self).split(separator: " ")
        let size = PictureSize(
            width: Int(header.first { $0.first == "W" }!.dropFirst())!,
            height: Int(header.first { $0.first == "H" }!.dropFirst())!)
        let length = size.width * size.height + 2 * size.chroma.width * size.chroma.height
        let start = bytes.firstIndex(of: 10)! + 1
        let count = (bytes.count - start) / (length + 6)
        func load(_ frame: Int, into picture: Picture) {
            bytes.withUnsafeBytes { bytes in
                var at = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + start + frame * (length + 6) + 6
                for plane in [picture.mutableView.y, picture.mutableView.u, picture.mutableView.v] {
                    for y in 0..<plane.height {
                        plane.row(y).update(from: at, count: plane.width)
                        at += plane.width
                    }
                }
            }
        }
        let session = try FrameExtrapolation(FrameInterpolationConfiguration(size: size))
        let (picture, output, truth) = (Picture(size: size), Picture(size: size), Picture(size: size))
        var (sum, frames, first) = (Score(0, 0), 0.0, Score(0, 0))
        for i in stride(from: 0, to: count - Int(2 * distance), by: 2) {
            load(i, into: picture)
            try session.push(picture.view, enhanced: picture.view)
            try session.synthesise(distance: distance, into: output.mutableView)
            // Before the third picture there is nothing to predict from.
            guard i >= 4 else { continue }
            load(i + Int(2 * distance), into: truth)
            sum.predicted += psnr(output, truth)
            sum.repeated += psnr(picture, truth)
            frames += 1
            if i + Int(2 * distance) < 61 { first = (sum.predicted / frames, sum.repeated / frames) }
        }
        return (first, (sum.predicted / frames, sum.repeated / frames))
    }

    private static func psnr(_ a: Picture, _ b: Picture) -> Double {
        var sum = 0
        for y in 0..<a.size.height {
            let (rowA, rowB) = (a.view.y.row(y), b.view.y.row(y))
            var x = 0
            while x < a.size.width {
                let d = Int(rowA[x]) - Int(rowB[x])
                sum &+= d &* d
                x &+= 1
            }
        }
        return 10 * log10(65025 / max(Double(sum) / Double(a.size.width * a.size.height), 1e-3))
    }
}
