import Media
import Schedule

/// What fills the slots of a constant output rate that no picture comes for: the last picture again, and after a while a
/// slate.
///
/// Confined to the encode thread.
final class SlotFiller {
    struct Shown: ~Copyable {
        let picture: PictureLease
        let color: ColorDescription
    }

    /// Decides which slots to fill.
    var repeater: Repeater
    /// The newest picture that went to the encoder; nil before the first, and after one that could not be encoded.
    var shown: Shown?
    /// What is sent when the source has stopped. It is made with the encoder, so that it is there when it is needed.
    private(set) var slate: Picture?
    /// What repeating a frame takes.
    private(set) var repeatCost = Nanoseconds.milliseconds(3)
    /// The newest frame that was a keyframe or not repeated.
    var lastEntry = MediaTime(ticks: 0)

    /// While nothing but repeats goes out, a receiver that comes finds a keyframe at least this often.
    private static let keyframeInterval = 2 * MediaTime.ticksPerSecond

    init(_ repeater: Repeater) { self.repeater = repeater }

    /// Keeps a picture that went to the encoder, to repeat it.
    func show(_ picture: consuming PictureLease, _ color: ColorDescription, at slot: MediaTime, now: MonotonicTime) {
        repeater.show(slot, now: now)
        shown = Shown(picture: picture, color: color)
    }

    func observe(repeatCost cost: Nanoseconds) { repeatCost = repeatCost + (cost - repeatCost) / 8 }

    /// Whether a repeat in this slot has to be a keyframe.
    func needsEntry(at slot: MediaTime) -> Bool { slot - lastEntry >= Self.keyframeInterval }

    func makeSlate(of size: PictureSize) {
        if slate?.size != size { slate = Picture(slateOf: size) }
    }
}

extension Picture {
    /// A plain dark grey picture.
    fileprivate convenience init(slateOf size: PictureSize) {
        self.init(size: size)
        let view = unsafe mutableView
        for y in 0..<size.height { unsafe view.y.row(y).update(repeating: 40, count: size.width) }
        for y in 0..<size.chroma.height {
            unsafe view.u.row(y).update(repeating: 128, count: size.chroma.width)
            unsafe view.v.row(y).update(repeating: 128, count: size.chroma.width)
        }
    }
}
