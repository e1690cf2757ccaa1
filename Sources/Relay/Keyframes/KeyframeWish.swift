import Media

/// Decides whether the sender of a call is asked for a keyframe because pictures could not be decoded, although no packet of
/// them is missing.
///
/// Frames are numbered in the order in which they came, so a frame before the newest keyframe asks for nothing: the keyframe has
/// repaired it. A stream that cannot be decoded even then may never be. So the second request in a row waits for 2 s, the next one
/// for 4 s, as for a receiver whose link loses everything (``KeyframeBackoff``).
///
/// A pure value.
struct KeyframeWish {
    /// The newest keyframe that came whole.
    private var keyframe: UInt64 = 0
    /// The newest frame that could not be decoded.
    private var undecodable: UInt64?
    /// From when on the sender is asked; nil where nobody wants it.
    private var due: MonotonicTime?
    private var backoff = KeyframeBackoff()

    /// A whole keyframe has come.
    mutating func keyframeCame(_ frame: UInt64, at now: MonotonicTime) {
        keyframe = frame
        due = nil
        backoff.served(at: now)
    }

    /// - Parameters:
    ///   - frame: the newest frame that could not be decoded.
    ///   - isAsked: the sender is asked anyway, because packets are missing.
    mutating func isDue(for frame: UInt64?, isAsked: Bool, at now: MonotonicTime) -> Bool {
        if let frame, frame != undecodable {
            undecodable = frame
            if frame >= keyframe, due == nil, !isAsked { due = now + backoff.missed(at: now) }
        }
        return due.map { $0 <= now } ?? false
    }
}
