import Media

/// Finds pictures that only repeat the one before: animation drawn for every second picture, recordings of a screen. Between such
/// two there is no motion, and new pictures belong between those that differ.
///
/// Confined to one thread at a time. Allocates nothing after `init`.
final class RepeatedPictures {
    private let newest: Picture
    private var isKnown = false
    private var sums: [Int32]

    /// Side of the blocks that are compared.
    private static let side = 16
    /// In levels of the mean difference of samples: of a block, and of the picture. Coding changes a repeated picture by less, and
    /// noise by more.
    private static let tolerance = (block: 1.0, picture: 0.25)
    /// Where pictures that differ do so by far more, a repeat may be coded worse.
    private static let coarse = (picture: 0.5, blockShare: 1.0 / 8, pictureShare: 1.0 / 16)

    /// How much a picture differs from another: in the block that differs most, and in the mean.
    private struct Change {
        var block = 0.0
        var picture = 0.0
    }

    /// Of the newest picture from the one before it.
    private var last = Change()

    init(size: PictureSize) {
        newest = Picture(size: size)
        sums = [Int32](repeating: 0, count: (size.width + Self.side - 1) / Self.side)
    }

    /// Compares a picture with the newest one that was no repeat.
    @unsafe func isRepeat(_ picture: PictureView) -> Bool {
        let change = isKnown ? unsafe change(to: picture.y) : Change()
        if isKnown, isNone(change) { return true }
        (isKnown, last) = (true, change)
        let target = unsafe newest.mutableView.y
        for y in unsafe 0..<target.height { unsafe target.row(y).update(from: picture.y.row(y), count: target.width) }
        return false
    }

    private func isNone(_ change: Change) -> Bool {
        change.block <= Self.tolerance.block && change.picture <= Self.tolerance.picture
            || change.picture <= min(Self.coarse.picture, last.picture * Self.coarse.pictureShare)
                && change.block <= last.block * Self.coarse.blockShare
    }

    private func change(to plane: PlaneView) -> Change {
        let before = unsafe newest.view.y
        let (width, height) = unsafe (plane.width, plane.height)
        var (total, change) = (0, Change())
        for top in stride(from: 0, to: height, by: Self.side) {
            let rows = top..<min(top + Self.side, height)
            for column in sums.indices { sums[column] = 0 }
            for y in rows {
                let (a, b) = unsafe (plane.row(y), before.row(y))
                for column in sums.indices {
                    let first = column * Self.side
                    var sum: Int32 = 0
                    for x in first..<min(first + Self.side, width) { unsafe sum &+= abs(Int32(a[x]) &- Int32(b[x])) }
                    sums[column] &+= sum
                }
            }
            for (column, sum) in sums.enumerated() {
                let count = rows.count * (min((column + 1) * Self.side, width) - column * Self.side)
                change.block = max(change.block, Double(sum) / Double(count))
                total += Int(sum)
            }
        }
        change.picture = Double(total) / Double(width * height)
        return change
    }
}
