import Glibc
import Media

/// Decides when a worker process is started, asked, ended, killed and replaced. A pure value: it is told what happened and
/// when, and answers with what to do.
///
/// ```
///            start                hello
///  absent ─────────▶ starting ─────────────▶ running ──┐ unwanted, or to be replaced: end
///    ▲  ▲               │                       │      ▼
///    │  │               │ no hello, silent,     │   ending ─────▶ (no exit in time)
///    │  │               │ stalled, broken       │                     │
///    │  │               └──────────▶ aborting ◀─┘ ◀───────────────────┘
///    │  │ unwanted                      │ exit
///    │  └───────────────────────────────┤
///    │                                  ▼
///    └── the time has come ───────── backingOff
/// ```
struct WorkerLifecycle: Sendable {
    /// How long to wait for what.
    struct Limits: Sendable {
        /// From the start of the process to its first message.
        var hello = Nanoseconds.seconds(10)
        /// Between two pings.
        var pingInterval = Nanoseconds.seconds(1)
        /// A worker that has not answered a ping for so long is replaced.
        var answerTimeout = Nanoseconds.seconds(5)
        /// A worker that names the same stalled stage for so long is replaced.
        var stallTimeout = Nanoseconds.seconds(5)
        /// From `end` to the exit of the process.
        var endTimeout = Nanoseconds.seconds(5)
        /// From the end of the channel to the exit of the process.
        var exitTimeout = Nanoseconds.milliseconds(500)
        /// From SIGABRT, which leaves a core file where the system wants one, to SIGKILL.
        var abortTimeout = Nanoseconds.seconds(1)
        /// The waits before replacements begin anew after so much flow without a failure.
        var flowUntilReset = Nanoseconds.seconds(60)
    }

    enum State: Hashable, Sendable {
        case absent, starting, running, ending, aborting
        case backingOff(until: MonotonicTime)

        /// Whether there is a process.
        var hasProcess: Bool {
            switch self {
            case .absent, .backingOff: false
            case .starting, .running, .ending, .aborting: true
            }
        }
    }

    enum Input: Hashable, Sendable {
        /// There are streams for it, or none any more.
        case wanted(Bool)
        /// Another process is wanted, without a failure.
        case replace
        case cannotStart(String)
        case hello
        case alive(id: UInt64, stalled: [String])
        /// The channel has ended.
        case closed
        /// It says what it must not say.
        case broken(String)
        case exited(ProcessExit)
        /// Whether frames flow through any of its streams.
        case flowing(Bool)
        /// Nothing but that time passes.
        case time
    }

    enum Action: Hashable, Sendable {
        /// Start a process. ``Input/cannotStart(_:)`` says that it failed.
        case start
        case ping(id: UInt64)
        /// Ask it to end.
        case end
        /// Send a signal to its process group.
        case signal(Int32)
        /// It has ended although it should not have, for this reason. What it leaves should be kept.
        case crashed(String)
        /// It has ended as it was asked to.
        case ended
        /// It will be replaced after a wait.
        case backOff(Nanoseconds)
    }

    private(set) var state = State.absent
    private(set) var isWanted = false
    /// Processes that ended although they should not have.
    private(set) var crashes = 0
    /// Processes started.
    private(set) var starts = 0

