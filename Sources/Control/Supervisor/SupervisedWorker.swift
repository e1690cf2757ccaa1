import Machine
import Media
import ServiceConfiguration
import WorkerProtocol

/// A worker as its supervisor keeps it.
final class SupervisedWorker {
    let number: Int
    var lifecycle: WorkerLifecycle
    /// What happened and was not told to the lifecycle yet, and whether that is being done.
    var inputs: [WorkerLifecycle.Input] = []
    var isTelling = false
    var process: WorkerProcess?
    var startedAt = MonotonicTime(nanoseconds: 0)
    var lines = LineReader()
    /// Whether the present process has said hello.
    var isGreeted = false
    /// The streams that the present process was told to start, and that have not ended in it.
    var started: Set<String> = []
    /// The streams that it was told to stop because they were removed or moved, and that have not ended yet.
    var leaving: Set<String> = []
    /// Whether the present process was told to start any.
    var hasStarted = false
    /// Messages that came since the last tick.
    var messages = 0
    /// Processor time at the last tick, and cores in use since the one before.
    var usage = ProcessUsage()
    /// The same, over some seconds.
    var use = UsedCores()

    init(number: Int, limits: WorkerLifecycle.Limits) {
        self.number = number
        lifecycle = WorkerLifecycle(limits)
    }
}

/// A stream as its supervisor keeps it.
final class SupervisedStream {
    var definition: StreamDefinition
    /// What the configuration file said of it when it was read last; nil where the file does not name it.
    var configured: StreamDefinition?
    /// The settings that the API gave it.
    var given: Set<String> = []
    /// A file keeps it over restarts of the service.
    var isKept = false
    var lifecycle = StreamLifecycle()
    /// The number of its worker.
    var worker: Int
    let map: StreamMap
    /// The ports that its worker reported.
    var inputPort: UInt16?
    var outputPorts: [UInt16] = []
    /// How often its start was begun.
    var starts = 0
    /// How often it was started again.
    var restarts = 0
    var startedAt: MonotonicTime?
    /// At the last tick.
    var isInputConnected = false
    /// What it must have of the machine, in cores, at the last tick.
    var coresNeeded = 0.0
    var flow = FlowObserver()
    /// Why it is as it is.
    var condition = StreamCondition()
    var gate = EventGate()
    var meters = StreamMeters()
    var history = StreamHistory()
    /// Reactions that run, or have run.
    var reactions: [RunningReaction] = []
    /// What its worker says of the input.
    var description: StreamDescription?
    var recording = StreamRecording()
    /// The seat of a room whose guest sends it; nil for other streams.
    var seat: Seat?
    /// Since when its pictures pass because the machine cannot carry more; nil while they need not.
    var passesSince: MonotonicTime?

    init(_ definition: StreamDefinition, worker: Int, map: StreamMap) {
        self.definition = definition
        self.worker = worker
        self.map = map
    }

    var name: String { definition.name }
}

/// Whether frames come in: decided from a counter that is read again and again.
struct FlowObserver: Hashable, Sendable {
    /// Without a frame for so long, a stream does not flow.
    static let limit = Nanoseconds.seconds(2)

    private var count: UInt64?
    /// When a frame was counted last; nil before the first.
    private(set) var last: MonotonicTime?
    private(set) var isFlowing = false

    /// - Parameter count: frames that came in, over the stream's life.
    mutating func observe(_ count: UInt64, at now: MonotonicTime) {
        if let before = self.count, count != before { last = now }
        self.count = count
        isFlowing = last.map { now - $0 < Self.limit } ?? false
    }
}
