import Media
import Synchronization

/// Channel: who waits for a keyframe, and of whom. While pictures are enhanced the encoder gives one; while they go out as they came
/// the source does, and the sender of a call can be asked for it.
///
/// - Writers: send (``want()``, ``wantOfEncoder()``, ``wantOfEncoder(behind:)``, ``wantOfSource()``, ``hasGoneOut()``), a recording (``want()``), whoever drops a keyframe of the source
///   (``StreamBooks/drop(_:_:)``, by ``wasDropped()``), decode (``cannotDecode(_:)``), ingest (``hasGoneOut()``: the source's own
///   is on its way; ``sourceHasCome()``).
/// - Readers: encode, which claims what is wanted of it before it encodes a picture; ingest, for each message and 10 times a second
///   (``PictureRouter/keyframeWish(isAsked:at:)``).
/// - Read together: nothing. A request to the encoder is always answered, a dropped keyframe as often as the source's others
///   (``KeyframePace``). The decoder's figure counts only while pictures are decoded.
///
/// docs/design/keyframes.md has the whole way. Thread-safe; one atomic each.
final class Keyframes: Sendable {
    private let encoderIsAsked = Atomic<Bool>(false)
    private let sourceIsAsked = Atomic<Bool>(false)
    private let oneWasDropped = Atomic<Bool>(false)
    private let viewersAskSource = Atomic<Bool>(false)
    /// The encoder's picture behind this time is to be a keyframe; the largest number for none.
    private let wantedBehind = Atomic<Int64>(.max)
    /// The number behind the newest frame that could not be decoded; 0 before any.
    private let broken = Atomic<UInt64>(0)

    // MARK: Who wants one

    /// A receiver waits for a keyframe. Requests that come before the next picture count as one.
    func want() {
        wantOfEncoder()
        sourceIsAsked.store(true, ordering: .releasing)
    }

    /// The encoder's next picture is to be a keyframe. Nobody waits for the source's.
    func wantOfEncoder() { encoderIsAsked.store(true, ordering: .releasing) }

    /// The encoder's first picture behind this time is to be a keyframe.
    func wantOfEncoder(behind time: MediaTime) { wantedBehind.store(time.ticks, ordering: .releasing) }

    /// A viewer of the publisher's own pictures waits for a keyframe of theirs, whatever becomes of the others'.
    func wantOfSource() { viewersAskSource.store(true, ordering: .releasing) }

    /// A keyframe of the source was dropped.
    func wasDropped() { oneWasDropped.store(true, ordering: .releasing) }

    /// A frame could not be decoded, or what it refers to was dropped.
    func cannotDecode(_ frame: UInt64) { broken.store(frame + 1, ordering: .releasing) }

    /// A keyframe comes to all receivers, who need none of the source any more.
    func hasGoneOut() { sourceIsAsked.store(false, ordering: .releasing) }

    // MARK: Of the encoder

    /// Whether the encoder is asked for one, and no picture has come to it since.
    var encoderOwesOne: Bool { encoderIsAsked.load(ordering: .relaxed) }

    /// Whether a picture of this time is to be a keyframe. It counts as one when this says so.
    func claim(at time: MediaTime) -> Bool {
        guard time.ticks > wantedBehind.load(ordering: .acquiring) else { return false }
        wantedBehind.store(.max, ordering: .relaxed)
        return true
    }

    /// Whether the encoder was asked for one since the last call.
    func claim() -> Bool { encoderIsAsked.exchange(false, ordering: .acquiring) }

    /// Whether a keyframe of the source was dropped since the last call.
    func claimDropped() -> Bool { oneWasDropped.exchange(false, ordering: .acquiring) }

    // MARK: Of the source

    /// Whether a receiver waits for the source's.
    var sourceOwesOne: Bool { sourceIsAsked.load(ordering: .acquiring) }

    /// Whether a viewer of the publisher's own pictures waits for one.
    var viewersAwaitSource: Bool { viewersAskSource.load(ordering: .acquiring) }

    /// A whole keyframe of the source has come.
    func sourceHasCome() { viewersAskSource.store(false, ordering: .releasing) }

    /// The newest frame that could not be decoded.
    var undecodable: UInt64? {
        let number = broken.load(ordering: .acquiring)
        return number == 0 ? nil : number - 1
    }
}
