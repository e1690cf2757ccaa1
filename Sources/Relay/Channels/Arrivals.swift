import Media
import Schedule
import Synchronization

/// Channel: which originals have arrived, and what the source says of its rate.
///
/// - Writer: ingest, once for each original, and for each packet (``heard``).
/// - Readers: enhance (``newest``, for a plan), encode (``expectation``, for the slots of a constant rate, and
///   ``declaredRate``, when it opens an encoder), send (``sourceOffset``, for a process that goes on after this one). Ingest
///   reads ``declaredRate`` itself, for pictures without stamps.
/// - Read together: all fields of ``newest`` describe the same moment.
///
/// Thread-safe; each call holds a lock for well under a microsecond, or loads an atomic (``heard``).
final class Arrivals: Sendable {
    /// How many originals have arrived since the stream began, when the newest of them must be emitted, and the budget in that
    /// time. `isEarly`: it came earlier than its presentation time asks.
    struct Newest {
        var count = 0
        var emitBy = MonotonicTime(nanoseconds: 0)
        var budget = Nanoseconds.zero
        var isEarly = false
    }

    private struct State {
        var newest = Newest()
        var expectation = Expectation()
        var declaredRate: Rational?
        var sourceOffset: Int64 = 0
    }

    private let state = Lock(State())
    private let lastHeard = Atomic<Int64>(0)

    /// When the newest packet of the source came, of whatever it was. A shared screen that stands still has no pictures for a while.
    var heard: MonotonicTime {
        get { MonotonicTime(nanoseconds: lastHeard.load(ordering: .relaxed)) }
        set { lastHeard.store(newValue.nanoseconds, ordering: .relaxed) }
    }

    /// Records an original.
    /// - Parameters:
    ///   - output: its time on the output's time line.
    ///   - budget: the part of `emitBy` that is the operator's setting, less what the deadlines have caught up of early frames.
    ///   - isEarly: whether it came earlier than its presentation time asks.
    ///   - arrival: when it arrived. A slot beyond it does not become due before, even if the original came late.
    ///   - sourceOffset: ticks that its output time is ahead of the source's stamp.
    func record(
        _ output: MediaTime, emitBy: MonotonicTime, budget: Nanoseconds = .zero, isEarly: Bool = false,
        arrival: MonotonicTime, sourceOffset: Int64 = 0
    ) {
        state.withLock { state in
            state.sourceOffset = sourceOffset
            state.newest = Newest(count: state.newest.count + 1, emitBy: emitBy, budget: budget, isEarly: isEarly)
            state.expectation.observe(output, emitBy: max(emitBy, arrival))
        }
    }

    /// Records an original that is bypassed: nothing waits for it.
    func record(sourceOffset: Int64) { state.withLock { $0.sourceOffset = sourceOffset } }

    var newest: Newest { state.withLock { $0.newest } }

    /// Ticks that the newest original's output time is ahead of the source's stamp.
    var sourceOffset: Int64 { state.withLock { $0.sourceOffset } }

    /// What the source is expected to bring next.
    var expectation: Expectation { state.withLock { $0.expectation } }

    /// Frames a second, as the source's headers say; nil while they say nothing.
    var declaredRate: Rational? {
        get { state.withLock { $0.declaredRate } }
        set { state.withLock { $0.declaredRate = newValue } }
    }
}
