import Media
import Schedule
import Synchronization

/// Opens and closes the frames of one stream. Keeps the books, the latency histograms and the records of the last closed
/// frames.
///
/// Thread-safe. Opening and closing hold a lock for well under a microsecond and never allocate.
public final class Ledger: Sendable {
    private struct State {
        var nextID: UInt64 = 0
        var books = Books()
        var latency = Latency()
        var recent: [FrameRecord?]
        var fates: [FrameFate]
        var closed: UInt64 = 0
    }

    private let census: Census
    /// Has the books, the histograms and the records too, for other processes.
    private let map: TelemetryMap.Writer?
    private let state: Lock<State>

    /// - Parameters:
    ///   - keeping: how many records of closed frames to keep for traces.
    ///   - map: where other processes read the same; nil where none do. The numbers of frames go on from those in the map.
    ///     The figures that this ledger gives are its own: it counts from zero.
    public init(keeping: Int = 1024, map: TelemetryMap.Writer? = nil) {
        self.map = map
        census = Census(map)
        state = Lock(
            State(
                nextID: map?.firstFrame ?? 0,
                recent: Array(repeating: nil, count: keeping),
                fates: Array(repeating: .emitted, count: keeping)))
    }

    /// Opens a frame: counts it and makes its ticket.
    public func open(_ kind: FrameKind, presentation: MediaTime) -> FrameTicket {
        // Tickets begin before their frame counts and end after it has its fate (TelemetryMap.Writer says why).
        census.beginTicket()
        let id = state.withLock { state in
            map?.open(kind)
            switch kind {
            case .original: state.books.originals += 1
            case .synthesised: state.books.synthesised += 1
            case .repeated: state.books.repeated += 1
            }
            defer { state.nextID += 1 }
            return state.nextID
        }
        return FrameTicket(record: FrameRecord(id: id, kind: kind, presentation: presentation), census: census)
    }

    /// Opens a frame that is made from an original: of its clocks, as late as it, and due as much later as it is shown later.
    public func open(_ kind: FrameKind, presentation: MediaTime, beside original: FrameRecord) -> FrameTicket {
        let offset = MediaTime(ticks: presentation - original.presentation).nanoseconds
        var ticket = open(kind, presentation: presentation)
        ticket.record.deadline = original.deadline.map { $0 + offset }
        ticket.record.epoch = original.epoch
        ticket.record.sourceClock = original.sourceClock
        ticket.record.maskNumber = original.maskNumber
        ticket.record.sourceTime = original.sourceTime.map { $0 + offset }
        ticket.record.isLateUnit = original.isLateUnit
        ticket.record[.lastPacket] = original[.lastPacket]
        return ticket
    }

    /// Closes a frame: counts its fate and keeps its record.
    public func close(_ ticket: consuming FrameTicket, as fate: FrameFate) {
        let record = ticket.record
        state.withLock { state in
            map?.close(record, as: fate)
            switch fate {
            case .emitted:
                state.books.emitted += 1
                state.latency.record(record)
            case .bypassed:
                state.books.bypassed += 1
                state.latency.record(record)
            case .dropped(let reason):
                state.books.drop(record.kind, reason)
            }
            let slot = Int(state.closed % UInt64(state.recent.count))
            state.recent[slot] = record
            state.fates[slot] = fate
            state.closed += 1
        }
    }

    /// A copy of the books. A frame that is opened or closed at this moment can be counted on one side only. The books balance
    /// exactly when no frame moves.
    public var books: Books {
        state.withLock { state in
            var books = state.books
            books.inFlight = UInt64(max(0, census.living))
            return books
        }
    }

    /// The number of the next frame that is opened.
    public var nextFrame: UInt64 { state.withLock { $0.nextID } }

    /// How many frames are in flight. Does not lock.
    public var inFlight: Int { census.living }

    /// Reads the latency histograms in place, under the lock. Read figures from them in `body`, and do not copy them.
    public func withLatency<Result: Sendable>(_ body: (borrowing Latency) -> Result) -> Result {
        state.withLock { body($0.latency) }
    }

    /// Calls `body` with each record that was closed since `cursor`, oldest first, and advances the cursor.
    /// - Returns: how many records were overwritten before they could be read.
    public func read(since cursor: inout UInt64, _ body: (FrameRecord, FrameFate) -> Void) -> UInt64 {
        var skipped: UInt64 = 0
        while true {
            let next: (FrameRecord, FrameFate)? = state.withLock { state in
                let capacity = UInt64(state.recent.count)
                if state.closed > cursor + capacity {
                    skipped += state.closed - capacity - cursor
                    cursor = state.closed - capacity
                }
                guard cursor < state.closed, let record = state.recent[Int(cursor % capacity)] else { return nil }
                return (record, state.fates[Int(cursor % capacity)])
            }
            guard let (record, fate) = next else { return skipped }
            cursor += 1
            body(record, fate)
        }
    }
}
