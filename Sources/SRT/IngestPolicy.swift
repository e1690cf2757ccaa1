import Media

/// Judges whether a leg is fit for early reading, from the figures of each second. A pure value.
///
/// Early reading shows every message sooner than SRT's own delay would, as long as recovery is quicker than the window.
/// Otherwise it may be worse: where a sender marks its messages as ordered (FFmpeg), one missing packet holds back all
/// behind it beyond their time, and TSBPD would drop the one and deliver the others. The sign of that is messages that come
/// after their source time plus the window although packets do arrive. (During an outage none arrive, and both ways of
/// reading lose the same.)
struct IngestPolicy: Sendable {
    /// One second of a leg.
    struct Second: Hashable, Sendable {
        /// Messages read, and those of them that were past their window when libsrt delivered them.
        var messages: Int64 = 0
        var late: Int64 = 0
        /// Packets found missing, and packets that came as a repeat.
        var lost: Int64 = 0
        var retransmitted: Int64 = 0
        var roundTripTime = Nanoseconds.zero
        var window = Nanoseconds.zero
        /// The longest pause between two packets on the wire.
        var longestSilence = Nanoseconds.zero
    }

    /// A second is bad when more than this share of its messages was late while packets were being lost.
    static let lateShare = 0.02
    /// A silence on the wire that is longer than this and than the window is an outage.
    static let outage = Nanoseconds.milliseconds(250)
    /// So many bad seconds among the last ``memory`` make the leg unfit.
    static let badSeconds = 3
    static let memory = 10
    /// After so many seconds of little trouble, early reading gets another chance.
    static let probation = 60
    /// Under TSBPD, a second counts as quiet when repeats could all have come in time: fewer losses than this share,
    /// and at least two round trips in the window.
    static let quietLoss = 0.02

    private var bad: UInt32 = 0
    private var quiet = 0
    private(set) var isFit = true

    init() {}

    /// Judges one more second.
    /// - Returns: whether the next connection should be read early.
    mutating func judge(_ second: Second, readEarly: Bool) -> Bool {
        guard second.messages > 0 else { return isFit }
        let lossShare = Double(second.lost) / Double(second.messages + second.lost)
        if readEarly {
            let outage = second.longestSilence > max(second.window, Self.outage)
            let isBad =
                !outage && second.lost + second.retransmitted > 0
                && Double(second.late) > Self.lateShare * Double(second.messages)
            bad = (bad << 1 | (isBad ? 1 : 0)) & (1 << UInt32(Self.memory) - 1)
            if bad.nonzeroBitCount >= Self.badSeconds { isFit = false }
        }
        if !isFit {
            let isQuiet =
                lossShare < Self.quietLoss && second.roundTripTime * 2 < second.window
                && Double(second.late) <= Self.lateShare * Double(second.messages)
            quiet = isQuiet ? quiet + 1 : 0
            if quiet >= Self.probation {
                isFit = true
                bad = 0
                quiet = 0
            }
        }
        return isFit
    }
}
