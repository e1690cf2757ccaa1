import Kernels
import Media

/// One picture of a pair as the interpolation keeps it: a pyramid of its luma to find motion in, and planes with margins
/// to synthesise from.
final class InterpolationPicture {
    let pyramid: LumaPyramid
    let luma: PaddedPlane
    let u: PaddedPlane
    let v: PaddedPlane
    /// Whether `luma` is the pyramid's finest level.
    private let isShared: Bool

    init(size: PictureSize, scaleFactor: Int) {
        let enhanced = size.scaled(by: scaleFactor)
        pyramid = LumaPyramid(size: size)
        isShared = scaleFactor == 1
        luma = isShared ? pyramid.levels[0] : PaddedPlane(size: enhanced)
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
