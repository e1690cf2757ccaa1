import CFFmpeg

/// The one owner of an `AVFrame`, which it frees.
///
/// Sendable, because nobody else holds the pointer, and because libav counts the references to samples atomically.
@safe struct OwnedFrame: ~Copyable, @unchecked Sendable {
    @unsafe let pointer: UnsafeMutablePointer<AVFrame>

    init() throws(CodecError) {
        unsafe pointer = try check(av_frame_alloc(), "av_frame_alloc", at: "decoded picture")
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = unsafe self.pointer
        unsafe av_frame_free(&pointer)
    }
}
