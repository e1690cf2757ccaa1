import Glibc
import Media

/// One thread that waits for descriptors and for a time, and on which an actor runs.
///
/// The actor names the loop as its executor. What it does for a descriptor or for the time then needs no hop to another
/// thread: the loop calls the handler, which may use `assumeIsolated`. The thread starts with the first job or descriptor.
///
/// Thread-safe.
final class EventLoop: SerialExecutor {
    /// What `poll` says of a descriptor: `POLLIN`, `POLLOUT`, `POLLHUP`, `POLLERR`.
    typealias Handler = @Sendable (Int16) -> Void

    private struct Source {
        /// Tells a source from a later one whose descriptor has the same number.
        var token: UInt64
        var events: Int16
        var handler: Handler
    }

    private struct Timer {
        var time: MonotonicTime
        var handler: @Sendable () -> Void
    }

    private struct State: ~Copyable {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var sources: [Int32: Source] = [:]
        var timer: Timer?
        var lastToken: UInt64 = 0
        /// The thread that runs the loop; nil while none does.
        var thread: pthread_t?
        var isStarting = false
        var isStopped = false
    }

    private let name: String
    private let state = Lock(State())
    /// Both ends of a pipe: a byte in it ends the wait.
    private let (wakeUpEnd, waitEnd): (Int32, Int32)

    init(name: String) {
        self.name = name
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let code = unsafe socketpair(AF_UNIX, type, 0, &ends)
        precondition(code == 0, "no descriptors for the event loop: error \(errno)")
        (wakeUpEnd, waitEnd) = (ends[0], ends[1])
    }

    deinit {
        close(wakeUpEnd)
        close(waitEnd)
    }

    // MARK: The executor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        startOrWake()
    }

    func checkIsolated() { precondition(isCurrent, "this must run on the event loop '\(name)'") }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private var isCurrent: Bool { state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

    // MARK: Descriptors and time

    /// Calls `handler` on the loop's thread whenever the descriptor is ready, until ``forget(_:)``.
    /// - Parameter descriptor: stays the caller's, who calls ``forget(_:)`` before closing it.
    /// - Parameter events: `POLLIN`, `POLLOUT`, or both. `POLLHUP` and `POLLERR` always count.
    func watch(_ descriptor: Int32, for events: Int32 = Int32(POLLIN), _ handler: @escaping Handler) {
        state.withLock {
            $0.lastToken += 1
            $0.sources[descriptor] = Source(token: $0.lastToken, events: Int16(events), handler: handler)
        }
        startOrWake()
    }

    /// Changes what a watched descriptor is watched for.
    func watch(_ descriptor: Int32, for events: Int32) {
        let isChange = state.withLock { state in
            guard state.sources[descriptor] != nil, state.sources[descriptor]?.events != Int16(events) else { return false }
            state.sources[descriptor]?.events = Int16(events)
            return true
        }
        if isChange { startOrWake() }
    }

    func forget(_ descriptor: Int32) { state.withLock { $0.sources[descriptor] = nil } }

    /// Calls `handler` once on the loop's thread when the time has come. A second call replaces the first.
    func setTimer(at time: MonotonicTime, _ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.timer = Timer(time: time, handler: handler) }
        startOrWake()
    }

    /// Calls `body` once on the loop's thread, soon.
    func execute(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.calls.append(body) }
        startOrWake()
    }

    /// Forgets all descriptors and the time. The thread ends. Jobs that come later still run, each on a thread for as long as
    /// there are some.
    func stop() {
        state.withLock {
            $0.isStopped = true
            $0.sources = [:]
            $0.timer = nil
        }
        startOrWake()
    }

    // MARK: The thread

    private func startOrWake() {
        enum Need { case nothing, thread, wakeUp }
        let need = state.withLock { state -> Need in
            if let thread = state.thread { return pthread_equal(thread, pthread_self()) != 0 ? .nothing : .wakeUp }
            if state.isStarting { return .nothing }
            state.isStarting = true
            return .thread
        }
        switch need {
        case .nothing: break
        case .thread: StageThread(name: name) { [self] in run() }.detach()
        case .wakeUp:
            var byte: UInt8 = 1
            _ = unsafe write(wakeUpEnd, &byte, 1)
        }
    }

    private func run() {
        state.withLock {
            $0.thread = pthread_self()
            $0.isStarting = false
        }
        while runJobs() {
            let now = MonotonicTime.now()
            let due = state.withLock { state -> Timer? in
                guard let timer = state.timer, timer.time <= now else { return nil }
                state.timer = nil
                return timer
            }
            due?.handler()
            wait()
        }
    }

    /// Runs what waits now. What it adds waits for the next turn, so that timers and descriptors get theirs between.
    /// - Returns: false when the loop was stopped and nothing is left to do.
    private func runJobs() -> Bool {
        let (jobs, calls, isDone) = state.withLock { state -> ([UnownedJob], [@Sendable () -> Void], Bool) in
            let (jobs, calls) = (state.jobs, state.calls)
            state.jobs = []
            state.calls = []
            let isDone = jobs.isEmpty && calls.isEmpty && state.isStopped
            if isDone { state.thread = nil }
            return (jobs, calls, isDone)
        }
        if isDone { return false }
        for call in calls { call() }
        for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
        return true
    }

    /// Waits for a descriptor, the time or a wake-up, and calls the handlers of the descriptors that are ready.
    private func wait() {
        let (watched, tokens, timeout) = state.withLock { state -> ([pollfd], [UInt64], Int32) in
            var watched = [pollfd(fd: waitEnd, events: Int16(POLLIN), revents: 0)]
            var tokens: [UInt64] = [0]
            for (descriptor, source) in state.sources {
                watched.append(pollfd(fd: descriptor, events: source.events, revents: 0))
                tokens.append(source.token)
            }
            guard state.jobs.isEmpty, state.calls.isEmpty, !state.isStopped else { return (watched, tokens, 0) }
            let left = state.timer.map { ($0.time - .now()).count }
            return (watched, tokens, left.map { Int32(clamping: (max($0, 0) + 999_999) / 1_000_000) } ?? -1)
        }
        var ready = watched
        guard unsafe poll(&ready, nfds_t(ready.count), timeout) > 0 else { return }
        if ready[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 64)
            while unsafe read(waitEnd, &bytes, bytes.count) == bytes.count {}
        }
        for (each, token) in zip(ready, tokens).dropFirst() where each.revents != 0 {
            // A handler before may have forgotten this one, or put another in its place.
            let handler = state.withLock { state in
                state.sources[each.fd].flatMap { $0.token == token ? $0.handler : nil }
            }
            handler?(each.revents)
        }
    }
}
