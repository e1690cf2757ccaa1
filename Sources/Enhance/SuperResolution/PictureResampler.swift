import Glibc
import Kernels
import Media

/// Brings pictures to another size with separable polyphase filters, in bands that several threads share.
///
/// Luma has Lanczos' window with as many lobes as eight taps hold: three where pictures become larger, two where they are halved.
/// Chroma has Catmull-Rom, placed where the chroma samples lie. Where a side is to become less than half as long, a picture with
/// sides of at most twice the new length comes first.
@safe public final class PictureResampler {
    /// Output rows of one piece.
    private static let bandHeight = 32

    public let input: PictureSize
    public let output: PictureSize
    private let kernels: Kernels
    private let workers: WorkerPool
    private let luma: (across: ResamplingAxis, down: ResamplingAxis)
    private var chroma: (across: ResamplingAxis, down: ResamplingAxis)
    private var chromaLocation: UInt8 = 0
    private let scratch: AlignedMemory
    private let scratchStride: Int
    /// The picture that the last step begins with, and what makes it where it is not the input.
    private let middle: PictureSize
    private let first: (resampler: PictureResampler, picture: Picture)?

    /// - Parameter workers: the threads that share a picture's work; they may be shared with others.
    public init(from input: PictureSize, to output: PictureSize, kernels: Kernels = .best, workers: WorkerPool) {
        self.input = input
        self.output = output
        self.kernels = kernels
        self.workers = workers
        middle = PictureSize(width: min(input.width, 2 * output.width), height: min(input.height, 2 * output.height))
        first =
            middle == input
            ? nil
            : (PictureResampler(from: input, to: middle, kernels: kernels, workers: workers), Picture(size: middle))
        luma = (Self.lumaAxis(middle.width, output.width), Self.lumaAxis(middle.height, output.height))
        chroma = Self.chromaAxes(middle, output, location: 0)
        scratchStride = (Kernels.resamplingScratch(width: middle.width) + 63) & ~63
        scratch = AlignedMemory(byteCount: scratchStride * workers.threadCount)
    }

    /// Fills the whole of `destination`.
    /// - Parameter chromaLocation: as in ``ColorDescription/chromaLocation``; it is the same in both pictures.
    @unsafe public func resample(
        _ source: PictureView, into destination: MutablePictureView, chromaLocation: UInt8 = 0
    ) {
        var source = unsafe source
        if let first {
            unsafe first.resampler.resample(source, into: first.picture.mutableView, chromaLocation: chromaLocation)
            unsafe source = first.picture.view
        }
        if chromaLocation != self.chromaLocation {
            chroma = Self.chromaAxes(middle, output, location: chromaLocation)
            self.chromaLocation = chromaLocation
        }
        let frame = unsafe Frame(resampler: self, source: source, destination: destination)
        workers.run(frame, pieces: Frame.bands(of: output.height) + 2 * Frame.bands(of: output.chroma.height))
    }

    /// One picture. Its pieces are bands of luma, then of both chroma planes in turns.
    @safe private struct Frame: PiecewiseWork {
        let resampler: PictureResampler
        let source: PictureView
        let destination: MutablePictureView

        static func bands(of height: Int) -> Int { (height + bandHeight - 1) / bandHeight }

        func perform(piece: Int, worker: Int) {
            let lumaBands = Self.bands(of: resampler.output.height)
            if piece < lumaBands {
                return unsafe resampler.resample(
                    band: piece, of: source.y, into: destination.y, resampler.luma, worker: worker)
            }
            let (band, plane) = (piece - lumaBands).quotientAndRemainder(dividingBy: 2)
            unsafe resampler.resample(
                band: band, of: plane == 0 ? source.u : source.v, into: plane == 0 ? destination.u : destination.v,
                resampler.chroma, worker: worker)
        }
    }

    @unsafe private func resample(
        band: Int, of input: PlaneView, into output: MutablePlaneView,
        _ axes: (across: ResamplingAxis, down: ResamplingAxis), worker: Int
    ) {
        let rows = unsafe band * Self.bandHeight..<min((band + 1) * Self.bandHeight, output.height)
        unsafe kernels.resample(
            input, into: output, across: axes.across, down: axes.down, rows: rows,
            scratch: scratch.pointer(at: worker * scratchStride))
    }

    // MARK: Filters

    private static func lumaAxis(_ input: Int, _ output: Int) -> ResamplingAxis {
        let step = Double(input) / Double(output)
        // Where samples become fewer, the filter is as wide as their new distance.
        let width = max(1, step)
        let lobes = min(3, max(2, 4 / width))
        return ResamplingAxis(
            input: input, output: output, place: { (Double($0) + 0.5) * step - 0.5 },
            kernel: { lanczos($0 / width, lobes: lobes) })
    }

    private static func chromaAxes(
        _ input: PictureSize, _ output: PictureSize, location: UInt8
    ) -> (across: ResamplingAxis, down: ResamplingAxis) {
        // Where a chroma sample lies among its two luma samples, in luma samples from their outer edge.
        let (across, down): (Double, Double) =
            switch location {
            case 2: (1, 1)  // centre
            case 3: (0.5, 0.5)  // top left
            case 4: (1, 0.5)  // top
            case 5: (0.5, 1.5)  // bottom left
            case 6: (1, 1.5)  // bottom
            default: (0.5, 1)  // left
            }
        func axis(_ input: Int, _ output: Int, _ offset: Double) -> ResamplingAxis {
            let step = Double(input) / Double(output)
            let width = max(1, step)
            return ResamplingAxis(
                input: (input + 1) / 2, output: (output + 1) / 2,
                place: { ((2 * Double($0) + offset) * step - offset) / 2 }, kernel: { catmullRom($0 / width) })
        }
        return (axis(input.width, output.width, across), axis(input.height, output.height, down))
    }

    /// Lanczos' window of the sinc function (Duchon, Journal of Applied Meteorology 18, 1979).
    private static func lanczos(_ x: Double, lobes: Double) -> Double {
        if x == 0 { return 1 }
        guard abs(x) < lobes else { return 0 }
        let angle = Double.pi * x
        return lobes * sin(angle) * sin(angle / lobes) / (angle * angle)
    }

    /// Keys' cubic convolution with a = −1/2 (IEEE Trans. ASSP 29, 1981).
    private static func catmullRom(_ x: Double) -> Double { BaseFilters.catmullRom(x) }
}
