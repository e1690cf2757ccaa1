import Codec
import Enhance
import Media

/// Brings pictures whose size changes in mid-file to the size of the first one, in their own shape, with black beside them where
/// that is another.
///
/// Confined to one thread at a time. Allocates only where the size changes.
final class FileResizing {
    /// The size in which pictures come now.
    private(set) var input: PictureSize
    private let output: PictureSize
    private let isFull: Bool
    /// Width : height of a sample: of the file's pictures, and of those that come now.
    private let shape: Double
    private var inputShape: Double
    private let workers: WorkerPool
    /// What brings the picture to its part of the output; nil while pictures have the file's size.
    private var resampler: PictureResampler?
    private var target: Picture?
    /// The picture alone, where it does not fill the output.
    private var part: Picture?

    init(to video: FileVideo, workers: WorkerPool) {
        (input, output) = (video.size, video.size)
        isFull = video.color.range == .full
        shape = Self.shape(video.color.sampleAspectRatio)
        inputShape = shape
        self.workers = workers
    }

    /// Prepares for a picture.
    /// - Returns: a line for people where its size is another than that of the one before.
    func follow(_ picture: borrowing DecodedPicture) -> String? {
        guard picture.size != input else { return nil }
        input = picture.size
        inputShape = Self.shape(picture.color.sampleAspectRatio)
        prepare()
        return input == output
            ? "pictures are \(output) again from picture \(picture.id) on"
            : "pictures are \(input) from picture \(picture.id) on: they are scaled to \(output), the size of the first"
    }

    /// A picture in the file's size. Valid until the next call.
    @unsafe func resized(_ view: PictureView, chromaLocation: UInt8) -> PictureView {
        guard let resampler, let target else { return unsafe view }
        guard let part else {
            unsafe resampler.resample(view, into: target.mutableView, chromaLocation: chromaLocation)
            return unsafe target.view
        }
        unsafe resampler.resample(view, into: part.mutableView, chromaLocation: chromaLocation)
        let (left, top) = ((output.width - part.size.width) / 4 * 2, (output.height - part.size.height) / 4 * 2)
        unsafe place(part.view.y, in: target.mutableView.y, left, top)
        unsafe place(part.view.u, in: target.mutableView.u, left / 2, top / 2)
        unsafe place(part.view.v, in: target.mutableView.v, left / 2, top / 2)
        return unsafe target.view
    }

    private func prepare() {
        (resampler, target, part) = (nil, nil, nil)
        if input == output { return }
        let size = Self.fitting(input, inputShape, into: output, shape)
        resampler = PictureResampler(from: input, to: size, workers: workers)
        let target = Picture(size: output)
        self.target = target
        if size == output { return }
        part = Picture(size: size)
        let view = unsafe target.mutableView
        unsafe fill(view.y, isFull ? 0 : 16)
        unsafe fill(view.u, 128)
        unsafe fill(view.v, 128)
    }

    private func fill(_ plane: MutablePlaneView, _ level: UInt8) {
        for y in unsafe 0..<plane.height { unsafe plane.row(y).update(repeating: level, count: plane.width) }
    }

    private func place(_ source: PlaneView, in target: MutablePlaneView, _ left: Int, _ top: Int) {
        for y in unsafe 0..<source.height {
            unsafe (target.row(top + y) + left).update(from: source.row(y), count: source.width)
        }
    }

    /// The largest size that fits and has the shape of the picture as it is shown. Shapes that differ by less than 2 % are one:
    /// sizes are whole numbers.
    static func fitting(
        _ input: PictureSize, _ inputShape: Double, into output: PictureSize, _ shape: Double
    ) -> PictureSize {
        let wider =
            (Double(input.width) * inputShape / Double(input.height))
            / (Double(output.width) * shape / Double(output.height))
        if abs(wider - 1) < 0.02 { return output }
        func even(_ length: Double, _ most: Int) -> Int { min(max(2, Int((length / 2).rounded()) * 2), most) }
        return wider > 1
            ? PictureSize(width: output.width, height: even(Double(output.height) / wider, output.height))
            : PictureSize(width: even(Double(output.width) * wider, output.width), height: output.height)
    }

    private static func shape(_ ratio: Rational) -> Double { ratio.numerator > 0 ? ratio.value : 1 }
}
