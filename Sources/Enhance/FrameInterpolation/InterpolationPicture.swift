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

    /// Independent pieces of ``load(piece:source:enhanced:kernels:)``.
    static let pieces = 5

    /// Copies a part of a picture.
    @unsafe func load(piece: Int, source: PictureView, enhanced: PictureView, kernels: Kernels) {
        switch piece {
        case 0: unsafe pyramid.load(source.y, kernels: kernels)
        case 1: if !isShared { unsafe luma.load(enhanced.y, rows: 0..<luma.height / 2) }
        case 2: if !isShared { unsafe luma.load(enhanced.y, rows: luma.height / 2..<luma.height) }
        case 3: unsafe u.load(enhanced.u, rows: 0..<u.height)
        default: unsafe v.load(enhanced.v, rows: 0..<v.height)
        }
    }
}
