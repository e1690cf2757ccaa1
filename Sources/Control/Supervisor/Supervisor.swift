import Endpoint
import Foundation
import Glibc
import Logging
import Machine
import Media
import Schedule
import Settings
import ServiceConfiguration
import Telemetry
import WorkerProtocol

/// Runs every stream in a worker process, and replaces workers that end, hang or speak nonsense.
///
/// Decisions are made by pure values (``WorkerLifecycle``, ``StreamLifecycle``, ``WorkerGroups``). This actor tells them what
/// happened and does what they say. It runs on a thread of its own, which also waits for the workers' descriptors, so it must
/// not block: names are resolved and reports written on other threads.
public actor Supervisor {
    /// What surrounds the supervisor.
    public struct Surroundings: Sendable {
        /// The program that is started as `burnish worker`.
        public var worker: String
        /// The environment of workers.
        public var environment: [String: String]
        /// Where crash reports are kept; nil keeps none.
        public var stateDirectory: String?
        /// Where the service is found by others; nil where it is not.
        public var runtime: RuntimeFolder?
        /// Reads the configuration again.
        public var load: @Sendable () async throws(ConfigurationFaults) -> ServiceConfiguration
        var limits = WorkerLifecycle.Limits()
        /// How long a worker may take to answer a request.
        var requestTimeout = Nanoseconds.seconds(3)
        /// Makes a stream's telemetry map.
        var makeMap: @Sendable (String) throws(TelemetryMapError) -> StreamMap = { (name) throws(TelemetryMapError) in
            try StreamMap(stream: name)
        }

        public init(
            worker: String, environment: [String: String] = [:], stateDirectory: String? = nil,
            runtime: RuntimeFolder? = nil,
            load: @escaping @Sendable () async throws(ConfigurationFaults) -> ServiceConfiguration
        ) {
            self.worker = worker
            self.environment = environment
            self.stateDirectory = stateDirectory
            self.runtime = runtime
            self.load = load
        }
    }

    public nonisolated let events: EventLog
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    nonisolated let loop = EventLoop(name: "supervisor")
    let surroundings: Surroundings
    let logger: Logger
    let manager: ServiceManager
    let resolver: NameService
    let reports: CrashReports?
    /// Keeps the streams that the API makes; nil without a state directory.
    let keeper: KeptStreamsFile?
    /// Streams that the file keeps and that do not run.
    var leftOut: [KeptStream] = []

    var configuration: ServiceConfiguration
    /// What else follows the configuration.
    var follow: (@Sendable (ServiceConfiguration) throws(ServiceFault) -> Void)?
    /// The streams of the configuration that was applied last. One that the API removed stays away until the file has news of it.
    var configuredBefore: [String: StreamDefinition] = [:]
    var supervised: [String: SupervisedStream] = [:]
    /// Streams of the configuration that could not be added for want of memory or descriptors. They are tried again each second.
    var postponed: [StreamDefinition] = []
    var workers: [Int: SupervisedWorker] = [:]
    var requests: PendingRequests
    var calls = CallRegistry()
    var roomGuests = RoomRegistry()
    var madeRooms = MadeRooms()
    var clips = PendingClips()
    let deferred = DeferredWork()
    var lastReload = ReloadOutcome()
    let reloadTurn = Turn()
    /// Who waits until the streams have settled, and until when.
    var settlers: [(due: MonotonicTime, waiter: CheckedContinuation<Void, Never>)] = []
    /// A call that nobody answers is given up after three seconds, and then it is known.
    static let settlingTime = Nanoseconds.seconds(5)
    /// Who gets how much of the machine.
    private var sharing = CoreSharing()
    var admission = Admission()
    private var machine = MachineUsage()
    private var own = ProcessUsage()
    /// What the service and its workers may use.
    let capacity = Capacity(cores: ProcessorLimit.current.share)

    private var lastWorker = 0
    private var nextTick: MonotonicTime?
    private var lastTick: MonotonicTime?
    private var nextAlive: MonotonicTime?
    private var lastStatus = ""
    var isEnding = false
    private var endWaiters: [CheckedContinuation<Void, Never>] = []

    /// - Parameter configuration: its streams start with ``start()``.
    public init(
        _ configuration: ServiceConfiguration, _ surroundings: Surroundings, manager: ServiceManager, logger: Logger,
        events: EventLog = EventLog()
    ) {
        self.init(configuration, surroundings, manager: manager, logger: logger, events: events, resolver: NameService())
    }

    init(
        _ configuration: ServiceConfiguration, _ surroundings: Surroundings, manager: ServiceManager, logger: Logger,
        events: EventLog, resolver: NameService
    ) {
        self.configuration = configuration
        self.surroundings = surroundings
        requests = PendingRequests(timeout: surroundings.requestTimeout)
        self.manager = manager
        self.logger = logger
        self.events = events
        self.resolver = resolver
        keeper = surroundings.stateDirectory.map { KeptStreamsFile(folder: $0) }
        reports = surroundings.stateDirectory.map { folder in
            CrashReports(folder: folder + "/crashes") { logger.error("\($0)") }
        }
    }

    // MARK: Beginning and end

    /// Starts the streams of the configuration.
    public func start() {
        record(.serviceStarted, "the service has started")
        let now = MonotonicTime.now()
        nextTick = now + Self.tickInterval
        nextAlive = manager.watchdogInterval.map { _ in now }
        apply(configuration)
        addKept()
        regroup()
        findDeferred()
        turn()
    }

    /// Ends every worker cleanly, those that do not end within their time by force. Nothing starts after that.
    public func end() async {
        guard !isEnding else { return }
        isEnding = true
        record(.serviceEnding, "the service ends")
        requests.failAll(ServiceFault(.unavailable, "the service ends"))
        settle()
        for worker in Array(workers.values) { updateNeed(of: worker) }
        stopDeferred("the service ends")
        answerWaiters { _ in true }
        if hasProcesses { await withCheckedContinuation { endWaiters.append($0) } }
        for name in supervised.keys { surroundings.runtime?.withdraw(name) }
        reports?.finish()
        events.finish()
        loop.stop()
    }

    /// Has something else follow the configuration, too.
    /// - Parameter apply: is called with each new configuration before the streams follow it. When it throws, the old one stays.
    public func follow(_ apply: @escaping @Sendable (ServiceConfiguration) throws(ServiceFault) -> Void) { follow = apply }

    private var hasProcesses: Bool { !workers.isEmpty || deferred.process != nil }

    /// Called when a worker has gone.
    func workerLeft() {
        guard isEnding, !hasProcesses else { return }
        for waiter in endWaiters { waiter.resume() }
        endWaiters = []
    }

    // MARK: Time

    /// Between two readings of the streams' maps.
    static let tickInterval = Nanoseconds.seconds(1)

    /// Does what is due.
    func turn() {
        let now = MonotonicTime.now()
        for worker in Array(workers.values) { if let due = worker.lifecycle.due, due <= now { tell(worker, .time) } }
        for stream in Array(supervised.values) { if let due = stream.lifecycle.due, due <= now { tell(stream, .time) } }
        requests.expire(now)
        answerWaiters { $0.due <= now }
        if let due = nextTick, due <= now {
            // On whole seconds, as the pings are, so that the supervisor wakes once for all.
            let interval = Self.tickInterval.count
            nextTick = MonotonicTime(nanoseconds: (now.nanoseconds / interval + 1) * interval)
            tick(now)
        }
        if let interval = manager.watchdogInterval, let due = nextAlive, due <= now {
            nextAlive = now + interval
            manager.isAlive()
        }
        setTimer()
    }

    /// Sets the time of the next turn. Call it after everything that may change what is waited for.
    func setTimer() {
        var due = [nextTick, nextAlive, requests.due].compactMap { $0 }
        due += workers.values.compactMap(\.lifecycle.due)
        due += supervised.values.compactMap(\.lifecycle.due)
        due += deferred.waiters.map(\.due)
        guard let next = due.min() else { return }
        loop.setTimer(at: next) { [weak self] in self?.assumeIsolated { $0.turn() } }
    }

    /// Answers those who wait for the streams to settle, where they have or the time is over.
    func settle() {
        guard !settlers.isEmpty else { return }
        let now = MonotonicTime.now()
        let isSettled = isEnding || supervised.values.allSatisfy { $0.condition.isSettled(facts(of: $0), calling: calling($0)) }
        for settler in settlers where isSettled || settler.due <= now { settler.waiter.resume() }
        settlers.removeAll { isSettled || $0.due <= now }
    }

    /// The outputs of a stream that call and are not connected.
    private func calling(_ stream: SupervisedStream) -> [Int] {
        let figures = stream.map.reader.snapshot().outputs
        return stream.definition.outputs.enumerated().compactMap { index, leg in
            guard case .srt(let endpoint) = leg.url, endpoint.mode != .listener else { return nil }
            return figures.indices.contains(index) && figures[index].state == .connected ? nil : index
        }
    }

    private func tick(_ now: MonotonicTime) {
        addPostponed()
        settle()
        tidyRooms(at: now)
        let wallOffset = Date().timeIntervalSince1970 - now.seconds
        var demands: [String: CoreSharing.Demand] = [:]
        for stream in supervised.values {
            let snapshot = stream.map.reader.snapshot()
            stream.flow.observe(snapshot.books.originals, at: now)
            stream.isInputConnected = snapshot.inputLeg.isConnected
            stream.recording.asked = 0
            tidyRecording(of: stream, at: now)
            stream.coresNeeded = snapshot.gauges.coresLeast
            stream.meters.observe(snapshot, at: now)
            stream.history.observe(snapshot, state(of: stream), at: now, wallOffset: wallOffset)
            tell(stream, .flowing(stream.flow.isFlowing))
            record(stream.gate.expire(now), of: stream)
            demands[stream.name] = CoreSharing.Demand(
                least: snapshot.gauges.coresLeast, synthesising: snapshot.gauges.coresSynthesising,
                isFlowing: stream.flow.isFlowing,
                lost: snapshot.books.originalsDropped(.late) + snapshot.books.originalsDropped(.overload),
                isComing: snapshot.inputLeg.isConnected && snapshot.gauges.coresLeast == 0
                    && stream.definition.values.settings.mode != .bypass)
        }
        for worker in workers.values {
            worker.messages = 0
            worker.usage.observe(worker.process.flatMap { ProcessUsage.seconds(of: $0.identifier) }, at: now)
            worker.use.observe(worker.usage.cores)
            let flows = supervised.values.contains { $0.worker == worker.number && $0.flow.isFlowing }
            tell(worker, .flowing(flows))
        }
        limit(&demands)
        judge(demands, at: now)
        own.observe(ProcessUsage.seconds(of: getpid()), at: now)
        let ours = workers.values.reduce(own.cores) { $0 + $1.usage.cores }
        let seconds = lastTick.map { (now - $0).seconds } ?? 0
        lastTick = now
        // What is made later takes only what the streams leave.
        let idle = machine.idleCores(at: now).map { $0 + deferred.usage.cores }
        let figures = CoreSharing.Machine(cores: capacity.cores, ours: ours, idle: idle)
        for (name, share) in sharing.shares(of: demands, on: figures, seconds: seconds) {
            guard let stream = supervised[name], let worker = workers[stream.worker], worker.started.contains(name) else {
                continue
            }
            send(.share(stream: name, dealt: share.dealt, optional: share.optional, room: share.room), to: worker)
        }
        tickDeferred(idle: figures.idle, lost: demands.values.reduce(0) { $0 + $1.lost }, at: now)
        let status = statusLine
        if status != lastStatus { manager.status(status) }
        lastStatus = status
    }

    /// A worker's own figure counts only as far as the processor time that it uses bears it out: one that was taken over must
    /// not keep others from the machine by saying that it needs all of it.
    private func limit(_ demands: inout [String: CoreSharing.Demand]) {
        for worker in workers.values {
            let names = streams(of: worker).map(\.name)
            let limit = worker.use.limit(of: names.map { demands[$0]?.least ?? 0 })
            for name in names { demands[name]?.least *= limit }
        }
    }

    /// Refuses or lowers streams that the machine cannot carry.
    private func judge(_ demands: [String: CoreSharing.Demand], at now: MonotonicTime) {
        let needs = demands.filter { $0.value.isFlowing && $0.value.least > 0 }.mapValues(\.least)
        for (name, verdict) in admission.judge(needs, capacity, at: now) {
            guard case .tooMuch(let figures) = verdict, let stream = supervised[name] else { continue }
            if stream.seat != nil, pass(stream, because: figures, at: now) { continue }
            if configuration.admission == .lower, lower(stream, because: figures) { continue }
            record(.refused, stream: name, "the machine cannot carry it: \(figures)")
            tell(stream, .refused("the machine cannot carry it: \(figures)"))
        }
    }

    /// One line for `systemctl status`.
    var statusLine: String {
        var counts: [StreamStatus.State: Int] = [:]
        for stream in supervised.values { counts[state(of: stream), default: 0] += 1 }
        let parts = StreamStatus.State.allCases.compactMap { state in
            counts[state].map { "\($0) \(state == .backingOff ? "backing off" : state.rawValue)" }
        }
        let total = supervised.count == 1 ? "1 stream" : "\(supervised.count) streams"
        let fault = lastReload.isGood ? "" : "; the last reload failed"
        return (parts.isEmpty ? "no streams" : "\(total): " + parts.joined(separator: ", ")) + fault
    }

    // MARK: Events

    /// - Parameter isUsual: nobody needs to be warned.
    func record(_ kind: EventKind, stream: String? = nil, _ text: String, isUsual: Bool = false) {
        events.record(kind, stream: stream, text)
        logger.log(
            level: isUsual ? min(kind.level, .notice) : kind.level, "\(text)",
            metadata: stream.map { ["stream": "\($0)", "event": "\(kind)"] } ?? ["event": "\(kind)"])
    }

    func newWorker() -> SupervisedWorker {
        lastWorker += 1
        let worker = SupervisedWorker(number: lastWorker, limits: surroundings.limits)
        workers[lastWorker] = worker
        return worker
    }
}

/// What became of the last reload.
struct ReloadOutcome: Sendable {
    var isGood = true
    /// Seconds since 1970; 0 before the first.
    var time = 0.0
    /// Why it failed, or what changed.
    var reason = ""
}

extension EventKind {
    var level: Logger.Level {
        switch self {
        case .crashed, .reloadFailed: .error
        case .backingOff, .stopped, .refused, .inputDown, .outputDown, .inputRefused, .outputRefused, .inputGap,
            .recordingFailed:
            .warning
        case .serviceStarted, .serviceEnding, .reloaded, .added, .removed, .changed, .started, .restarted, .ended, .inputUp,
            .outputUp, .still, .clip, .recording, .guest:
            .notice
        case .picture, .rung, .message, .reaction: .info
        // `changed` has said it already.
        case .settings, .readiness: .debug
        }
    }
}
