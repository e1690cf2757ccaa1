import Glibc
import Media
import Schedule

/// Measures how much of the machine other programs use: Linux's /proc/stat less this process's own time, and the number of
/// threads that want to run (/proc/loadavg). Time that a host withholds from a virtual machine counts as used by others.
///
/// Not thread-safe. No call allocates.
@safe public struct MachineMeter: ~Copyable {
    /// The time between two calls of ``sampleLoad()``: short enough to see the pauses of other programs, and not a multiple of
    /// a usual frame interval.
    public static let loadSampleInterval = Nanoseconds.milliseconds(23.0)

    private let stat, loadavg: Int32
    private var fewestRunning: Int?
    private var share: CoreShare
    private let limit: ProcessorLimit
    private let cores: Double
    private var last: (time: MonotonicTime, idle: Nanoseconds, own: Nanoseconds)?

    /// - Parameters:
    ///   - limit: how much of the machine this process may use.
    ///   - threads: its own threads that are busy at the same time.
    public init(limit: ProcessorLimit, threads: Int) {
        stat = unsafe open("/proc/stat", O_RDONLY | O_CLOEXEC)
        loadavg = unsafe open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
        self.limit = limit
        cores = Double(limit.cores)
        share = CoreShare(cores: limit.cores, threads: threads)
    }

    deinit { for file in [stat, loadavg] where file >= 0 { _ = close(file) } }

    /// Samples how many threads run or want to run.
    public mutating func sampleLoad() {
        guard let running = Self.read(loadavg, { Self.running(in: $0) }) else { return }
        // The calling thread is one of them.
        fewestRunning = min(fewestRunning ?? .max, max(0, running - 1))
    }

    /// The cores that this process may count on, measured since the last call. Nil at the first call and where the system does
    /// not tell. Call it every ``CoreShare/samplePeriod``.
    public mutating func measureCores() -> Cores? {
        guard let idle = idle() else { return nil }
        var used = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        let own = Nanoseconds(Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec))
        let now = MonotonicTime.now()
        defer {
            last = (now, idle, own)
            fewestRunning = nil
        }
        guard let last, now > last.time else { return nil }
        let length = (now - last.time).seconds
        // A process with a processor affinity cannot use the idle time of the other processors.
        let free = min((idle - last.idle).seconds / length, cores)
        let others = cores - free - (own - last.own).seconds / length
        let available = share.update(usedByOthers: others, fewestRunning: fewestRunning)
        // The quota may be a fraction of a core.
        return Cores(dealt: min(available.dealt, limit.share), spare: min(available.spare, limit.share))
    }

    /// The idle time of all processors together since the start of the machine.
    private func idle() -> Nanoseconds? { Self.read(stat) { Self.idle(in: $0) } }

    static func read<T>(_ file: Int32, _ parse: (Span<UInt8>) -> T?) -> T? {
        var bytes = InlineArray<256, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let count = unsafe span.withUnsafeMutableBytes { unsafe pread(file, $0.baseAddress, $0.count, 0) }
        return count > 0 ? parse(bytes.span.extracting(..<count)) : nil
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

    /// The fourth and fifth number of the first line, `cpu  user nice system idle iowait …`, in ticks of 10 ms.
    static func idle(in text: Span<UInt8>) -> Nanoseconds? {
        var field = 0
        var values: (idle: Int64, waiting: Int64) = (0, 0)
        var isInside = false
        for index in text.indices {
            let byte = text[index]
            if byte == UInt8(ascii: "\n") { break }
            if byte == UInt8(ascii: " ") {
                isInside = false
                continue
            }
            if !isInside { field += 1 }
            isInside = true
            guard field > 1 else { continue }
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            if field == 5 { values.idle = values.idle &* 10 &+ digit }
            if field == 6 { values.waiting = values.waiting &* 10 &+ digit }
        }
        // USER_HZ is 100 on every architecture that this runs on.
        return field > 5 ? Nanoseconds((values.idle &+ values.waiting) &* 10_000_000) : nil
    }
}
