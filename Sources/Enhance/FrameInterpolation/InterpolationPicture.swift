import Kernels
import Media

/// The interpolation's own copy of a picture: a pyramid of its luma to find motion in, and planes with margins to
/// synthesise from.
final class InterpolationPicture {
    let pyramid: LumaPyramid
    let luma: PaddedPlane
    /// Luma alone, where several planes are asked for.
    let lumaAlone: ArraySlice<PaddedPlane>
    let u: PaddedPlane
    let v: PaddedPlane
    /// Whether `luma` is the pyramid's finest level.
    private let isShared: Bool

    init(size: PictureSize, scaleFactor: Int) {
        let enhanced = size.scaled(by: scaleFactor)
        pyramid = LumaPyramid(size: size)
        isShared = scaleFactor == 1
        luma = isShared ? pyramid.levels[0] : PaddedPlane(size: enhanced)
        lumaAlone = [luma]
        u = PaddedPlane(size: enhanced.chroma)
        v = PaddedPlane(size: enhanced.chroma)
    }

    /// Luma, u and v by number.
    func plane(_ index: Int) -> PaddedPlane {
        switch index {
        case 0: luma
        case 1: u
        default: v
        }
    }

    /// Copies rows of a plane, luma, u or v by number, to one of the same size.
    @unsafe func copy(_ index: Int, rows: Range<Int>, into output: MutablePlaneView) {
        let plane = unsafe plane(index).view
        for y in rows { unsafe output.row(y).update(from: plane.row(y), count: output.width) }
    }

    /// Independent pieces of ``load(piece:source:enhanced:kernels:)``, from the top to the bottom.
    var pieces: Int { pyramid.bands }

    /// Copies a part of a picture: a band of all planes.
    @unsafe func load(piece: Int, source: PictureView, enhanced: PictureView, kernels: Kernels) {
        unsafe pyramid.load(band: piece, of: source.y, kernels: kernels)
        func rows(_ plane: PaddedPlane) -> Range<Int> {
            piece * plane.height / pieces..<(piece + 1) * plane.height / pieces
        }
        if !isShared { unsafe luma.load(enhanced.y, rows: rows(luma)) }
        unsafe u.load(enhanced.u, rows: rows(u))
        unsafe v.load(enhanced.v, rows: rows(v))
    }
}
