import Media

extension PictureSize {
    /// H.264 with 4:2:0 has whole chroma samples only. An odd picture, passed at its own size, loses its last column or row.
    var even: PictureSize { PictureSize(width: width & ~1, height: height & ~1) }
}

extension PictureView {
    var even: PictureView {
        let size = unsafe size.even
        let chroma = size.chroma
        return unsafe PictureView(
            y: PlaneView(base: y.base, stride: y.stride, width: size.width, height: size.height),
            u: PlaneView(base: u.base, stride: u.stride, width: chroma.width, height: chroma.height),
            v: PlaneView(base: v.base, stride: v.stride, width: chroma.width, height: chroma.height))
    }
}
