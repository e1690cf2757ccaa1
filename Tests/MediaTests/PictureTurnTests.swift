import Media
import Testing

/// Turned pictures, sample by sample.
@Suite struct PictureTurnTests {
    /// The letters of a plane, row by row, after a turn.
    private func turned(_ rows: [String], _ orientation: Orientation) -> [String] {
        let turn = PictureTurn(orientation)
        let size = PictureSize(width: rows[0].utf8.count, height: rows.count)
        let (from, to) = (Picture(size: size), Picture(size: turn.size(of: size)))
        for (y, row) in rows.enumerated() { for (x, byte) in row.utf8.enumerated() { from.mutableView.y.row(y)[x] = byte } }
        turn.turn(from.view.y, into: to.mutableView.y)
        return (0..<to.size.height).map { y in
            String(decoding: UnsafeBufferPointer(start: to.view.y.row(y), count: to.size.width), as: UTF8.self)
        }
    }

    /// First mirrored, then rotated anticlockwise.
    @Test(arguments: [
        (Orientation.upright, ["abc", "def"]),
        (Orientation(rotation: 0x4000), ["cf", "be", "ad"]),
        (Orientation(rotation: 0x8000), ["fed", "cba"]),
        (Orientation(rotation: 0xC000), ["da", "eb", "fc"]),
        (Orientation(isFlippedHorizontally: true), ["cba", "fed"]),
        (Orientation(isFlippedVertically: true), ["def", "abc"]),
        (Orientation(isFlippedHorizontally: true, rotation: 0x4000), ["ad", "be", "cf"]),
        (Orientation(isFlippedHorizontally: true, rotation: 0xC000), ["fc", "eb", "da"]),
        (Orientation(isFlippedHorizontally: true, isFlippedVertically: true), ["fed", "cba"]),
        // The nearest quarter.
        (Orientation(rotation: 0x3F80), ["cf", "be", "ad"]), (Orientation(rotation: 0xFF00), ["abc", "def"]),
    ])
    func everySampleHasItsPlace(orientation: Orientation, expected: [String]) {
        #expect(turned(["abc", "def"], orientation) == expected)
        #expect(PictureTurn(orientation).isNone == (expected == ["abc", "def"]))
    }

    /// Pictures larger than the squares in which they are turned.
    @Test(arguments: [0, 0x4000, 0x8000, 0xC000] as [UInt16], [false, true]) func fourTurnsOrTwoMirrorsAreNone(
        rotation: UInt16, isMirrored: Bool
    ) {
        let turn = PictureTurn(Orientation(isFlippedHorizontally: isMirrored, rotation: rotation))
        var size = PictureSize(width: 75, height: 41)
        let first = Picture(size: size)
        func fill(_ plane: MutablePlaneView) {
            for y in 0..<plane.height { for x in 0..<plane.width { plane.row(y)[x] = UInt8((x * 7 + y * 31) & 255) } }
        }
        fill(first.mutableView.y)
        fill(first.mutableView.u)
        fill(first.mutableView.v)
        var picture = first
        for _ in 0..<4 {
            size = turn.size(of: size)
            let next = Picture(size: size)
            turn.turn(picture.view, into: next.mutableView)
            picture = next
        }
        #expect(size == first.size)
        for (a, b) in [(first.view.y, picture.view.y), (first.view.u, picture.view.u), (first.view.v, picture.view.v)] {
            #expect((0..<a.height).allSatisfy { y in (0..<a.width).allSatisfy { a.row(y)[$0] == b.row(y)[$0] } })
        }
    }

    @Test func theDescriptionTurnsToo() {
        var color = ColorDescription()
        color.orientation = Orientation(rotation: 0x4000)
        color.sampleAspectRatio = Rational(16, 11)
        // Chroma at the left, whose column becomes the bottom row.
        color.chromaLocation = 1
        #expect(color.upright().orientation == .upright && color.upright().sampleAspectRatio == Rational(11, 16))
        #expect(color.upright().chromaLocation == 6)
        color.orientation.rotation = 0xC000
        #expect(color.upright().chromaLocation == 4)
        // Nothing says that chroma lies to the right.
        color.orientation = Orientation(isFlippedHorizontally: true)
        #expect(color.upright().chromaLocation == 2 && color.upright().sampleAspectRatio == Rational(16, 11))
        color.chromaLocation = 0
        color.sampleAspectRatio = Rational(0, 1)
        color.orientation = Orientation(rotation: 0x4000)
        #expect(color.upright() == ColorDescription())
    }
}
