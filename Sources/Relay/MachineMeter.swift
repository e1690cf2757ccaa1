import Glibc
import Media
import Schedule

/// Looks at what everything else on the machine keeps busy: Linux's /proc/stat less this process's own time. Time that a
/// host takes from a virtual machine counts as others'.
///
/// Confined to the thread that runs the relay's observations. A sample allocates nothing.
@safe struct MachineMeter: ~Copyable {
    private let file: Int32
    private var share: CoreShare
    private let cores: Double
    private var last: (time: MonotonicTime, idle: Nanoseconds, own: Nanoseconds)?

    /// - Parameters:
    ///   - cores: those that this process may use.
    ///   - threads: its own that are busy side by side.
    init(cores: Int, threads: Int) {
        file = unsafe open("/proc/stat", O_RDONLY | O_CLOEXEC)
        share = CoreShare(cores: cores, threads: threads)
        self.cores = Double(cores)
    }

    deinit { if file >= 0 { _ = close(file) } }

    /// The cores that this process may count on; nil where the system does not say.
    mutating func sample() -> Double? {
        guard let idle = idle() else { return nil }
        var used = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        let own = Nanoseconds(Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec))
        let now = MonotonicTime.now()
        defer { last = (now, idle, own) }
        guard let last, now > last.time else { return nil }
        let length = (now - last.time).seconds
        // Where the process is confined to some of the machine's processors, the others' idling is more than it can use.
        let free = min((idle - last.idle).seconds / length, cores)
        return share.note(usedByOthers: cores - free - (own - last.own).seconds / length)
    }

    /// What all processors together have idled since the start of the machine.
    private func idle() -> Nanoseconds? {
        var bytes = InlineArray<256, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let count = unsafe span.withUnsafeMutableBytes { unsafe pread(file, $0.baseAddress, $0.count, 0) }
        return count > 0 ? Self.idle(in: bytes.span.extracting(..<count)) : nil
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
