import Media
import Synchronization

/// A frame's right to exist: its record, owned by whichever stage has the frame, handed on with it and given up exactly
/// once, to ``Ledger/close(_:as:)``. It cannot be copied, so the compiler keeps a frame from having two fates, and one
/// that vanishes without a fate leaves books that do not balance.
public struct FrameTicket: ~Copyable, Sendable {
    public var record: FrameRecord
    private let census: Census

    init(record: FrameRecord, census: Census) {
        self.record = record
        self.census = census
        census.living.add(1, ordering: .relaxed)
    }

    /// Stamps the record with the given time, the present by default.
    public mutating func stamp(_ stamp: Stamp, at time: MonotonicTime = .now()) { record[stamp] = time }

    deinit { census.living.subtract(1, ordering: .relaxed) }
}

/// Counts the tickets that exist: the books' "in flight", known from the frames themselves and not from the other terms.
final class Census: Sendable {
    let living = Atomic<Int>(0)
}
