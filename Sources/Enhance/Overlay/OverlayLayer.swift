import Kernels
import Media

/// How colours become a picture's samples, which way up it is coded, and the shape of its samples.
struct OverlayTone: Hashable {
    var isFullRange: Bool
    var weights: LumaWeights
    var turn: PictureTurn
    /// The width of a sample of the upright picture, in its heights.
    var shape: Double

    init(_ parameters: StepParameters, height: Int) {
        isFullRange = parameters.isFullRange
        // Pictures without a matrix have the usual one of their size.
        weights = LumaWeights(parameters.matrix) ?? (height < 720 ? .bt601 : .bt709)
        turn = PictureTurn(parameters.orientation)
        let coded = parameters.sampleAspectRatio.numerator > 0 ? parameters.sampleAspectRatio.value : 1
        shape = min(max(turn.swapsAxes ? 1 / coded : coded, 0.25), 4)
    }

    /// Samples of 8 bits, of light that is as opaque as `alpha` and has so much red, green and blue: 0…`alpha`.
    func samples(_ red: Double, _ green: Double, _ blue: Double, alpha: Double) -> (y: Double, u: Double, v: Double) {
        let color = weights.yuv(ColorVector(red, green, blue))
        let (black, range, chroma) = isFullRange ? (0.0, 255.0, 255.0) : (16, 219, 224)
        return (black * alpha + range * color.x, 128 * alpha + chroma * color.y, 128 * alpha + chroma * color.z)
    }
}

extension OverlayTone {
    /// Where a layer lies in a picture as coded, on even samples.
    /// - Parameters:
    ///   - x: of its left side in the upright picture.
    ///   - size: of the picture as coded.
    func place(of layer: OverlayLayer, x: Int, y: Int, in size: PictureSize) -> (x: Int, y: Int) {
        func coded(_ place: Int, _ length: Int, _ all: Int, isReversed: Bool) -> Int {
            // Rounded down, below 0 too.
            (isReversed ? all - place - length : place) & ~1
        }
        let (across, down) = turn.swapsAxes ? (y, x) : (x, y)
        return (
            coded(across, layer.width, size.width, isReversed: turn.reversesColumns),
            coded(down, layer.height, size.height, isReversed: turn.reversesRows)
        )
    }
}

/// Light to lay over a part of a picture, as coded: for each sample what is added, and how much of what is below stays (Porter and
/// Duff's *over*, 1984, with premultiplied colours). Confined to one thread at a time.
@safe final class OverlayLayer {
    /// One plane, row by row, without gaps.
    struct Plane {
        var light: [UInt8]
        var rest: [UInt8]

        init(count: Int) {
            light = [UInt8](repeating: 0, count: count)
            rest = [UInt8](repeating: 255, count: count)
        }

        @unsafe fileprivate mutating func withMemory(_ body: (PlaneMemory) -> Void) {
            unsafe light.withUnsafeMutableBufferPointer { light in
                unsafe rest.withUnsafeMutableBufferPointer { rest in
                    unsafe body(PlaneMemory(light: light.baseAddress!, rest: rest.baseAddress!))
                }
            }
        }

        /// - Parameter alpha: 0…1, at least the light's part of 255.
        mutating func set(_ index: Int, _ light: Double, alpha: Double) {
            let most = (255 * min(max(alpha, 0), 1)).rounded()
            self.light[index] = UInt8(min(max(light.rounded(), 0), most))
            rest[index] = UInt8(255 - most)
        }
    }

    /// Of the part, even.
    private(set) var width: Int
    private(set) var height: Int
    private var y: Plane
    private var u: Plane
    /// Its ``Plane/rest`` is not used: it is that of ``u``.
    private var v: Plane

    /// A layer that shows nothing.
    /// - Parameter most: samples that it has room for.
    init(width: Int, height: Int, room most: Int? = nil) {
        (self.width, self.height) = (width, height)
        let samples = most ?? width * height
        y = Plane(count: samples)
        u = Plane(count: samples / 4)
        v = Plane(count: samples / 4)
    }

    /// Memory of one plane.
    @unsafe struct PlaneMemory {
        let light: UnsafeMutablePointer<UInt8>
        let rest: UnsafeMutablePointer<UInt8>
    }

    /// Writes its samples. The memory must not be used later.
    @unsafe func write(_ body: (_ y: PlaneMemory, _ u: PlaneMemory, _ v: PlaneMemory) -> Void) {
        unsafe y.withMemory { y in unsafe u.withMemory { u in unsafe v.withMemory { v in unsafe body(y, u, v) } } }
    }

    /// Changes the shape of a layer whose samples are about to be written.
    func reshape(width: Int, height: Int) {
        precondition(width * height <= y.light.count, "a layer has room for its largest shape")
        (self.width, self.height) = (width, height)
    }

