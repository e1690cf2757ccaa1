import Media

extension PictureView {
    /// Luma, u and v by number.
    @unsafe func plane(_ index: Int) -> PlaneView { unsafe index == 0 ? y : index == 1 ? u : v }

    /// - Throws: `sizeMismatch` for a picture that is not a whole one of this size.
    @unsafe func check(size: PictureSize, _ role: StaticString) throws(EnhanceError) {
        guard unsafe self.size == size else {
            throw unsafe EnhanceError(
                .sizeMismatch,
                "\(role) of \(self.size) in a session that has \(size) there: make another session for another size")
        }
        let fits =
            unsafe PictureSize(width: u.width, height: u.height) == size.chroma
            && PictureSize(width: v.width, height: v.height) == size.chroma
        guard fits else {
            throw EnhanceError(.sizeMismatch, "\(role)'s chroma planes are not half of the luma plane, rounded up: pass 4:2:0")
        }
    }
}

extension MutablePictureView {
    /// Luma, u and v by number.
    @unsafe func plane(_ index: Int) -> MutablePlaneView { unsafe index == 0 ? y : index == 1 ? u : v }
}
