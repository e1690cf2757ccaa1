import Machine
import Media
import WorkerProtocol

/// Whether the machine has time for what is made later. A pure value.
struct IdleJudge: Sendable {
    /// So many cores must have been idle for the work to begin.
    static let idleCores = 0.5
    /// So many seconds without a lost frame let it go on.
    static let calmTicks = 3

    private var lost: UInt64?
    private var calm = Self.calmTicks
    private var idle: Double?

    /// Call it each second.
    /// - Parameters:
    ///   - idle: the cores that the service could have used beyond what it did, the work aside; nil where that is not known.
    ///   - lost: the frames that all streams have lost for want of time so far.
    mutating func observe(idle: Double?, lost: UInt64) {
        calm = lost > self.lost ?? lost ? 0 : min(calm + 1, Self.calmTicks)
        (self.lost, self.idle) = (lost, idle)
    }

    /// Frames were lost: the work must stand still.
    var isTight: Bool { calm < Self.calmTicks }
    /// There is time to begin.
    var isIdle: Bool { !isTight && idle ?? Self.idleCores >= Self.idleCores }
}

/// What is made later, and the one process that makes it. Confined to the supervisor.
final class DeferredWork {
    /// Who waits for the final still, or for the time to be over.
    struct Waiter {
        var stream: String
        var number: Int
        var due: MonotonicTime
        var waiter: CheckedContinuation<Void, Never>
    }

    var queue = DeferredQueue()
    var folder: DeferredFolder?
    var judge = IdleJudge()
    var usage = ProcessUsage()
    var process: WorkerProcess?
    /// What the process makes, or what it made while its file is given its place.
    var current: DeferredFolder.Entry?
    var startedAt = MonotonicTime(nanoseconds: 0)
    var isPaused = false
    /// The process was killed for this reason.
    var complaint: String?
    var lines = LineReader()
    var waiters: [Waiter] = []
    /// What the streams said last of their readiness.
    var readiness: [String: CaptureReadiness] = [:]

    /// One that takes longer, pauses aside, has failed.
    static func longestRun(of kind: DeferredJob.Kind) -> Nanoseconds { .seconds(kind == .still ? 900 : 4 * 3600) }
}
