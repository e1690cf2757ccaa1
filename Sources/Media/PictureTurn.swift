/// How the samples of a picture are moved so that it is upright: one of the eight ways to lay a rectangle on itself.
public struct PictureTurn: Hashable, Sendable, BitwiseCopyable {
    /// Rows become columns.
    public let swapsAxes: Bool
    /// The first of the columns that come becomes the last column, or the last row where axes are swapped.
    public let reversesColumns: Bool
    /// The first of the rows that come becomes the last row, or the last column where axes are swapped.
    public let reversesRows: Bool

    /// The turn that an orientation asks for. Angles between quarter turns count as the nearest one.
    public init(_ orientation: Orientation) {
        let quarters = (Int(orientation.rotation) + 8192) / 16384 % 4
        swapsAxes = quarters % 2 == 1
        reversesColumns = (quarters == 1 || quarters == 2) != orientation.isFlippedHorizontally
        reversesRows = (quarters >= 2) != orientation.isFlippedVertically
    }

    /// Whether pictures stay as they are.
    public var isNone: Bool { !swapsAxes && !reversesColumns && !reversesRows }

    /// The size of a turned picture. The way back has the same.
    public func size(of size: PictureSize) -> PictureSize {
        swapsAxes ? PictureSize(width: size.height, height: size.width) : size
    }

    /// Turns a picture.
    /// - Parameter target: has the turned picture's size.
    @unsafe public func turn(_ picture: PictureView, into target: MutablePictureView) {
        unsafe precondition(size(of: picture.size) == target.readOnly.size, "a turned picture has the turned size")
        unsafe turn(picture.y, into: target.y)
        unsafe turn(picture.u, into: target.u)
        unsafe turn(picture.v, into: target.v)
    }

    /// Turns a plane, in squares, so that rows of both planes stay in the cache.
    @unsafe public func turn(_ plane: PlaneView, into target: MutablePlaneView) {
        let (columns, rows) = unsafe (plane.width, plane.height)
        // From one sample of a row to the next: along a row of the source, or down a column.
        let isBackward = swapsAxes ? reversesRows : reversesColumns
        let step = unsafe (isBackward ? -1 : 1) * (swapsAxes ? plane.stride : 1)
        for top in unsafe stride(from: 0, to: target.height, by: Self.side) {
            for left in unsafe stride(from: 0, to: target.width, by: Self.side) {
                for y in unsafe top..<min(top + Self.side, target.height) {
                    let (u, v) = swapsAxes ? (y, left) : (left, y)
                    var source = unsafe plane.row(reversesRows ? rows - 1 - v : v) + (reversesColumns ? columns - 1 - u : u)
                    let row = unsafe target.row(y)
                    for x in unsafe left..<min(left + Self.side, target.width) {
                        unsafe row[x] = source.pointee
                        unsafe source += step
                    }
                }
            }
        }
    }

    private static let side = 32
}

extension ColorDescription {
    /// The same description for pictures that have been turned as ``orientation`` asks. Their samples' shape and the places of
    /// chroma are turned, too. Nothing can say that chroma lies to the right: such a place counts as the middle.
    public func upright() -> ColorDescription {
        let turn = PictureTurn(orientation)
        var upright = self
        upright.orientation = .upright
        if turn.isNone { return upright }
        if turn.swapsAxes, sampleAspectRatio.numerator > 0 {
            upright.sampleAspectRatio = Rational(sampleAspectRatio.denominator, sampleAspectRatio.numerator)
        }
        if let place = Self.chromaPlaces.firstIndex(where: { $0.number == chromaLocation }) {
            let (across, down, _) = Self.chromaPlaces[place]
            let turned = (turn.reversesColumns ? 2 - across : across, turn.reversesRows ? 2 - down : down)
            let (right, below) = turn.swapsAxes ? (turned.1, turned.0) : turned
            upright.chromaLocation =
                Self.chromaPlaces.first { $0.across == min(right, 1) && $0.down == below }?.number ?? chromaLocation
        }
        return upright
    }

    /// Halves of a luma sample from the top left one of four to their chroma sample, and its number (ITU-T H.273, 8.7, plus 1).
    private static let chromaPlaces: [(across: Int, down: Int, number: UInt8)] = [
        (0, 1, 1), (1, 1, 2), (0, 0, 3), (1, 0, 4), (0, 2, 5), (1, 2, 6),
    ]
}
