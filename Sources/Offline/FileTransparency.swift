import Enhance
import Media

/// How transparent a file's one picture is, at the size of the output.
///
/// Confined to one thread at a time.
final class FileTransparency {
    private let turning: FileTurning
    private let size: PictureSize
    private let workers: WorkerPool
    /// From 0 (clear) to 255, as luma; nil where all of the picture is opaque.
    private(set) var enlarged: Picture?

    init(_ turning: FileTurning, to size: PictureSize, workers: WorkerPool) {
        self.turning = turning
        self.size = size
        self.workers = workers
    }

    /// Turns and enlarges what the reader says of a picture.
    func keep(_ picture: Picture) {
        let target = Picture(size: size)
        let view = unsafe turning.upright(picture.view)
        let resampler = unsafe PictureResampler(from: view.size, to: size, workers: workers)
        unsafe resampler.resample(view, into: target.mutableView, chromaLocation: 0)
        enlarged = target
    }
}
