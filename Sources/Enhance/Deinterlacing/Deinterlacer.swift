import Kernels
import Media

/// Makes progressive pictures of interlaced ones, with no picture of delay: it reads the picture itself and the one before.
///
/// A picture that is marked as interlaced may be none. ``examine(_:before:)`` finds that out. Such a picture should be left
/// as it is.
///
/// The missing rows come from a filter over both fields and both moments (W3FDIF). Where nothing changes, the result stays
/// near the mean of the missing field before and after (as in YADIF and bwdif), so that what stands still keeps all rows.
/// docs/design/interlace.md has the method and its measurements.
///
/// Confined to one thread at a time. Does not allocate after the first picture of a size.
public final class Deinterlacer {
    /// One of a picture's two fields, by their order in time.
    public enum Field: Sendable { case first, second }

    /// How many rows a picture needs, so that its chroma planes have two fields.
    public static let leastHeight = 4

    private let kernels: Kernels
    private var judge = CombJudge()
    private var sums: [CombSums] = []

    public init(kernels: Kernels = .best) { self.kernels = kernels }

    /// The pictures so far are progressive, however they are marked.
    public var isProgressive: Bool { judge.isProgressive }

    /// Begins anew with another sequence of pictures.
    public func reset() { judge = CombJudge() }

    /// Finds out whether a picture has two fields of different moments.
    /// - Parameters:
    ///   - picture: marked as interlaced.
    ///   - before: the picture before it, of the same size.
    /// - Returns: whether it is to be deinterlaced.
    @unsafe public func examine(_ picture: PictureView, before: PictureView) -> Bool {
        unsafe judge.judge(votes(picture.y, before: before.y))
    }

    /// Makes one field a whole picture.
    /// - Parameters:
    ///   - before: the picture before, of the same size; nil where there is none.
    ///   - field: whose rows are kept, and whose moment the result shows.
    ///   - isTopFirst: the rows 0, 2, 4 … are those of the first field.
    @unsafe public func make(
        _ field: Field, of picture: PictureView, before: PictureView?, isTopFirst: Bool, into output: MutablePictureView
    ) {
        let parity = (field == .first) == isTopFirst ? 0 : 1
        let isSecond = field == .second
        unsafe kernels.deinterlace(output.y, picture.y, before: before?.y, keeping: parity, isSecond: isSecond)
        unsafe kernels.deinterlace(output.u, picture.u, before: before?.u, keeping: parity, isSecond: isSecond)
        unsafe kernels.deinterlace(output.v, picture.v, before: before?.v, keeping: parity, isSecond: isSecond)
    }

    @unsafe private func votes(_ plane: PlaneView, before: PlaneView) -> CombJudge.Votes {
        let block = Kernels.combBlock
        let columns = unsafe plane.width / block.width
        if sums.count != columns { sums = [CombSums](repeating: CombSums(), count: columns) }
        var votes = CombJudge.Votes()
        // Noise of one level and a half may differ between any two rows.
        let noise = 2 * CombSums.samples
        // The rows of the bottom field.
        for first in stride(from: 3, to: unsafe plane.height - block.height, by: block.height) {
            unsafe sums.withUnsafeMutableBufferPointer {
                unsafe kernels.measureCombs($0, plane, before: before, first: first)
            }
            for sum in sums {
                votes.blocks += 1
                if 2 * sum.other > 3 * sum.same + 2 * noise, sum.change > noise {
                    votes.combed += 1
                } else if 2 * sum.before > 3 * sum.other + 2 * noise {
                    votes.whole += 1
                }
            }
        }
        return votes
    }
}
