import Media
import WorkerProtocol

/// The bit rate and the loss of each connection over the last seconds, by their totals once a second. A pure value.
struct CallerRates {
    /// Over so many seconds.
    static let window = 5

    private struct Totals {
        var time: MonotonicTime
        var bytes, packets, lost: Int64

        init(_ caller: Caller, at time: MonotonicTime) {
            self.time = time
            let isInput = caller.leg == .input
            bytes = isInput ? caller.figures.bytesReceived : caller.figures.bytesSent
            // What was lost on the way here never came. What was lost on the way there was sent.
            packets = isInput ? caller.figures.packetsReceived + caller.figures.packetsLost : caller.figures.packetsSent
            lost = caller.figures.packetsLost
        }
    }

    private var totals: [UInt64: [Totals]] = [:]

    /// - Parameter callers: all that there are now.
    mutating func observe(_ callers: [Caller], at now: MonotonicTime) {
        var next: [UInt64: [Totals]] = [:]
        for caller in callers {
            next[caller.id] = (totals[caller.id] ?? []).suffix(Self.window) + [Totals(caller, at: now)]
        }
        totals = next
    }

    /// The caller with its rates. A loss that it reports itself stays.
    func rated(_ caller: Caller) -> Caller {
        guard let known = totals[caller.id], let first = known.first, let last = known.last, last.time > first.time else {
            return caller
        }
        var rated = caller
        let bytes = last.bytes - first.bytes
        if bytes >= 0 { rated.bitRate = Double(bytes) * 8 / (last.time - first.time).seconds }
        let (packets, lost) = (last.packets - first.packets, last.lost - first.lost)
        if caller.loss == nil, packets > 0, lost >= 0 { rated.loss = min(1, Double(lost) / Double(packets)) }
        return rated
    }
}
