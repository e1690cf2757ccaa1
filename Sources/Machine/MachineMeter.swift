import Glibc
import Media
import Schedule

/// Measures how much other programs use of the processors that this process may use: what is not idle (``IdleTime``) less this
/// process's own time, and the number of threads that want to run anywhere (/proc/loadavg). Time that a host withholds from a
/// virtual machine counts as used by others.
///
/// Not thread-safe. No call allocates.
@safe public struct MachineMeter: ~Copyable {
    /// The time between two calls of ``sampleLoad()``: short enough to see the pauses of other programs, and not a multiple of
    /// a usual frame interval.
    public static let loadSampleInterval = Nanoseconds.milliseconds(23.0)

    private let loadavg: Int32
    private var idle: IdleTime
    private var fewestRunning: Int?
    private var share: CoreShare
    private let limit: ProcessorLimit
    private let cores: Double
    private var last: (time: MonotonicTime, idle: Nanoseconds, own: Nanoseconds)?

    /// - Parameters:
    ///   - limit: how much of the machine this process may use.
    ///   - threads: its own threads that are busy at the same time.
    public init(limit: ProcessorLimit, threads: Int) {
        self.init(limit: limit, threads: threads, idle: IdleTime(of: limit.numbers))
    }

    init(limit: ProcessorLimit, threads: Int, idle: consuming IdleTime) {
        self.idle = idle
        loadavg = unsafe open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
        self.limit = limit
        cores = Double(limit.cores)
        share = CoreShare(cores: limit.cores, threads: threads)
    }

    /// The processor time that this process had had at the last call of ``measureCores()``; nil before.
    public var processorTime: Nanoseconds? { last?.own }

    deinit { if loadavg >= 0 { _ = close(loadavg) } }

    /// Samples how many threads run or want to run.
    public mutating func sampleLoad() {
        var bytes = InlineArray<128, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let count = unsafe span.withUnsafeMutableBytes { unsafe pread(loadavg, $0.baseAddress, $0.count, 0) }
        guard count > 0, let running = Self.running(in: bytes.span.extracting(..<count)) else { return }
        // The calling thread is one of them.
        fewestRunning = min(fewestRunning ?? .max, max(0, running - 1))
    }

    /// The cores that this process may count on, measured since the last call. Nil at the first call and where the system does
    /// not tell. Call it every ``CoreShare/samplePeriod``.
    public mutating func measureCores() -> Cores? {
        var used = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        return measureCores(at: .now(), own: Nanoseconds(Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec)))
    }

    /// - Parameter own: the processor time of this process since its start.
    mutating func measureCores(at now: MonotonicTime, own: Nanoseconds) -> Cores? {
        guard let idle = idle.read() else { return nil }
        defer {
            last = (now, idle, own)
            fewestRunning = nil
        }
        guard let last, now > last.time else { return nil }
        let length = (now - last.time).seconds
        // A quota may leave fewer cores than are idle.
        let free = min((idle - last.idle).seconds / length, cores)
        let others = cores - free - (own - last.own).seconds / length
        let available = share.update(usedByOthers: others, fewestRunning: fewestRunning)
        // The quota may be a fraction of a core.
        return Cores(dealt: min(available.dealt, limit.share), spare: min(available.spare, limit.share))
    }

    /// The number before the slash in `0.20 0.18 0.12 1/80 11206`: the threads that run or want to run.
    static func running(in text: Span<UInt8>) -> Int? {
        var number: Int?
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "/"): return number
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                number = min((number ?? 0) * 10 + Int(text[index] - UInt8(ascii: "0")), 1 << 32)
            default: number = nil
            }
        }
        return nil
    }
}
