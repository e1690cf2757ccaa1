import Media
import Packets

/// Keyframes for the receivers of calls that get nothing else (``CallPace``). All of them together cost the others one keyframe in
/// 6 s at most, and one for each trial with all frames. They cost none where keyframes go out as often by themselves.
///
/// A pure value.
struct SlowReceivers {
    /// How often what the receivers have told is looked at.
    static let interval = Nanoseconds.milliseconds(100)
    static let keyframeInterval = Nanoseconds.seconds(6)
    /// Trials that begin so soon after each other begin with one keyframe.
    static let trialInterval = Nanoseconds.seconds(1)

    private var next = MonotonicTime(nanoseconds: 0)
    /// When a keyframe was asked for or seen to go out.
    private var lastKeyframe: MonotonicTime?
    private var keyframeIsNew = false

    /// Whether the receivers are to be looked at now. It counts as done when this says so.
    mutating func claimTurn(at now: MonotonicTime) -> Bool {
        guard now >= next else { return false }
        next = now + Self.interval
        if keyframeIsNew { (keyframeIsNew, lastKeyframe) = (false, now) }
        return true
    }

    /// A keyframe has gone out to somebody.
    mutating func keyframeWasSent() { keyframeIsNew = true }

    /// Whether one may be asked for on behalf of a slow receiver.
    /// - Parameter isTrial: their trial begins with it.
    func mayAsk(isTrial: Bool, at now: MonotonicTime) -> Bool {
        let interval = isTrial ? Self.trialInterval : Self.keyframeInterval
        return !keyframeIsNew && lastKeyframe.map { now - $0 >= interval } ?? true
    }

    /// One was asked for.
    mutating func asked(at now: MonotonicTime) { lastKeyframe = now }
}

extension CallPace.Sample {
    init(_ feedback: RTPSendSession.Feedback) {
        self.init(
            reports: feedback.reports, fractionLost: feedback.fractionLost, bitRate: feedback.estimate ?? feedback.bitRate,
            keyframeRequests: feedback.keyframeRequests)
    }
}
