import Codec
import Media
import Synchronization
import Telemetry

/// One frame's picture as it came in and as it goes out, shared with the stages that work with it.
struct TappedPictures: ~Copyable, Sendable {
    /// The frame's number.
    let frame: UInt64
    /// The number of the mask that they have.
    let maskNumber: Int
    let color: ColorDescription
    let before: DecodedPicture
    /// Nil where nobody receives the output, so that nothing is enhanced.
    let after: PictureLease?
}

/// Channel: pictures that somebody wants to see.
///
/// - Writers: ``PictureDesk`` asks; enhance answers with the pictures of the next frame, once for each time it is asked.
/// - Readers: enhance (``isWanted``, for each frame), ``PictureDesk`` (the pictures).
/// - Read together: both pictures are of the same frame.
///
/// Thread-safe. While nobody asks, enhance loads one atomic for each frame.
final class PictureRequests: Sendable {
    private let wanted = Atomic<Bool>(false)
    private let tapped = BoundedQueue<TappedPictures>(capacity: 1)

    // MARK: The enhance thread

    var isWanted: Bool { wanted.load(ordering: .relaxed) }

    /// Hands over the pictures of a frame if they are still wanted. Neither is copied.
    func offer(_ frame: FrameRecord, before: borrowing DecodedPicture, after: borrowing PictureLease) {
        offer(frame, before, after.share())
    }

    /// Hands over the picture of a frame that is not enhanced, if it is still wanted.
    func offer(_ frame: FrameRecord, before: borrowing DecodedPicture) { offer(frame, before, nil) }

    private func offer(_ frame: FrameRecord, _ before: borrowing DecodedPicture, _ after: consuming PictureLease?) {
        let color = before.color
        guard let share = before.share(), wanted.exchange(false, ordering: .relaxed) else { return }
        _ = tapped.offer(
            TappedPictures(frame: frame.id, maskNumber: frame.maskNumber, color: color, before: share, after: after))
    }

    // MARK: The desk's thread

    /// The pictures of the next frame; nil when none comes until `time`, or after ``close()``.
    func next(until time: MonotonicTime) -> TappedPictures? {
        wanted.store(true, ordering: .relaxed)
        if let pictures = tapped.pop(until: time) { return pictures }
        // Enhance may be about to hand some over. They must not stay in the queue.
        if wanted.exchange(false, ordering: .relaxed) || tapped.isClosed { return nil }
        return tapped.pop()
    }

    func close() { tapped.close() }
}
