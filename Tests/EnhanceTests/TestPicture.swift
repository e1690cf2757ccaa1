import KernelChecks
import Media

/// A picture with padding around every plane. A test can check the padding's bytes afterwards.
final class TestPicture {
    let size: PictureSize
    private let planes: [CheckMemory]

    init(_ size: PictureSize) {
        self.size = size
        planes = [size, size.chroma, size.chroma].map { CheckMemory(width: $0.width, height: $0.height) }
    }

    /// Fills luma and both chroma planes with a function of the plane's number and the sample's place.
    convenience init(_ size: PictureSize, _ value: (_ plane: Int, _ x: Int, _ y: Int) -> UInt8) {
        self.init(size)
        for (n, plane) in planes.enumerated() { plane.fill { value(n, $0, $1) } }
    }

    /// Noise with some flat parts, the same for the same seed.
    convenience init(_ size: PictureSize, seed: UInt64) {
        var random = CheckRandom(seed: seed)
        self.init(size) { _, x, y in (x / 9 + y / 7) % 3 == 0 ? UInt8((x * 3 + y * 5) & 255) : random.byte() }
    }

    var view: PictureView { mutableView.readOnly }
    var mutableView: MutablePictureView {
        let views = planes.map {
            MutablePlaneView(base: $0.row(0), stride: $0.stride, width: $0.width, height: $0.height)
        }
        return MutablePictureView(y: views[0], u: views[1], v: views[2])
    }

    /// The same samples in a picture without this padding.
    var copied: Picture {
        let picture = Picture(size: size)
        let (from, to) = (view, picture.mutableView)
        for (from, to) in [(from.y, to.y), (from.u, to.u), (from.v, to.v)] {
            for y in 0..<from.height { to.row(y).update(from: from.row(y), count: from.width) }
        }
        return picture
    }

    func set(_ plane: Int, _ x: Int, _ y: Int, _ value: UInt8) { planes[plane].row(y)[x] = value }
    func sample(_ plane: Int, _ x: Int, _ y: Int) -> Int { Int(planes[plane].row(y)[x]) }

    /// The place where the two differ, padding included; nil where they are equal.
    func difference(from other: TestPicture) -> String? {
        for (n, (a, b)) in zip(planes, other.planes).enumerated() {
            if let at = a.firstDifference(from: b) { return "plane \(n) at \(at.x), \(at.y)" }
        }
        return nil
    }

    /// Whether every byte outside of the planes' samples is as `init` left it.
    var paddingIsIntact: Bool {
        let clean = TestPicture(size)
        for (plane, reference) in zip(planes, clean.planes) {
            for y in 0..<plane.height { reference.row(y).update(from: plane.row(y), count: plane.width) }
            if reference.firstDifference(from: plane) != nil { return false }
        }
        return true
    }
}
