import Media
import Packets
import Settings

/// Has the bit rates of the encodes follow what the links of the viewers carry that each serves: that of the enhanced pictures where the
/// operator set a floor for it (``StreamSettings/bitRateFloor``), and pictures do not go out as they came.
///
/// Confined to the observer thread.
struct CallWatch {
    private let output: OutputRate
    private let settings: LiveSettings
    private let path: PicturePath
    private let extra: ExtraEncode
    private var rate: CallRate?
    private var extraRate: CallRate?
    private var next = MonotonicTime(nanoseconds: 0)
    /// How often it looks.
    private static let interval = Nanoseconds.milliseconds(100)
    /// A smaller change, as a share, is none: each costs the encoder a moment.
    private static let leastChange = 0.03

    init(_ channels: StreamChannels) {
        output = channels.outputRate
        settings = channels.settings
        path = channels.path
        extra = channels.extra
    }

    mutating func follow(_ feedback: () -> [RTPViewers.Report], at now: MonotonicTime) {
        guard now >= next else { return }
        next = now + Self.interval
        followExtra(feedback, at: now)
        let ceiling = output.ceiling
        guard let floor = settings.current.bitRateFloor, ceiling > floor, !path.isBypassed else {
            (rate, output.carriedByCalls) = (nil, .max)
            return
        }
        if rate == nil { rate = CallRate(ceiling: ceiling) }
        let reports = feedback()
        // Whoever gets keyframes only, or is tried again, does not lower the rate of those who follow.
        let served = reports.filter(\.isServedByEncoder)
        let following = served.filter { !$0.isHeldBack }
        let samples = (following.isEmpty ? served : following).map { CallRate.Sample($0) }
        let carried = rate!.observe(samples, within: floor...ceiling, at: now)
        guard carried < ceiling else { return output.carriedByCalls = .max }
        let difference = abs(Double(carried) - Double(output.carriedByCalls))
        if difference > Self.leastChange * Double(carried) { output.carriedByCalls = carried }
    }

    /// The one more encode follows its own viewers.
    private mutating func followExtra(_ feedback: () -> [RTPViewers.Report], at now: MonotonicTime) {
        guard extra.wanted != nil, let range = extra.rates else {
            (extraRate, extra.carried) = (nil, .max)
            return
        }
        var rate = extraRate ?? CallRate(ceiling: range.upperBound)
        let carried = rate.observe(feedback().filter(\.isServedByExtra).map { CallRate.Sample($0) }, within: range, at: now)
        extraRate = rate
        let difference = abs(Double(carried) - Double(extra.carried))
        if difference > Self.leastChange * Double(carried) { extra.carried = carried }
    }
}

extension CallRate.Sample {
    /// An estimate of the whole link has the losses in it, the sound, and what is sent twice.
    init(_ report: RTPViewers.Report) {
        let feedback = report.feedback
        let estimate = feedback.estimate.map { max($0 / 2, $0 - min($0, UInt64(LayerChoice.sound))) }
        let pictures = estimate.map { feedback.isSentTwice ? UInt64(Double($0) / RTPSendSession.costOfTwo) : $0 }
        self.init(
            id: report.id, reports: feedback.reports, fractionLost: estimate == nil ? feedback.fractionLost : nil,
            bitRate: pictures ?? feedback.bitRate)
    }
}
