/// Turns the stamps of a sender that dates packets by when their picture is shown into ones that never go back.
///
/// Where pictures are coded in another order than they are shown in, stamps jump ahead and back: FFmpeg's `rtp_mpegts`
/// writes a picture's presentation time, and the sound's between. Suppose that at most `depth` of the stamps before each one
/// are later than it. Then the stamp `depth` places below the latest advances evenly and is never later than the packet's
/// own. It is the decoding time less a constant, which encoders derive in the same way. `depth` is learnt, and zero for
/// senders whose stamps are in order.
///
/// A pure value; allocates nothing.
struct StampOrder: Sendable {
    /// Anything deeper is not reordering. H.264 reorders 16 pictures at most; the sound's stamps come on top.
    static let most = 24

    /// The latest distinct stamps so far, the latest first.
    private var latest = InlineArray<25, Int64>(repeating: 0)
    private var count = 0
    private(set) var depth = 0

    /// Inserts the next packet's stamp.
    /// - Returns: whether the depth has grown: what ``inOrder(_:)`` returned up to now was too late.
    mutating func insert(_ stamp: Int64) -> Bool {
        var place = 0
        while place < count && latest[place] > stamp { place += 1 }
        if place == count || latest[place] != stamp { insert(stamp, at: place) }
        guard place > depth else { return false }
        depth = min(place, Self.most)
        return true
    }

    private mutating func insert(_ stamp: Int64, at place: Int) {
        guard place <= Self.most else { return }
        count = min(count + 1, Self.most + 1)
        var index = count - 1
        while index > place {
            latest[index] = latest[index - 1]
            index -= 1
        }
        latest[place] = stamp
    }

    /// The latest stamp; nil before the first.
    var newest: Int64? { count > 0 ? latest[0] : nil }

    /// The stamp in order that goes with a packet's own.
    func inOrder(_ stamp: Int64) -> Int64 { count > 0 ? min(stamp, latest[min(depth, count - 1)]) : stamp }

    /// The stamps have jumped.
    mutating func restart() { count = 0 }
}
