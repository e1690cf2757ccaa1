import Kernels
import Media

/// The weights of the pictures on one side of the open time, in 1/256: the trapezoidal rule. Both sides together make 256.
struct ShutterWeights {
    /// What this side adds to the weight of the picture that is blurred.
    let first: Int
    let between: Int
    let last: Int

    /// - Parameter samples: a power of two up to 16, or 0 for a side that is not there.
    init(_ samples: Int, isTwoSided: Bool) {
        guard samples > 0 else {
            (first, between, last) = (0, 0, 0)
            return
        }
        between = (isTwoSided ? 128 : 256) / samples
        (first, last) = (between / 2, between / 2)
    }
}

/// Sums of pictures while a shutter is open. Takes one call at a time; allocates nothing after `init`.
final class ShutterSums {
    /// Where a picture is made before it is added.
    let draft: Picture
    private let memory: AlignedMemory
    private let kernels: Kernels
    private let workers: WorkerPool
    private let bands: OutputBands

    init(size: PictureSize, kernels: Kernels, workers: WorkerPool) {
        draft = Picture(size: size)
        let (luma, chroma) = (size.width * size.height, size.chroma.width * size.chroma.height)
        memory = AlignedMemory(byteCount: (luma + 2 * chroma) * MemoryLayout<UInt16>.stride)
        self.kernels = kernels
        self.workers = workers
        bands = OutputBands(size: size)
    }

    /// Luma, u and v by number.
    fileprivate func sums(_ plane: Int) -> PlaneSums {
        let (size, chroma) = (draft.size, draft.size.chroma)
        let first = plane == 0 ? 0 : size.width * size.height + (plane - 1) * chroma.width * chroma.height
        return unsafe PlaneSums(
            base: memory.pointer().assumingMemoryBound(to: UInt16.self) + first, width: plane == 0 ? size.width : chroma.width)
    }

    /// Begins with a picture.
    func begin(_ picture: InterpolationPicture, weight: Int) {
        workers.run(
            BeginStep(target: self, picture: picture, weight: weight, kernels: kernels, bands: bands), pieces: bands.count,
            order: .ownPartFirst)
    }

    /// Adds the draft.
    func addDraft(weight: Int) {
        workers.run(
            AddStep(target: self, weight: weight, kernels: kernels, bands: bands), pieces: bands.count, order: .ownPartFirst)
    }

    /// Writes the mean.
    @unsafe func write(into output: MutablePictureView) {
        let step = unsafe WriteStep(target: self, output: output, kernels: kernels, bands: bands)
        workers.run(step, pieces: bands.count, order: .ownPartFirst)
    }

    private struct BeginStep: PiecewiseWork {
        let target: ShutterSums
        let picture: InterpolationPicture
        let weight: Int
        let kernels: Kernels
        let bands: OutputBands

        func perform(piece: Int, worker: Int) {
            for plane in 0..<3 {
                let (sums, rows) = unsafe (target.sums(plane), bands.rows(piece, plane: plane))
                unsafe sums.row(rows.lowerBound).update(repeating: 0, count: rows.count * sums.width)
                unsafe kernels.add(picture.plane(plane).view, weight: weight, to: sums, rows: rows)
            }
        }
    }

    private struct AddStep: PiecewiseWork {
        let target: ShutterSums
        let weight: Int
        let kernels: Kernels
        let bands: OutputBands

        func perform(piece: Int, worker: Int) {
            for plane in 0..<3 {
                unsafe kernels.add(
                    target.draft.view.plane(plane), weight: weight, to: target.sums(plane),
                    rows: bands.rows(piece, plane: plane))
            }
        }
    }

    @safe private struct WriteStep: PiecewiseWork {
        let target: ShutterSums
        let output: MutablePictureView
        let kernels: Kernels
        let bands: OutputBands

        func perform(piece: Int, worker: Int) {
            for plane in 0..<3 {
                unsafe kernels.writeMean(
                    target.sums(plane), into: output.plane(plane), rows: bands.rows(piece, plane: plane))
            }
        }
    }
}
