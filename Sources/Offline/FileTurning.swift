import Media

/// Turns a file's pictures upright before they are enlarged, as a player turns them.
///
/// Confined to one thread at a time. Does not allocate after the first picture that is turned.
final class FileTurning {
    /// The size of upright pictures.
    let shownSize: PictureSize
    private let size: PictureSize
    private var orientation: Orientation
    private var turn: PictureTurn
    private lazy var target = Picture(size: shownSize)
    private var hasTold = false

    /// - Parameters:
    ///   - orientation: of the file's first picture.
    ///   - size: of the pictures as they are coded.
    init(_ orientation: Orientation, size: PictureSize) {
        self.orientation = orientation
        self.size = size
        turn = PictureTurn(orientation)
        shownSize = turn.size(of: size)
    }

    /// Takes over how the next picture is to be turned, where it still fills the file's pictures then.
    /// - Returns: a line for people, once, where it cannot be turned so.
    func follow(_ newest: Orientation) -> String? {
        guard newest != orientation || !hasTold && !newest.isWholeTurn else { return nil }
        orientation = newest
        let wanted = PictureTurn(newest)
        let fits = wanted.size(of: size) == shownSize
        if fits { turn = wanted }
        guard !hasTold, !fits || !newest.isWholeTurn else { return nil }
        hasTold = true
        return fits
            ? "pictures are to be shown at an angle: they are turned to the nearest side"
            : "pictures are to be turned otherwise from here on: they are turned as those before, because the output has one size"
    }

    /// A picture that is upright, valid until the next call.
    @unsafe func upright(_ view: PictureView) -> PictureView {
        if turn.isNone { return unsafe view }
        unsafe turn.turn(view, into: target.mutableView)
        return unsafe target.view
    }
}

extension Orientation {
    /// Sides become sides. Cameras that measure their angle are off by less than a degree.
    fileprivate var isWholeTurn: Bool {
        let rest = Int(rotation) % 16384
        return min(rest, 16384 - rest) < 182
    }
}
