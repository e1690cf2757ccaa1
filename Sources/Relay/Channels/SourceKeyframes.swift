import Synchronization

/// Channel: whether somebody behind ingest waits for the source's next keyframe, for which the sender of a call can be asked.
///
/// - Writers: send (``want()``: a receiver waits for a keyframe; ``keyframeCame()``: one has gone out), ingest
///   (``keyframeCame()``: one is on its way to the output), decode (``cannotDecode(_:)``).
/// - Reader: ingest (``PictureRouter/wantsKeyframe(isAsked:at:)``, for each message and 10 times a second).
/// - Read together: nothing. A receiver's wish counts only while pictures go out as they came (``PicturePath``); else the
///   encoder makes it a keyframe (``KeyframeRequests``). The decoder's figure counts only while pictures are decoded.
///
/// Thread-safe; one atomic each.
final class SourceKeyframes: Sendable {
    private let receiverWaits = Atomic<Bool>(false)
    /// The number behind the newest frame that could not be decoded; 0 before any.
    private let broken = Atomic<UInt64>(0)

    /// A receiver waits for a keyframe.
    func want() { receiverWaits.store(true, ordering: .releasing) }

    /// A keyframe comes to all receivers, who need no other.
    func keyframeCame() { receiverWaits.store(false, ordering: .releasing) }

    var isWanted: Bool { receiverWaits.load(ordering: .acquiring) }

    /// A frame could not be decoded, or what it refers to was dropped.
    func cannotDecode(_ frame: UInt64) { broken.store(frame + 1, ordering: .releasing) }

    /// The newest such frame.
    var undecodable: UInt64? {
        let number = broken.load(ordering: .acquiring)
        return number == 0 ? nil : number - 1
    }
}
