import Kernels
import Media

/// A plane with the margin that motion kernels need. Samples in the margin repeat the nearest one of the plane.
@safe final class PaddedPlane {
    let width: Int
    let height: Int
    private let stride: Int
    private let memory: AlignedMemory
    private static var margin: Int { Kernels.motionMargin }

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        stride = (width + 2 * Self.margin + 63) & ~63
        // Vector loads may begin in the last row's margin.
        memory = AlignedMemory(byteCount: stride * (height + 2 * Self.margin) + 64)
    }

    convenience init(size: PictureSize) { self.init(width: size.width, height: size.height) }

    /// Valid while this plane lives.
    @unsafe var writable: MutablePlaneView {
        unsafe MutablePlaneView(
            base: memory.pointer(at: Self.margin * stride + Self.margin).assumingMemoryBound(to: UInt8.self),
            stride: stride, width: width, height: height)
    }
    @unsafe var view: PlaneView { unsafe writable.readOnly }

    /// Copies some rows and fills their margins. The first and the last row also fill the margins above and below.
    @unsafe func load(_ source: PlaneView, rows: Range<Int>) {
        let target = unsafe writable
        for y in rows { unsafe target.row(y).update(from: source.row(y), count: width) }
        extend(rows: rows)
    }

    /// Fills the margins of rows that have been written.
    func extend(rows: Range<Int>) {
        let (margin, whole) = (Self.margin, width + 2 * Self.margin)
        let target = unsafe writable
        for y in rows {
            let row = unsafe target.row(y)
            unsafe (row - margin).update(repeating: row[0], count: margin)
            unsafe (row + width).update(repeating: row[width - 1], count: margin)
        }
        for y in 1...margin {
            if rows.contains(0) { unsafe (target.row(-y) - margin).update(from: target.row(0) - margin, count: whole) }
            if rows.contains(height - 1) {
                unsafe (target.row(height - 1 + y) - margin).update(
                    from: target.row(height - 1) - margin, count: whole)
            }
        }
    }
}

/// A luma plane and its repeated halves, down to some 16 samples.
final class LumaPyramid {
    /// From the finest to the coarsest.
    let levels: [PaddedPlane]
    /// How many pieces the pyramid can be filled in, each independent of the others.
    let bands: Int
    /// The finest level's rows in one band. A band has whole rows of every level.
    private let bandHeight: Int

    init(size: PictureSize) {
        var levels = [PaddedPlane(size: size)]
        var half = PictureSize(width: size.width / 2, height: size.height / 2)
        while half.width >= 16 && half.height >= 16 {
            levels.append(PaddedPlane(size: half))
            half = PictureSize(width: half.width / 2, height: half.height / 2)
        }
        self.levels = levels
        bandHeight = max(16, 1 << (levels.count - 1))
        bands = (size.height + bandHeight - 1) / bandHeight
    }

    /// Fills the pyramid from a plane of its size.
    @unsafe func load(_ luma: PlaneView, kernels: Kernels) {
        for band in 0..<bands { unsafe load(band: band, of: luma, kernels: kernels) }
    }

    /// Fills one band of every level.
    @unsafe func load(band: Int, of luma: PlaneView, kernels: Kernels) {
        func rows(_ level: Int) -> Range<Int> {
            let end = band == bands - 1 ? levels[level].height : ((band + 1) * bandHeight) >> level
            return (band * bandHeight) >> level..<end
        }
        unsafe levels[0].load(luma, rows: rows(0))
        for i in 1..<max(levels.count, 1) {
            let rows = rows(i)
            unsafe kernels.halve(levels[i - 1].view, into: levels[i].writable, rows: rows)
            levels[i].extend(rows: rows)
        }
    }
}