    private let limits: Limits
    private var backoff = RetryDelay()
    /// When the present wait ends.
    private var deadline: MonotonicTime?
    /// Why the process is to be aborted, or was.
    private var complaint: String?
    private var pings: [(id: UInt64, sent: MonotonicTime)] = []
    private var lastPing: UInt64 = 0
    private var nextPing: MonotonicTime?
    private var stalls: [String: MonotonicTime] = [:]
    private var flowingSince: MonotonicTime?
    private var isEndedByChannel = false

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// When ``Input/time`` is due; nil while nothing is waited for.
    var due: MonotonicTime? {
        switch (deadline, nextPing) {
        case (let a?, let b?): min(a, b)
        case (let a, let b): a ?? b
        }
    }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Action] {
        switch input {
        case .wanted(let wanted): return want(wanted, now)
        case .replace: return replace(now)
        case .cannotStart(let reason): return state == .starting ? failed("cannot start: \(reason)", now) : []
        case .hello:
            // One that is to end already may say it late.
            guard state == .starting else { return state == .running ? broken("it said hello twice", now) : [] }
            enter(.running, now, until: nil)
            return []
        case .alive(let id, let stalled): return answered(id, stalled, now)
        case .closed:
            guard state == .starting || state == .running else { return [] }
            // It is probably ending. Its exit says more.
            complaint = complaint ?? "it closed its channel and did not end"
            nextPing = nil
            deadline = min(deadline ?? now + limits.exitTimeout, now + limits.exitTimeout)
            isEndedByChannel = true
            return []
        case .broken(let what): return broken(what, now)
        case .exited(let exit): return exited(exit, now)
        case .flowing(let flows):
            flowingSince = flows ? flowingSince ?? now : nil
            if let flowingSince, now - flowingSince >= limits.flowUntilReset { backoff.reset() }
            return []
        case .time: return timePassed(now)
        }
    }

    private mutating func want(_ wanted: Bool, _ now: MonotonicTime) -> [Action] {
        isWanted = wanted
        switch (state, wanted) {
        case (.absent, true): return start(now)
        case (.backingOff, false):
            enter(.absent, now, until: nil)
            return []
        case (.starting, false), (.running, false): return end(now)
        default: return []
        }
    }

    private mutating func replace(_ now: MonotonicTime) -> [Action] {
        switch state {
        case .starting, .running: return end(now)
        case .backingOff:
            backoff.reset()
            return start(now)
        case .absent, .ending, .aborting: return []
        }
    }

    private mutating func start(_ now: MonotonicTime) -> [Action] {
        complaint = nil
        starts += 1
        enter(.starting, now, until: now + limits.hello)
        return [.start]
    }

    private mutating func end(_ now: MonotonicTime) -> [Action] {
        enter(.ending, now, until: now + limits.endTimeout)
        return [.end]
    }

    private mutating func broken(_ what: String, _ now: MonotonicTime) -> [Action] {
        switch state {
        case .starting, .running, .ending: abort(what, now)
        case .absent, .backingOff, .aborting: []
        }
    }

    private mutating func abort(_ complaint: String, _ now: MonotonicTime) -> [Action] {
        self.complaint = complaint
        enter(.aborting, now, until: now + limits.abortTimeout)
        return [.signal(SIGABRT)]
    }

    private mutating func exited(_ exit: ProcessExit, _ now: MonotonicTime) -> [Action] {
        switch state {
        case .absent, .backingOff: return []
        case .ending where exit.isClean:
            enter(.absent, now, until: nil)
            return [.ended] + (isWanted ? start(now) : [])
        case .aborting: return failed("\(complaint ?? "it was aborted"): \(exit)", now)
        case .starting, .running, .ending: return failed("\(exit)", now)
        }
    }

    private mutating func failed(_ reason: String, _ now: MonotonicTime) -> [Action] {
        crashes += 1
        guard isWanted else {
            enter(.absent, now, until: nil)
            return [.crashed(reason)]
        }
        let wait = backoff.next()
        if wait == .zero { return [.crashed(reason)] + start(now) }
        enter(.backingOff(until: now + wait), now, until: now + wait)
        return [.crashed(reason), .backOff(wait)]
    }

    private mutating func answered(_ id: UInt64, _ stalled: [String], _ now: MonotonicTime) -> [Action] {
        guard state == .running else { return [] }
        pings.removeAll { $0.id <= id }
        var still: [String: MonotonicTime] = [:]
        for name in stalled.prefix(64) { still[name] = stalls[name] ?? now }
        stalls = still
        return []
    }

    private mutating func timePassed(_ now: MonotonicTime) -> [Action] {
        if let deadline, deadline <= now {
            switch state {
            case .backingOff: return start(now)
            case .starting where isEndedByChannel, .running: return abort(complaint ?? "it ended its channel", now)
            case .starting: return abort("no hello within \(limits.hello.seconds) s of its start", now)
            case .ending: return abort("it did not end within \(limits.endTimeout.seconds) s of being asked to", now)
            case .aborting:
                self.deadline = nil
                return [.signal(SIGKILL)]
            case .absent: self.deadline = nil
            }
        }
        guard state == .running, let due = nextPing, due <= now else { return [] }
        // When the supervisor itself was not running, the worker's answers had no chance to be read.
        let late = now - due
        if late > limits.pingInterval {
            for index in pings.indices { pings[index].sent = pings[index].sent + late }
            stalls = stalls.mapValues { $0 + late }
        }
        if let stage = stalls.filter({ now - $0.value >= limits.stallTimeout }).keys.min() {
            return abort("its stage \(stage) has stood still for \(limits.stallTimeout.seconds) s", now)
        }
        if let oldest = pings.first, now - oldest.sent >= limits.answerTimeout {
            return abort("it has not answered for \(limits.answerTimeout.seconds) s", now)
        }
        lastPing += 1
        pings.append((lastPing, now))
        nextPing = pingTime(after: now)
        return [.ping(id: lastPing)]
    }

    /// All workers are asked at the same moments, so that the supervisor wakes once for all of them.
    private func pingTime(after now: MonotonicTime) -> MonotonicTime {
        let interval = limits.pingInterval.count
        return MonotonicTime(nanoseconds: (now.nanoseconds / interval + 1) * interval)
    }

    private mutating func enter(_ next: State, _ now: MonotonicTime, until limit: MonotonicTime?) {
        state = next
        deadline = limit
        isEndedByChannel = false
        pings = []
        stalls = [:]
        flowingSince = nil
        nextPing = next == .running ? pingTime(after: now) : nil
    }
}
