import Glibc
import Media

/// How many of the machine's cores are busy with anything, by Linux's /proc/stat. Not thread-safe; no call allocates.
@safe public struct MachineUsage: ~Copyable {
    private let stat: Int32
    /// All of the machine's processors, also those that this process may not use.
    public let processors: Double
    private var last: (time: MonotonicTime, idle: Nanoseconds)?

    public init() {
        stat = unsafe open("/proc/stat", O_RDONLY | O_CLOEXEC)
        // /proc/stat counts them all.
        processors = Double(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))
    }

    deinit { if stat >= 0 { _ = close(stat) } }

    /// The cores that were busy since the last call; nil at the first, and where the system does not tell.
    public mutating func busyCores(at now: MonotonicTime) -> Double? {
        guard let idle = MachineMeter.read(stat, { MachineMeter.idle(in: $0) }) else { return nil }
        defer { last = (now, idle) }
        guard let last, now > last.time else { return nil }
        return max(0, processors - (idle - last.idle).seconds / (now - last.time).seconds)
    }
}
