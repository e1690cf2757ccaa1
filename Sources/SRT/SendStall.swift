import CSRT
import Media

/// Notices a connection that accepts no message any more.
///
/// Where all that is under way is lost and fills libsrt's buffers, or those of a receiver that is read early (TSBPD off) have been
/// full, each side of libsrt 1.5.1 waits for the other for ever. A peer may also have asked for packets so small that libsrt
/// refuses every message of some size, while it accepts smaller ones.
///
/// A pure value.
struct SendStall {
    /// libsrt waits as long for a silent peer.
    static let timeout = Nanoseconds.seconds(5)
    /// Why such a connection is ended.
    static let words = "it takes nothing any more"

    /// Since when messages are refused; nil while they are accepted. With the size of the smallest one that was refused for
    /// another reason than a full buffer.
    private var refusal: (since: MonotonicTime, tooLarge: Int?)?

    /// A message was accepted, which proves nothing for larger ones.
    mutating func accepted(_ size: Int) {
        guard let refusal else { return }
        if refusal.tooLarge.map({ size >= $0 }) ?? true { self.refusal = nil }
    }

    /// A message was refused.
    /// - Returns: whether the connection is of no use any more.
    mutating func refused(_ size: Int, isFull: Bool, at now: MonotonicTime) -> Bool {
        let since = refusal?.since ?? now
        refusal = (since, isFull ? refusal?.tooLarge : min(size, refusal?.tooLarge ?? size))
        return now - since >= Self.timeout
    }

    /// Whether libsrt's code says that there is no connection.
    static func isOver(_ code: Int32) -> Bool {
        code == SRT_ENOCONN.rawValue || code == SRT_ECONNLOST.rawValue || code == SRT_EINVSOCK.rawValue
    }
}
