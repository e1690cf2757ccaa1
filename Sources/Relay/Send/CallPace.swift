import Media

/// Decides whether one receiver of a call gets all frames or keyframes only, by what they report.
///
/// All receivers share one encode. One who loses so much that they ask for a keyframe again and again makes the pictures of all
/// others worse. So a receiver whose link has been bad for 6 s gets keyframes only. They are tried again with all frames after 6,
/// 12, 24 and then every 48 s, and keep them when their link has held for 6 s.
///
/// A pure value; it reads no clock.
struct CallPace {
    enum Frames: Hashable { case all, keyframesOnly }
    enum Change: Hashable { case slowed, recovered }

    /// What the receiver has told so far.
    struct Sample {
        /// Counts their reports.
        var reports: Int64 = 0
        /// Of the packets since the report before, 0…1; nil before any.
        var fractionLost: Double?
        /// The most bits a second that they can take, as they say; nil where they do not.
        var bitRate: UInt64?
        /// Counts their requests for keyframes.
        var keyframeRequests: Int64 = 0
    }

    /// A link is bad for so long before its receiver gets keyframes only.
    static let badLinkTime = Nanoseconds.seconds(6)
    /// A trial with all frames takes so long. It ends sooner where the link is bad for ``trialFailureTime``.
    static let trial = Nanoseconds.seconds(6)
    static let trialFailureTime = Nanoseconds.seconds(2)
    /// From the last frame to the first trial. It doubles with each trial that fails.
    static let firstWait = Nanoseconds.seconds(6)
    static let longestWait = Nanoseconds.seconds(48)
    /// One who falls behind again so soon after a trial goes on with the longer wait.
    static let relapse = Nanoseconds.seconds(60)
    /// Whoever has not asked for a keyframe for so long can follow.
    static let requestTimeout = Nanoseconds.seconds(3)
    /// One report may be chance.
    static let leastLossyReports = 2
    /// What they state rises by so much while their estimate of the link still grows.
    private static let climb = 1.05

    private enum Phase {
        case all
        case keyframesOnly(until: MonotonicTime)
        /// All frames begin with the next keyframe.
        case awaitsKeyframe
        case keyframeWasSent
        case trial(since: MonotonicTime)
    }

    private var phase = Phase.all
    private var wait = Self.firstWait
    private var recovered: MonotonicTime?
    private var badSince: MonotonicTime?

    private var reports: Int64 = 0
    private var requests: Int64 = 0
    private var loss = 0.0
    private var lastReport: MonotonicTime?
    private var lastRequest: MonotonicTime?
    /// In a row.
    private var lossyReports = 0
    /// In the present trial.
    private var reportsInTrial = 0
    /// What their losses allow, by the rule of ``CallRate`` for them alone; nil without a floor.
    private var allowed: Double?
    /// The highest that they have stated while it was below the floor, and when it rose last.
    private var stated = (highest: 0.0, rose: MonotonicTime?.none)

    init() {}

    var frames: Frames {
        switch phase {
        case .all, .keyframeWasSent, .trial: .all
        case .keyframesOnly, .awaitsKeyframe: .keyframesOnly
        }
    }

    /// Whether their losses and requests are no longer to count for the others: they get keyframes only, or are on trial.
    var isHeldBack: Bool { if case .all = phase { false } else { true } }

    /// Whether a trial is due that begins with the next keyframe.
    var awaitsTrial: Bool { if case .awaitsKeyframe = phase { true } else { false } }

    /// A keyframe was sent to them whole.
    mutating func keyframeWasSent() { if awaitsTrial { phase = .keyframeWasSent } }

    /// Takes in what they have told by now. Called several times a second.
    /// - Parameters:
    ///   - floor: the least bit rate that the operator allows; nil where the rate does not follow the receivers.
    ///   - ceiling: the most.
    /// - Returns: what has changed for them; nil for nothing. A trial that fails changes nothing.
    mutating func observe(_ sample: Sample, floor: Int?, ceiling: Int, at now: MonotonicTime) -> Change? {
        record(sample, floor, ceiling, now)
        let isBad = losesPictures(now) || isBelow(floor, sample.bitRate, now)
        badSince = isBad ? badSince ?? now : nil
        switch phase {
        case .all:
            guard let badSince, now - badSince >= Self.badLinkTime else { return nil }
            wait = recovered.map { now - $0 < Self.relapse } ?? false ? min(wait * 2, Self.longestWait) : Self.firstWait
            phase = .keyframesOnly(until: now + wait)
            return .slowed
        case .keyframesOnly(let until):
            if now >= until { phase = .awaitsKeyframe }
        case .awaitsKeyframe: break
        case .keyframeWasSent:
            phase = .trial(since: now)
            (badSince, lossyReports, reportsInTrial) = (nil, 0, 0)
            if let floor, let rate = allowed { allowed = max(rate, Double(floor)) }
        case .trial(let since):
            let isOver = now - since >= Self.trial
            let hasFailed = badSince.map { now - $0 >= Self.trialFailureTime } ?? false
            // Whoever reports nothing has not shown that their link holds.
            if hasFailed || isOver && (isBad || reportsInTrial == 0) {
                wait = min(wait * 2, Self.longestWait)
                phase = .keyframesOnly(until: now + wait)
            } else if isOver {
                (phase, recovered) = (.all, now)
                return .recovered
            }
        }
        return nil
    }

    private mutating func record(_ sample: Sample, _ floor: Int?, _ ceiling: Int, _ now: MonotonicTime) {
        if sample.keyframeRequests != requests { (requests, lastRequest) = (sample.keyframeRequests, now) }
        if let floor, floor < ceiling {
            allowed = min(max(allowed ?? Double(ceiling), Double(floor) * 0.9), Double(ceiling))
        } else {
            allowed = nil
        }
        guard let fraction = sample.fractionLost, sample.reports != reports else { return }
        (reports, loss, lastReport) = (sample.reports, fraction, now)
        reportsInTrial += 1
        lossyReports = fraction > CallRate.muchLost ? lossyReports + 1 : 0
        // While they get keyframes only, their losses say nothing of all frames.
        if frames == .all, let rate = allowed { allowed = CallRate.changed(rate, by: fraction) }
    }

    private func losesPictures(_ now: MonotonicTime) -> Bool {
        guard lossyReports >= Self.leastLossyReports, let lastReport, let lastRequest else { return false }
        return now - lastReport < CallRate.reportTimeout && now - lastRequest < Self.requestTimeout
    }

    private mutating func isBelow(_ floor: Int?, _ bitRate: UInt64?, _ now: MonotonicTime) -> Bool {
        guard let floor, let allowed else { return false }
        let reportsStill = lastReport.map { now - $0 < CallRate.reportTimeout } ?? false
        if reportsStill, allowed < Double(floor) { return true }
        guard let bitRate, bitRate < floor else {
            stated = (0, nil)
            return false
        }
        // A browser begins low and finds out what its link carries.
        if Double(bitRate) > stated.highest * Self.climb { stated = (Double(bitRate), now) }
        return stated.rose.map { now - $0 >= Self.trialFailureTime } ?? false
    }
}
