import Media

/// How many of the processors that this process may use are idle. Not thread-safe; no call allocates.
public struct MachineUsage: ~Copyable {
    private var idle: IdleTime
    private var last: (time: MonotonicTime, idle: Nanoseconds)?

    public init() { idle = IdleTime(of: ProcessorLimit.current.numbers) }

    /// The cores that were idle since the last call; nil at the first, and where the system does not tell.
    public mutating func idleCores(at now: MonotonicTime) -> Double? {
        guard let idle = idle.read() else { return nil }
        defer { last = (now, idle) }
        guard let last, now > last.time else { return nil }
        return max(0, (idle - last.idle).seconds / (now - last.time).seconds)
    }
}
