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
    /// What codes mean where light is summed; nil where codes are.
    private let light: LightTable?
    private let memory: AlignedMemory
    private let kernels: Kernels
    private let workers: WorkerPool
    private let bands: OutputBands

    init(size: PictureSize, light: LightTable?, kernels: Kernels, workers: WorkerPool) {
        draft = Picture(size: size)
        self.light = light
        let (luma, chroma) = (size.width * size.height, size.chroma.width * size.chroma.height)
        memory = AlignedMemory(
            byteCount: (luma + 2 * chroma) * (light == nil ? MemoryLayout<UInt16>.stride : MemoryLayout<UInt32>.stride))
        self.kernels = kernels
        self.workers = workers
        bands = OutputBands(size: size)
    }

    /// Where the sums of a plane begin, and how wide it is: luma, u and v by number.
    private func place(_ plane: Int) -> (first: Int, width: Int) {
        let (size, chroma) = (draft.size, draft.size.chroma)
        return plane == 0
            ? (0, size.width) : (size.width * size.height + (plane - 1) * chroma.width * chroma.height, chroma.width)
    }

    @unsafe private func sums(_ plane: Int) -> PlaneSums {
        let (first, width) = place(plane)
        return unsafe PlaneSums(base: memory.pointer().assumingMemoryBound(to: UInt16.self) + first, width: width)
    }

    @unsafe private func lightSums(_ plane: Int) -> LightSums {
        let (first, width) = place(plane)
        return unsafe LightSums(base: memory.pointer().assumingMemoryBound(to: UInt32.self) + first, width: width)
    }

    /// Sets a band of all planes to nothing.
    private func clear(_ band: Int) {
        for plane in 0..<3 {
            let rows = bands.rows(band, plane: plane)
            if light == nil {
                let sums = unsafe sums(plane)
                unsafe sums.row(rows.lowerBound).update(repeating: 0, count: rows.count * sums.width)
            } else {
                let sums = unsafe lightSums(plane)
                unsafe sums.row(rows.lowerBound).update(repeating: 0, count: rows.count * sums.width)
            }
        }
    }

    /// Adds a band of a picture.
    @unsafe private func add(_ picture: PictureView, weight: Int, _ band: Int) {
        for plane in 0..<3 {
            let rows = bands.rows(band, plane: plane)
            if let light, plane == 0 {
                unsafe Kernels.add(lightOf: picture.y, by: light, weight: weight, to: lightSums(0), rows: rows)
            } else if let light {
                unsafe Kernels.add(
                    chroma: picture.plane(plane), of: picture.y, by: light, weight: weight, to: lightSums(plane), rows: rows)
            } else {
                unsafe kernels.add(picture.plane(plane), weight: weight, to: sums(plane), rows: rows)
            }
        }
    }

    /// Writes a band of the mean. Chroma is made of the luma of its own band.
    @unsafe private func write(into output: MutablePictureView, _ band: Int) {
        for plane in 0..<3 {
            let rows = bands.rows(band, plane: plane)
            if let light, plane == 0 {
                unsafe Kernels.writeMean(ofLight: lightSums(0), by: light, into: output.y, rows: rows)
            } else if let light {
                unsafe Kernels.writeMean(
                    ofChroma: lightSums(plane), of: output.y.readOnly, by: light, into: output.plane(plane), rows: rows)
            } else {
                unsafe kernels.writeMean(sums(plane), into: output.plane(plane), rows: rows)
            }
        }
    }

    /// Begins with a picture.
    func begin(_ picture: InterpolationPicture, weight: Int) {
        let view = unsafe PictureView(y: picture.plane(0).view, u: picture.plane(1).view, v: picture.plane(2).view)
        run(unsafe AddStep(target: self, picture: view, weight: weight, begins: true))
    }

    /// Adds the draft.
    func addDraft(weight: Int) {
        run(unsafe AddStep(target: self, picture: draft.view, weight: weight, begins: false))
    }

    /// Writes the mean.
    @unsafe func write(into output: MutablePictureView) { run(unsafe WriteStep(target: self, output: output)) }

    private func run(_ step: some PiecewiseWork) { workers.run(step, pieces: bands.count, order: .ownPartFirst) }

    @safe private struct AddStep: PiecewiseWork {
        let target: ShutterSums
        let picture: PictureView
        let weight: Int
        let begins: Bool

        func perform(piece: Int, worker: Int) {
            if begins { target.clear(piece) }
            unsafe target.add(picture, weight: weight, piece)
        }
    }

    @safe private struct WriteStep: PiecewiseWork {
        let target: ShutterSums
        let output: MutablePictureView

        func perform(piece: Int, worker: Int) { unsafe target.write(into: output, piece) }
    }
}
