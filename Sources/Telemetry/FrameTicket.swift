import Media
import Synchronization

/// A frame's record. The stage that has the frame owns it and hands it on with the frame. The last stage consumes it in
/// ``Ledger/close(_:as:)``.
///
/// It cannot be copied, so the compiler prevents two fates for a frame. A ticket that is lost without a fate shows, because
/// the books then do not balance.
public struct FrameTicket: ~Copyable, Sendable {
    public var record: FrameRecord
    private let census: Census

    /// - Parameter census: has counted this ticket.
    init(record: FrameRecord, census: Census) {
        self.record = record
        self.census = census
    }

    /// Stamps the record with the given time, the present by default.
    public mutating func stamp(_ stamp: Stamp, at time: MonotonicTime = .now()) { record[stamp] = time }

    deinit { census.endTicket() }
}

/// Counts the tickets that exist. This is the "in flight" of the books. It is counted by the tickets themselves and not
/// computed from the other terms.
///
/// Thread-safe; one atomic, and one in the telemetry map.
final class Census: Sendable {
    private let tickets = Atomic<Int>(0)
    private let map: TelemetryMap.Writer?

    init(_ map: TelemetryMap.Writer?) { self.map = map }

    var living: Int { tickets.load(ordering: .relaxed) }

    func beginTicket() {
        tickets.add(1, ordering: .relaxed)
        map?.beginTicket()
    }

    func endTicket() {
        tickets.subtract(1, ordering: .relaxed)
        map?.endTicket()
    }
}
