import Glibc
import Kernels

/// The filters of the `base` tier. A doubled plane's samples lie a quarter of an input sample before and after each input
/// sample, where the plane's samples are centred as luma's are.
enum BaseFilters {
    /// Lanczos with four lobes.
    static let luma: DoublingFilter = {
        let axis = DoublingFilter.Axis(taps: 8, first: -0.25, second: 0.25) { lanczos($0, lobes: 4) }
        return DoublingFilter(horizontal: axis, vertical: axis)
    }()

    /// Catmull-Rom, keeping chroma in its place beside luma. Where a chroma sample lies on the first of its two luma
    /// samples, before and after doubling, the doubled plane's samples are at i − 1/8 and i + 3/8 instead of i ∓ 1/4.
    /// - Parameter location: `AVChromaLocation`'s numbers; 0 (unspecified) is read as 1 (left), H.264's default.
    static func chroma(location: UInt8) -> DoublingFilter {
        let between = axis(shift: 0)
        let first = axis(shift: 0.125)
        let second = axis(shift: -0.125)
        return switch location {
        case 2: DoublingFilter(horizontal: between, vertical: between)  // centre
        case 3: DoublingFilter(horizontal: first, vertical: first)  // top left
        case 4: DoublingFilter(horizontal: between, vertical: first)  // top
        case 5: DoublingFilter(horizontal: first, vertical: second)  // bottom left
        case 6: DoublingFilter(horizontal: between, vertical: second)  // bottom
        default: DoublingFilter(horizontal: first, vertical: between)  // left
        }
    }

    private static func axis(shift: Double) -> DoublingFilter.Axis {
        DoublingFilter.Axis(taps: 4, first: -0.25 + shift, second: 0.25 + shift, kernel: catmullRom)
    }

    private static func lanczos(_ x: Double, lobes: Double) -> Double {
        if x == 0 { return 1 }
        if abs(x) >= lobes { return 0 }
        let t = Double.pi * x
        return lobes * sin(t) * sin(t / lobes) / (t * t)
    }

    /// Keys' cubic convolution with a = −1/2 (IEEE Trans. ASSP 29, 1981).
    private static func catmullRom(_ x: Double) -> Double {
        let x = abs(x)
        if x < 1 { return 1.5 * x * x * x - 2.5 * x * x + 1 }
        if x < 2 { return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 }
        return 0
    }
}