    /// A layer with an image in it.
    /// - Parameters:
    ///   - height: of the image when it is upright.
    init(_ image: OverlayImage, height: Int, opacity: Double, _ tone: OverlayTone) {
        let across = max((Double(image.size.width * height) / Double(image.size.height) / tone.shape / 2).rounded(), 1)
        let shown = PictureSize(width: 2 * Int(min(across, 8_192)), height: height)
        let scaled = ScaledImage(image, to: shown)
        let coded = tone.turn.size(of: shown)
        (width, self.height) = (coded.width, coded.height)
        y = Plane(count: coded.samples)
        u = Plane(count: coded.samples / 4)
        v = Plane(count: coded.samples / 4)
        let turn = tone.turn
        /// The image's sample at a place of the coded part.
        func sample(_ column: Int, _ row: Int) -> SIMD4<Float> {
            let across = turn.reversesColumns ? coded.width - 1 - column : column
            let down = turn.reversesRows ? coded.height - 1 - row : row
            return turn.swapsAxes ? scaled[down, across] : scaled[across, down]
        }
        func light(_ sample: SIMD4<Float>) -> (y: Double, u: Double, v: Double) {
            tone.samples(Double(sample.x), Double(sample.y), Double(sample.z), alpha: Double(sample.w))
        }
        for row in 0..<coded.height {
            for column in 0..<coded.width {
                let seen = sample(column, row) * Float(opacity)
                y.set(row * coded.width + column, light(seen).y, alpha: Double(seen.w))
            }
        }
        for row in 0..<coded.height / 2 {
            for column in 0..<coded.width / 2 {
                let (left, top) = (2 * column, 2 * row)
                let sum = sample(left, top) + sample(left + 1, top) + sample(left, top + 1) + sample(left + 1, top + 1)
                let seen = sum * Float(opacity / 4)
                let (index, color) = (row * coded.width / 2 + column, light(seen))
                u.set(index, color.u, alpha: Double(seen.w))
                v.set(index, color.v, alpha: Double(seen.w))
            }
        }
    }

    /// Its width in the upright picture.
    func uprightWidth(_ tone: OverlayTone) -> Int { tone.turn.swapsAxes ? height : width }
    func uprightHeight(_ tone: OverlayTone) -> Int { tone.turn.swapsAxes ? width : height }

    /// Lays it over a picture. What reaches beyond the picture is left out.
    /// - Parameters:
    ///   - x: of its first column, even.
    @unsafe func lay(over picture: MutablePictureView, x: Int, y top: Int, _ kernels: Kernels) {
        unsafe Self.lay(over: picture.y, x: x, y: top, y.light, y.rest, width, height, kernels)
        unsafe Self.lay(over: picture.u, x: x / 2, y: top / 2, u.light, u.rest, width / 2, height / 2, kernels)
        unsafe Self.lay(over: picture.v, x: x / 2, y: top / 2, v.light, u.rest, width / 2, height / 2, kernels)
    }

    private static func lay(
        over plane: MutablePlaneView, x: Int, y: Int, _ light: [UInt8], _ rest: [UInt8], _ width: Int, _ height: Int,
        _ kernels: Kernels
    ) {
        let (left, top) = (max(-x, 0), max(-y, 0))
        let (columns, rows) = unsafe (min(width, plane.width - x) - left, min(height, plane.height - y) - top)
        guard columns > 0, rows > 0 else { return }
        unsafe light.withUnsafeBufferPointer { light in
            unsafe rest.withUnsafeBufferPointer { rest in
                for row in top..<top + rows {
                    let at = row * width + left
                    unsafe kernels.overlay(
                        plane.row(y + row) + x + left, light: light.baseAddress! + at, rest: rest.baseAddress! + at,
                        width: columns)
                }
            }
        }
    }
}

/// An image at another size, with premultiplied colours: 0…1. Each sample is the mean of those near it, by a triangle as wide as the
/// step between samples.
struct ScaledImage {
    let size: PictureSize
    private var samples: [SIMD4<Float>] = []

    init(_ image: OverlayImage, to size: PictureSize) {
        self.size = size
        let columns = Self.taps(from: image.size.width, to: size.width)
        let rows = Self.taps(from: image.size.height, to: size.height)
        // First each row, then down the columns of what is made.
        var wide = [SIMD4<Float>](repeating: SIMD4(), count: size.width * image.size.height)
        for y in 0..<image.size.height {
            for (x, taps) in columns.enumerated() {
                var sum = SIMD4<Float>()
                for (offset, weight) in taps.weights.enumerated() {
                    let at = 4 * (y * image.size.width + taps.first + offset)
                    let alpha = Float(image.samples[at + 3]) / 255
                    let color = SIMD4<Float>(
                        Float(image.samples[at]), Float(image.samples[at + 1]), Float(image.samples[at + 2]), 255)
                    sum += color * (alpha / 255 * weight)
                }
                wide[y * size.width + x] = sum
            }
        }
        samples = [SIMD4<Float>](repeating: SIMD4(), count: size.samples)
        for (y, taps) in rows.enumerated() {
            for x in 0..<size.width {
                var sum = SIMD4<Float>()
                for (offset, weight) in taps.weights.enumerated() {
                    sum += wide[(taps.first + offset) * size.width + x] * weight
                }
                samples[y * size.width + x] = sum
            }
        }
    }

    /// Red, green, blue and opacity.
    subscript(x: Int, y: Int) -> SIMD4<Float> { samples[y * size.width + x] }

    private static func taps(from count: Int, to wanted: Int) -> [(first: Int, weights: [Float])] {
        let step = Double(count) / Double(wanted)
        let reach = max(step, 1)
        return (0..<wanted).map { index in
            let middle = (Double(index) + 0.5) * step - 0.5
            let first = max(Int((middle - reach).rounded(.up)), 0)
            let last = max(min(Int((middle + reach).rounded(.down)), count - 1), first)
            var weights = (first...last).map { Float(max(1 - abs(Double($0) - middle) / reach, 0)) }
            let sum = weights.reduce(0, +)
            if sum > 0 { weights = weights.map { $0 / sum } } else { weights[0] = 1 }
            return (first, weights)
        }
    }
}
