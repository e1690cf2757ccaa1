import Enhance
import Media

/// Puts a picture as it came beside the enhanced one, in one picture: for people to judge.
///
/// The picture as it came is brought to the same size as a player would do it, by a polyphase filter. Where a frame was
/// synthesised, it is the last real one. Confined to one thread at a time.
final class SideBySide {
    private let kind: FileEnhancement.Comparison
    private let resampler: PictureResampler
    /// The last pictures as they came. Frames that are synthesised one picture late follow the last but two.
    private let plain: [Picture]
    private let target: Picture

    /// How long the line takes from one side of the picture to the other and back.
    private static let wipePeriod = 8.0
    /// The line's columns of luma, and their level.
    private static let lineWidth = 2
    private static let white: UInt8 = 235
    private static let grey: UInt8 = 128

    /// - Parameter lookahead: how many pictures later than they come pictures are enhanced.
    init(
        _ kind: FileEnhancement.Comparison, from input: PictureSize, to output: PictureSize, lookahead: Int,
        workers: WorkerPool
    ) {
        self.kind = kind
        resampler = PictureResampler(from: input, to: output, workers: workers)
        plain = (0..<3 + lookahead).map { _ in Picture(size: output) }
        target = Picture(size: output)
    }

    /// Keeps a picture as it came.
    /// - Parameter index: counts pictures from 0.
    @unsafe func keep(_ picture: PictureView, index: Int, chromaLocation: UInt8) {
        unsafe resampler.resample(picture, into: plain[index % plain.count].mutableView, chromaLocation: chromaLocation)
    }

    /// Puts a picture that was kept to the left of the line, and an enhanced one to the right.
    /// - Parameters:
    ///   - index: of the picture to the left: one of the last that are kept.
    ///   - time: when the picture is shown, in seconds. The line of `wipe` goes with it.
    /// - Returns: a picture that is valid until the next call.
    func compose(_ index: Int, _ enhanced: Picture, at time: Double) -> Picture {
        let column = Self.lineColumn(kind, at: time, width: enhanced.size.width)
        let (left, right, output) = unsafe (plain[index % plain.count].view, enhanced.view, target.mutableView)
        unsafe compose(left.y, right.y, into: output.y, column: column, width: Self.lineWidth, level: Self.white)
        unsafe compose(left.u, right.u, into: output.u, column: column / 2, width: Self.lineWidth / 2, level: Self.grey)
        unsafe compose(left.v, right.v, into: output.v, column: column / 2, width: Self.lineWidth / 2, level: Self.grey)
        return target
    }

    /// The even column at which the line begins.
    static func lineColumn(_ kind: FileEnhancement.Comparison, at time: Double, width: Int) -> Int {
        var share = 0.5
        if kind == .wipe {
            // From the middle to the right, to the left and back.
            let turn = (time / wipePeriod + 0.25).truncatingRemainder(dividingBy: 1)
            share = 1 - abs(2 * (turn < 0 ? turn + 1 : turn) - 1)
        }
        return Int(Double(width) * share / 2) * 2
    }

    private func compose(
        _ left: PlaneView, _ right: PlaneView, into output: MutablePlaneView, column: Int, width: Int, level: UInt8
    ) {
        let columns = unsafe output.width
        let (first, last) = (min(column, columns), min(column + width, columns))
        for y in unsafe 0..<output.height {
            let row = unsafe output.row(y)
            unsafe row.update(from: left.row(y), count: first)
            unsafe (row + first).update(repeating: level, count: last - first)
            unsafe (row + last).update(from: right.row(y) + last, count: columns - last)
        }
    }
}
