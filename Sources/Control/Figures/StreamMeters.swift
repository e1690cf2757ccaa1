import Media
import Telemetry

/// Rates of a stream over the last seconds, by its totals once a second. A pure value.
struct StreamMeters: Sendable {
    /// Over so many seconds.
    static let window = 5

    private struct Totals: Sendable {
        var time: MonotonicTime
        var originals: UInt64
        var received: Int64
        var sent: [Int64]
    }

    private var totals: [Totals] = []
    private var isInputConnected = false

    /// Call it about once a second.
    mutating func observe(_ snapshot: StreamSnapshot, at now: MonotonicTime) {
        let new = Totals(
            time: now, originals: snapshot.books.originals, received: snapshot.inputLeg.bytesReceived,
            sent: snapshot.outputs.map(\.leg.bytesSent))
        // Other outputs than before.
        if let last = totals.last, last.sent.count != new.sent.count { totals = [] }
        isInputConnected = snapshot.inputLeg.isConnected
        totals.append(new)
        if totals.count > Self.window + 1 { totals.removeFirst() }
    }

    /// Bits a second that come in; nil without a source.
    var bitRateIn: Double? { isInputConnected ? rate { Double($0.received) }.map { $0 * 8 } : nil }
    /// Frames a second that come in; nil without a source.
    var frameRateIn: Double? { isInputConnected ? rate { Double($0.originals) } : nil }
    /// Bits a second that go out at an output, to all its receivers.
    func bitRateOut(_ output: Int) -> Double? {
        guard let last = totals.last, last.sent.indices.contains(output) else { return nil }
        return rate { Double($0.sent[output]) }.map { $0 * 8 }
    }
    /// Of all outputs.
    var bitRateOut: Double? { rate { Double($0.sent.reduce(0, +)) }.map { $0 * 8 } }

    /// - Returns: nil before there are two readings, and where a total has fallen.
    private func rate(_ total: (Totals) -> Double) -> Double? {
        guard let first = totals.first, let last = totals.last, last.time > first.time else { return nil }
        let difference = total(last) - total(first)
        return difference < 0 ? nil : difference / (last.time - first.time).seconds
    }
}
