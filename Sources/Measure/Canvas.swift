import Glibc
import Media

/// The shapes of the test pattern, clipped to the picture. The edges of curved ones are smooth, so that they can move by
/// less than a sample.
@unsafe struct Canvas {
    let picture: MutablePictureView

    init(_ picture: MutablePictureView) { unsafe self.picture = picture }

    @safe func fill(x: Int, y: Int, width: Int, height: Int, luma: UInt8) {
        let plane = unsafe picture.y
        let (left, right) = unsafe (max(0, x), min(plane.width, x + width))
        guard left < right else { return }
        for row in unsafe max(0, y)..<max(0, y, min(plane.height, y + height)) {
            unsafe (plane.row(row) + left).update(repeating: luma, count: right - left)
        }
    }

    @safe func disc(
        centreX: Double, centreY: Double, radius: Double, luma: UInt8 = 220, u: UInt8 = 90, v: UInt8 = 170
    ) {
        unsafe Self.blend(picture.y, value: luma, centreX: centreX, centreY: centreY, reach: radius) { dx, dy in
            radius - (dx * dx + dy * dy).squareRoot()
        }
        let half = radius / 2
        unsafe Self.blend(picture.u, value: u, centreX: centreX / 2, centreY: centreY / 2, reach: half) { dx, dy in
            half - (dx * dx + dy * dy).squareRoot()
        }
        unsafe Self.blend(picture.v, value: v, centreX: centreX / 2, centreY: centreY / 2, reach: half) { dx, dy in
            half - (dx * dx + dy * dy).squareRoot()
        }
    }

    /// A hand of a dial, from its centre outwards.
    /// - Parameter turn: 0…1, clockwise from the top.
    @safe func hand(centreX: Double, centreY: Double, length: Double, turn: Double) {
        let (tipX, tipY) = (sin(turn * 2 * .pi), -cos(turn * 2 * .pi))
        let halfWidth = max(1, length / 16)
        unsafe Self.blend(picture.y, value: 30, centreX: centreX, centreY: centreY, reach: length) { dx, dy in
            let along = max(0, min(length, dx * tipX + dy * tipY))
            let (ex, ey) = (dx - along * tipX, dy - along * tipY)
            return halfWidth - (ex * ex + ey * ey).squareRoot()
        }
    }

    /// The last eight decimal digits of a number, leading zeros included, in seven segments.
    @safe func number(_ value: Int, x: Int, y: Int, digitHeight: Int) {
        let width = max(3, digitHeight / 2)
        let advance = max(4, digitHeight * 7 / 10)
        let thick = max(1, digitHeight / 8)
        var rest = value
        for place in stride(from: 7, through: 0, by: -1) {
            let segments = segments(ofDigit: rest % 10)
            rest /= 10
            let left = x + place * advance
            let half = digitHeight / 2
            fill(x: left, y: y, width: width, height: digitHeight, luma: 45)
            func segment(_ bit: UInt8, _ dx: Int, _ dy: Int, _ w: Int, _ h: Int) {
                if segments & bit != 0 { fill(x: left + dx, y: y + dy, width: w, height: h, luma: 225) }
            }
            segment(0x01, 0, 0, width, thick)
            segment(0x02, width - thick, 0, thick, half)
            segment(0x04, width - thick, half, thick, digitHeight - half)
            segment(0x08, 0, digitHeight - thick, width, thick)
            segment(0x10, 0, half, thick, digitHeight - half)
            segment(0x20, 0, 0, thick, half)
            segment(0x40, 0, half - thick / 2, width, thick)
        }
    }

    /// Blends `value` in where `inside` (the distance to the shape's edge, positive within) says so.
    private static func blend(
        _ plane: MutablePlaneView, value: UInt8, centreX: Double, centreY: Double, reach: Double,
        inside: (Double, Double) -> Double
    ) {
        let (left, right) = unsafe (max(0, Int(centreX - reach - 1)), min(plane.width, Int(centreX + reach + 2)))
        let (top, bottom) = unsafe (max(0, Int(centreY - reach - 1)), min(plane.height, Int(centreY + reach + 2)))
        guard left < right, top < bottom else { return }
        for y in top..<bottom {
            let row = unsafe plane.row(y)
            for x in left..<right {
                let share = max(0, min(1, inside(Double(x) + 0.5 - centreX, Double(y) + 0.5 - centreY) + 0.5))
                if share > 0 {
                    unsafe row[x] = UInt8(Double(row[x]) * (1 - share) + Double(value) * share + 0.5)
                }
            }
        }
    }
}

/// Segments a…g of a decimal digit in bits 0…6.
private func segments(ofDigit digit: Int) -> UInt8 {
    switch digit {
    case 0: 0x3F
    case 1: 0x06
    case 2: 0x5B
    case 3: 0x4F
    case 4: 0x66
    case 5: 0x6D
    case 6: 0x7D
    case 7: 0x07
    case 8: 0x7F
    default: 0x6F
    }
}
