import CFFmpeg
import Media

/// Keeps empty `AVFrame`s for pictures to travel in, so that a picture costs no allocation of ours.
///
/// Thread-safe: a picture is released on the thread that used it last.
final class FramePool: Sendable {
    /// A stack of empty frames.
    @safe private struct Kept: ~Copyable {
        private let frames: UnsafeMutablePointer<OwnedFrame>
        private let capacity: Int
        private var count = 0

        init(capacity: Int) {
            self.capacity = capacity
            unsafe frames = .allocate(capacity: capacity)
        }

        deinit {
            unsafe frames.deinitialize(count: count)
            unsafe frames.deallocate()
        }

        mutating func pop() -> OwnedFrame? {
            guard count > 0 else { return nil }
            count -= 1
            return unsafe (frames + count).move()
        }

        /// Keeps the frame where there is room for it.
        mutating func push(_ frame: inout OwnedFrame?) {
            guard count < capacity, let kept = frame.take() else { return }
            unsafe (frames + count).initialize(to: kept)
            count += 1
        }
    }

    private let kept: Lock<Kept>

    /// - Parameter capacity: how many empty frames are kept at most; more may be in use at once.
    init(capacity: Int = 32) {
        LibraryLog.capture()
        kept = Lock(Kept(capacity: capacity))
    }

    /// An empty frame. Allocates only when none is kept.
    func emptyFrame() throws(CodecError) -> OwnedFrame {
        if let frame = kept.withLock({ $0.pop() }) { return frame }
        return try OwnedFrame()
    }

    /// Drops what a frame refers to and keeps the frame for a later picture.
    func recycle(_ frame: consuming OwnedFrame) {
        unsafe av_frame_unref(frame.pointer)
        var frame: OwnedFrame? = frame
        kept.withLock { $0.push(&frame) }
    }
}
