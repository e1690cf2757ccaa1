import Media

/// Decides when a stream is started, stopped and started again in its worker. A pure value, like ``WorkerLifecycle``.
struct StreamLifecycle: Sendable {
    enum State: Hashable, Sendable {
        /// Its worker does not run yet.
        case waitingForWorker
        /// The worker was told to start it.
        case starting
        case running
        /// The worker was told to stop it.
        case stopping
        /// It ended and is started again then.
        case backingOff(until: MonotonicTime)
        /// It has ended for good, or admission refused it. Only a change or a restart starts it again.
        case stopped(String)
    }

    enum Input: Hashable, Sendable {
        /// The worker has said hello.
        case workerReady
        case workerGone
        case started
        /// `code` is one of sysexits.
        case ended(code: Int32, reason: String)
        /// Start it again, with what it is defined as now.
        case restart
        case refused(String)
        case flowing(Bool)
        case time
    }

    enum Action: Hashable, Sendable {
        case start
        case stop
        /// It ended by itself and starts again after a wait.
        case backOff(Nanoseconds, String)
        /// It ended by itself, for good.
        case stopped(String)
    }

    private(set) var state = State.waitingForWorker
    private var backoff = RetryDelay()
    private var flowingSince: MonotonicTime?
    private var isWorkerReady = false
    private let flowUntilReset: Nanoseconds

    init(flowUntilReset: Nanoseconds = .seconds(60)) { self.flowUntilReset = flowUntilReset }

    /// When ``Input/time`` is due.
    var due: MonotonicTime? {
        if case .backingOff(let time) = state { return time }
        return nil
    }

    /// Whether it needs a worker.
    var needsWorker: Bool {
        if case .stopped = state { return false }
        return true
    }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Action] {
        switch input {
        case .workerReady:
            isWorkerReady = true
            return state == .waitingForWorker ? start() : []
        case .workerGone:
            isWorkerReady = false
            flowingSince = nil
            switch state {
            case .stopped: break
            case .waitingForWorker, .starting, .running, .stopping, .backingOff: state = .waitingForWorker
            }
            return []
        case .started:
            if state == .starting { state = .running }
            return []
        case .ended(let code, let reason): return ended(code, reason, now)
        case .restart: return restart()
        case .refused(let reason):
            let isStarted = state == .running || state == .starting
            state = .stopped(reason)
            return isStarted ? [.stop] : []
        case .flowing(let flows):
            flowingSince = flows ? flowingSince ?? now : nil
            if let flowingSince, now - flowingSince >= flowUntilReset { backoff.reset() }
            return []
        case .time:
            guard case .backingOff(let time) = state, time <= now else { return [] }
            state = .waitingForWorker
            return isWorkerReady ? start() : []
        }
    }

    private mutating func start() -> [Action] {
        state = .starting
        return [.start]
    }

    private mutating func restart() -> [Action] {
        switch state {
        case .starting, .running:
            state = .stopping
            return [.stop]
        case .backingOff, .stopped, .waitingForWorker:
            backoff.reset()
            state = .waitingForWorker
            return isWorkerReady ? start() : []
        case .stopping: return []
        }
    }

    private mutating func ended(_ code: Int32, _ reason: String, _ now: MonotonicTime) -> [Action] {
        switch state {
        case .stopping:
            state = .waitingForWorker
            return isWorkerReady ? start() : []
        case .starting, .running:
            flowingSince = nil
            if Self.isFinal(code) {
                state = .stopped(reason)
                return [.stopped(reason)]
            }
            let wait = backoff.next()
            state = .backingOff(until: now + wait)
            return [.backOff(wait, reason)]
        case .waitingForWorker, .backingOff, .stopped: return []
        }
    }

    /// The end of a file (0), and faults that another attempt does not cure: usage (64) and configuration (78).
    private static func isFinal(_ code: Int32) -> Bool { code == 0 || code == 64 || code == 78 }
}
