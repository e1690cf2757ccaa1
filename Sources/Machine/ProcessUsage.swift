import Glibc
import Media

/// How much processor time a process uses, read from `/proc`.
public struct ProcessUsage: Hashable, Sendable {
    private var last: (seconds: Double, at: MonotonicTime)?
    /// Cores in use between the last two readings.
    public private(set) var cores = 0.0

    public static func == (a: Self, b: Self) -> Bool { a.cores == b.cores && a.last?.at == b.last?.at }
    public func hash(into hasher: inout Hasher) { hasher.combine(cores) }

    public init() {}

    /// - Parameter seconds: processor time since the process began; nil where it is not known.
    public mutating func observe(_ seconds: Double?, at now: MonotonicTime) {
        guard let seconds else {
            self = ProcessUsage()
            return
        }
        if let last, now > last.at { cores = max(seconds - last.seconds, 0) / (now - last.at).seconds }
        last = (seconds, now)
    }

    /// The processor time of a process, with that of the threads that have ended.
    public static func seconds(of process: pid_t) -> Double? {
        let file = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(file, &bytes, bytes.count)
        return count > 0 ? seconds(in: String(decoding: bytes[..<count], as: UTF8.self)) : nil
    }

    /// - Parameter text: of `/proc/PID/stat` (proc(5)).
    static func seconds(in text: String) -> Double? {
        // The second field is the program's name in parentheses. It may hold anything.
        guard let name = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        return (user + system) / Double(ticksPerSecond)
    }

    private static let ticksPerSecond = max(sysconf(Int32(_SC_CLK_TCK)), 1)
}
