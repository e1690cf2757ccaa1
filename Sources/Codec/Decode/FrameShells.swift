import CFFmpeg
import Media

/// Empty `AVFrame`s for pictures to travel in, kept so that a picture costs no allocation of ours. Thread-safe:
/// pictures are released on whatever thread used them last.
@safe final class FrameShells: @unchecked Sendable {
    private let capacity: Int
    private let frames: UnsafeMutablePointer<UnsafeMutablePointer<AVFrame>?>
    /// How many of `frames` are filled; also the lock over them.
    private let kept = Lock(0)

    /// - Parameter capacity: how many empty frames are kept at most; more may be out at once.
    init(capacity: Int = 32) {
        LibraryLog.takeOver()
        self.capacity = capacity
        unsafe frames = .allocate(capacity: capacity)
        unsafe frames.initialize(repeating: nil, count: capacity)
    }

    deinit {
        for i in 0..<capacity { unsafe av_frame_free(frames + i) }
        unsafe frames.deallocate()
    }

    /// An empty frame; allocates only when none is kept.
    func take() throws(CodecError) -> UnsafeMutablePointer<AVFrame> {
        let frame = unsafe kept.withLock { count -> UnsafeMutablePointer<AVFrame>? in
            guard count > 0 else { return nil }
            count -= 1
            defer { unsafe frames[count] = nil }
            return unsafe frames[count]
        }
        if let frame = unsafe frame { return unsafe frame }
        return unsafe try check(av_frame_alloc(), "av_frame_alloc", at: "decoded picture")
    }

    /// Takes a frame back, dropping what it refers to.
    func give(_ frame: UnsafeMutablePointer<AVFrame>) {
        unsafe av_frame_unref(frame)
        let isKept = kept.withLock { count in
            guard count < capacity else { return false }
            unsafe frames[count] = frame
            count += 1
            return true
        }
        if !isKept {
            var frame: UnsafeMutablePointer<AVFrame>? = unsafe frame
            unsafe av_frame_free(&frame)
        }
    }
}
