import Kernels

/// The filters of the `base` tier. A doubled plane's samples lie a quarter of an input sample before and after each
/// input sample, where the plane's samples are centred as luma's are.
enum BaseFilters {
    /// Eight taps, fitted by least squares. The photographs were halved by area averaging and bicubic filtering; half
    /// of them were then coded by x264 at CRF 23 and 29. On other clips the filter is 0.1 dB above Lanczos with three
    /// lobes for clean input, and as good for coded input.
    static let luma: DoublingFilter = {
        let before = [-0.0171, 0.0401, -0.0903, 0.2594, 0.9365, -0.1496, 0.0259, -0.0048]
        let axis = DoublingFilter.Axis(before, before.reversed())
        return DoublingFilter(horizontal: axis, vertical: axis)
    }()

    /// Catmull-Rom that keeps chroma in its place beside luma. Where a chroma sample lies on the first of its two luma
    /// samples, before and after doubling, the doubled plane's samples are at i − 1/8 and i + 3/8 instead of i ∓ 1/4.
    /// - Parameter location: `AVChromaLocation`'s numbers; 0 (unspecified) means 1 (left), H.264's default.
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

    /// Keys' cubic convolution with a = −1/2 (IEEE Trans. ASSP 29, 1981).
    static func catmullRom(_ x: Double) -> Double {
        let x = abs(x)
        if x < 1 { return 1.5 * x * x * x - 2.5 * x * x + 1 }
        if x < 2 { return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 }
        return 0
    }
}
