import Media

extension FileReader {
    /// Copies the next pictures of the video, for benchmarks that use them many times. Pictures of another size than
    /// the file's are left out.
    /// - Returns: fewer than `count` when the file ends before.
    public func copyPictures(_ count: Int) throws(CodecError) -> [Picture] {
        var copies: [Picture] = []
        while copies.count < count, let item = try next() {
            guard case .picture(let picture, _) = consume item, picture.size == video.size else { continue }
            let copy = Picture(size: picture.size)
            let (from, to) = unsafe (picture.view, copy.mutableView)
            unsafe copyRows(from.y, to.y)
            unsafe copyRows(from.u, to.u)
            unsafe copyRows(from.v, to.v)
            copies.append(copy)
        }
        return copies
    }

    private func copyRows(_ from: PlaneView, _ to: MutablePlaneView) {
        for y in unsafe 0..<from.height { unsafe to.row(y).update(from: from.row(y), count: from.width) }
    }
}
