import Glibc
import Media

/// The moving picture behind the time code: a detailed texture that pans at a whole number of samples a frame, a disc
/// on a smooth path across everything, a dial whose hand turns once in two seconds, the frame's number in digits, and a lamp
/// that flashes on every whole second. The same number and time always give the same picture. Painting allocates
/// nothing and takes well under a millisecond at 640x360.
///
/// Not thread-safe: one thread paints.
public final class TestPattern {
    public let size: PictureSize
    private let still: Picture
    private let texture: Picture
    private let layout: Layout

    /// How long the lamp is lit at the start of each second of the capture clock.
    public static let flashMicroseconds: Int64 = 100_000

    /// - Parameters:
    ///   - size: at least 64 samples on each side.
    ///   - framesPerSecond: sets how far the texture moves from frame to frame.
    public init(size: PictureSize, framesPerSecond: Double) {
        precondition(
            min(size.width, size.height) >= TimeCodeLayout.smallestSide, "a test picture is at least 64 samples wide")
        self.size = size
        layout = Layout(size: size, framesPerSecond: framesPerSecond)
        still = Picture(size: size)
        texture = Picture(size: PictureSize(width: layout.panWidth + layout.period, height: layout.fieldHeight))
        unsafe Self.drawStill(still.mutableView, layout)
        unsafe Self.drawTexture(texture.mutableView, period: layout.period)
    }

    /// Paints one frame.
    /// - Parameters:
    ///   - picture: of exactly ``size``.
    ///   - code: painted over the top; its capture time also moves the hand and lights the lamp.
    ///   - index: the frame's number, not wrapped, which moves everything else.
    public func paint(_ picture: MutablePictureView, code: TimeCode, index: Int) {
        unsafe precondition(picture.size == size, "the picture has another size than the pattern")
        unsafe copy(still.view.y, to: picture.y)
        unsafe copy(still.view.u, to: picture.u)
        unsafe copy(still.view.v, to: picture.v)
        unsafe pan(picture, by: index * layout.panStep % layout.period)
        let canvas = unsafe Canvas(picture)
        canvas.hand(
            centreX: layout.dialX, centreY: layout.dialY, length: layout.dialRadius * 0.85,
            turn: Double(code.captured.microseconds % 2_000_000) / 2_000_000)
        let lit = code.captured.microseconds % 1_000_000 < Self.flashMicroseconds
        canvas.fill(
            x: layout.lampX, y: layout.lampY, width: layout.lampSide, height: layout.lampSide, luma: lit ? 225 : 30)
        canvas.number(index, x: layout.digitsX, y: layout.digitsY, digitHeight: layout.digitHeight)
        let t = Double(index) / layout.framesPerSecond
        canvas.disc(
            centreX: Double(size.width) * (0.5 + 0.4 * sin(t * 1.1)),
            centreY: Double(layout.top) + Double(layout.fieldHeight) * (0.5 + 0.35 * sin(t * 1.7 + 1)),
            radius: Double(min(layout.fieldHeight, size.width)) / 9)
        unsafe code.paint(into: picture.y)
    }

    private func copy(_ from: PlaneView, to: MutablePlaneView) {
        for y in 0..<(unsafe to.height) { unsafe to.row(y).update(from: from.row(y), count: to.width) }
    }

    private func pan(_ picture: MutablePictureView, by offset: Int) {
        let texture = unsafe self.texture.view
        for y in 0..<layout.fieldHeight {
            unsafe picture.y.row(layout.top + y).update(from: texture.y.row(y) + offset, count: layout.panWidth)
        }
        let chromaTop = (layout.top + 1) / 2
        for y in 0..<min(layout.fieldHeight / 2, unsafe picture.u.height - chromaTop) {
            unsafe picture.u.row(chromaTop + y).update(from: texture.u.row(y) + offset / 2, count: layout.panWidth / 2)
            unsafe picture.v.row(chromaTop + y).update(from: texture.v.row(y) + offset / 2, count: layout.panWidth / 2)
        }
    }

    /// Where things are. The field is the part without the time code.
    struct Layout {
        let framesPerSecond: Double
        let top: Int
        let fieldHeight: Int
        let panWidth: Int
        let period: Int
        let panStep: Int
        let dialX: Double
        let dialY: Double
        let dialRadius: Double
        let lampX: Int
        let lampY: Int
        let lampSide: Int
        let digitsX: Int
        let digitsY: Int
        let digitHeight: Int

