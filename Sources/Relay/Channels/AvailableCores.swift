import Media
import Schedule

/// Channel: the cores that this stream may count on.
///
/// - Writers: the observer (the thread that calls ``Relay/run(observe:)``), which measures what other programs leave every
///   ``CoreShare/samplePeriod``; and a supervisor that divides the machine between its streams (``Relay/use(_:)``).
/// - Reader: enhance, for a plan.
/// - Read together: the figures of ``Cores``.
///
/// Thread-safe; each call holds a lock for well under a microsecond.
final class AvailableCores: Sendable {
    /// A deal that is not renewed within this time no longer holds: its supervisor has gone.
    static let dealTimeout = Nanoseconds.seconds(3)

    private struct State {
        var measured: Cores
        var deal: (cores: Cores, until: MonotonicTime)?
    }

    private let state: Lock<State>

    init(_ cores: Cores) { state = Lock(State(measured: cores)) }

    /// What was dealt, or else what was measured.
    func cores(at now: MonotonicTime) -> Cores {
        state.withLock { state in
            if let deal = state.deal, now < deal.until { return deal.cores }
            return state.measured
        }
    }

    func record(measured cores: Cores) { state.withLock { $0.measured = cores } }

    /// - Parameter cores: nil ends the deal.
    func deal(_ cores: Cores?, at now: MonotonicTime) {
        state.withLock { $0.deal = cores.map { ($0, now + Self.dealTimeout) } }
    }
}
