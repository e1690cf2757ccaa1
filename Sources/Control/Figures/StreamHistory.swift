import Media
import Schedule
import Telemetry

/// A stream's last hour, a sample each ten seconds, so that whoever looks at it later sees what was. A pure value.
///
/// It takes at most 48 KiB of memory: 360 samples of 112 bytes, and one histogram.
struct StreamHistory: Sendable {
    static let step = Nanoseconds.seconds(10)
    static let capacity = 360

    private struct Totals: Sendable {
        var time: MonotonicTime
        var latency: Histogram
        var dropped: UInt64
        var received: Int64
        var sent: Int64

        init(_ snapshot: StreamSnapshot, at time: MonotonicTime) {
            self.time = time
            latency = snapshot.latency.original
            let books = snapshot.books
            // What nobody watched, what the output's rate has no room for, and what ends with a stream are no losses.
            let usual: [DropReason] = [.outputDown, .otherLayer, .cadence, .shutdown]
            dropped = books.dropped - min(books.dropped, usual.reduce(0) { $0 &+ books[$1] })
            received = snapshot.inputLeg.bytesReceived
            sent = snapshot.outputs.reduce(0) { $0 &+ $1.leg.bytesSent }
        }
    }

    private var samples: [HistorySample] = []
    /// Where the next sample goes once there are as many as are kept.
    private var oldest = 0
    private var former: Totals?

    /// Call it about once a second.
    /// - Parameter wallOffset: seconds since 1970 minus the monotonic clock's.
    mutating func observe(
        _ snapshot: StreamSnapshot, _ state: StreamStatus.State, at now: MonotonicTime, wallOffset: Double
    ) {
        guard let former else { return former = Totals(snapshot, at: now) }
        // Ticks come on whole seconds, some milliseconds more or less.
        guard now - former.time >= Self.step - .milliseconds(500) else { return }
        let totals = Totals(snapshot, at: now)
        let recent = totals.latency.since(former.latency)
        let seconds = (now - former.time).seconds
        func rate(_ before: Int64, _ after: Int64, isKnown: Bool) -> Double? {
            after > before || (isKnown && after == before) ? Double(after - before) * 8 / seconds : nil
        }
        let viewers = snapshot.outputs.reduce(0) { $0 &+ $1.receivers }
        let sample = HistorySample(
            time: wallOffset + now.seconds, state: state,
            latencyP50: recent.count > 0 ? recent.quantile(0.5).seconds : nil,
            latencyP99: recent.count > 0 ? recent.quantile(0.99).seconds : nil, rung: snapshot.gauges.rung,
            bitRateIn: rate(former.received, totals.received, isKnown: snapshot.inputLeg.isConnected),
            bitRateOut: rate(former.sent, totals.sent, isKnown: viewers > 0),
            dropped: totals.dropped >= former.dropped ? totals.dropped - former.dropped : 0, viewers: viewers)
        if samples.count < Self.capacity {
            samples.append(sample)
        } else {
            samples[oldest] = sample
            oldest = (oldest + 1) % Self.capacity
        }
        self.former = totals
    }

    /// The samples of the last seconds, oldest first.
    func samples(last seconds: Double) -> [HistorySample] {
        let most = Int((seconds / Self.step.seconds).rounded(.up))
        return Array((samples[oldest...] + samples[..<oldest]).suffix(max(0, most)))
    }
}

/// What a stream did in one step of ``StreamHistory``. What is not known is nil.
public struct HistorySample: Hashable, Sendable {
    /// The end of the step, in seconds since 1970.
    public var time: Double
    public var state: StreamStatus.State
    /// Of the step's originals, in seconds.
    public var latencyP50: Double?
    public var latencyP99: Double?
    /// The place in `Rung.all` at the end of the step.
    public var rung: UInt8?
    /// Bits a second; out: of all outputs, to all their receivers.
    public var bitRateIn: Double?
    public var bitRateOut: Double?
    /// Frames that were lost: not those that nobody watched, that the output's rate has no room for, or that ended with the stream.
    public var dropped: UInt64
    public var viewers: Int64

    public init(
        time: Double, state: StreamStatus.State, latencyP50: Double? = nil, latencyP99: Double? = nil, rung: UInt8? = nil,
        bitRateIn: Double? = nil, bitRateOut: Double? = nil, dropped: UInt64 = 0, viewers: Int64 = 0
    ) {
        self.time = time
        self.state = state
        self.latencyP50 = latencyP50
        self.latencyP99 = latencyP99
        self.rung = rung
        self.bitRateIn = bitRateIn
        self.bitRateOut = bitRateOut
        self.dropped = dropped
        self.viewers = viewers
    }
}