        init(size: PictureSize, framesPerSecond: Double) {
            self.framesPerSecond = framesPerSecond
            top = (TimeCodeLayout(size).height + 1) & ~1
            fieldHeight = size.height - top
            panWidth = size.width * 3 / 5 & ~1
            period = panWidth
            panStep = max(1, Int((Double(size.width) * 30 / (320 * framesPerSecond)).rounded()))
            let quiet = size.width - panWidth
            dialRadius = Double(min(quiet, fieldHeight)) * 0.3
            dialX = Double(panWidth) + Double(quiet) / 2
            dialY = Double(top) + dialRadius * 1.2
            lampSide = max(4, quiet / 8)
            lampX = size.width - lampSide - lampSide / 4
            lampY = top + lampSide / 4
            // Eight digits, each 0.7 as wide as it is high, in 90 % of the still side.
            digitHeight = max(5, min(fieldHeight / 5, quiet * 16 / 100))
            digitsX = panWidth + quiet / 20
            digitsY = size.height - digitHeight - digitHeight / 4
        }
    }

    private static func drawStill(_ picture: MutablePictureView, _ layout: Layout) {
        let (width, height) = unsafe (picture.y.width, picture.y.height)
        for y in 0..<height {
            let row = unsafe picture.y.row(y)
            for x in 0..<width { unsafe row[x] = UInt8(60 + 90 * x / width + 40 * y / height) }
        }
        for y in 0..<(unsafe picture.u.height) {
            let (u, v) = unsafe (picture.u.row(y), picture.v.row(y))
            for x in 0..<(unsafe picture.u.width) {
                // Neutral under the time code, whose cells already cost many bits.
                unsafe u[x] = y * 2 < layout.top ? 128 : UInt8(112 + 32 * y * 2 / height)
                unsafe v[x] = y * 2 < layout.top ? 128 : UInt8(140 - 32 * x * 2 / width)
            }
        }
        unsafe Canvas(picture).disc(
            centreX: layout.dialX, centreY: layout.dialY, radius: layout.dialRadius, luma: 190, u: 128, v: 128)
    }

    /// Two octaves of smooth value noise over a few gratings, and hard-edged bars, so that every part of an encoder has
    /// work. Repeats after `period` columns.
    private static func drawTexture(_ picture: MutablePictureView, period: Int) {
        let (width, height) = unsafe (picture.y.width, picture.y.height)
        for y in 0..<height {
            let row = unsafe picture.y.row(y)
            for x in 0..<width {
                let u = x % period
                let noise =
                    latticeNoise(u, y, cell: max(2, period / 24), period: period) * 0.5
                    + latticeNoise(u, y, cell: max(2, period / 96), period: period) * 0.3
                let grating = sin(Double(u) * 2 * .pi * 12 / Double(period)) * sin(Double(y) * 0.13) * 0.2
                let bar = (u * 8 / period + y * 6 / max(1, height)) % 7 == 0 ? 35.0 : 0
                unsafe row[x] = UInt8(max(20, min(230, 118 + 90 * (noise + grating) + bar)))
            }
        }
        for y in 0..<(unsafe picture.u.height) {
            let (u, v) = unsafe (picture.u.row(y), picture.v.row(y))
            for x in 0..<(unsafe picture.u.width) {
                let at = x * 2 % period
                unsafe u[x] = UInt8(128 + 30 * latticeNoise(at, y * 2, cell: max(2, period / 12), period: period))
                unsafe v[x] = UInt8(128 - 30 * latticeNoise(at + 7, y * 2, cell: max(2, period / 12), period: period))
            }
        }
    }

    /// Bilinear value noise in -1…1, periodic in x.
    private static func latticeNoise(_ x: Int, _ y: Int, cell: Int, period: Int) -> Double {
        let columns = max(1, period / cell)
        let (fx, fy) = (Double(x) / Double(period) * Double(columns), Double(y) / Double(cell))
        let (ix, iy) = (Int(fx), Int(fy))
        func node(_ column: Int, _ row: Int) -> Double {
            var h = UInt32(truncatingIfNeeded: column % columns) &* 0x9E37_79B1 ^ UInt32(row) &* 0x85EB_CA77
            h = (h ^ h >> 15) &* 0xC2B2_AE3D
            h ^= h >> 13
            return Double(h & 0xFFFF) / 32767.5 - 1
        }
        let (a, b) = (fx - Double(ix), fy - Double(iy))
        return (node(ix, iy) * (1 - a) + node(ix + 1, iy) * a) * (1 - b)
            + (node(ix, iy + 1) * (1 - a) + node(ix + 1, iy + 1) * a) * b
    }
}
