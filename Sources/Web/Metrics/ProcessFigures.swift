import FoundationEssentials
import Glibc

/// What Linux says about this process (`/proc/self`). Nil where it does not say it.
struct ProcessFigures: Sendable {
    var cpuSeconds: Double?
    var residentBytes: Double?
    var virtualBytes: Double?
    var openDescriptors: Double?
    var mostDescriptors: Double?
    var threads: Double?
    /// Seconds since 1970.
    var startTime: Double?

    init() {}

    static func read() -> ProcessFigures {
        func file(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        var figures = ProcessFigures(
            stat: file("/proc/self/stat"), system: file("/proc/stat"), limits: file("/proc/self/limits"),
            ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))), pageSize: Double(sysconf(Int32(_SC_PAGESIZE))))
        // One of them is the folder's own.
        figures.openDescriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map {
            Double(max(0, $0.count - 1))
        }
        return figures
    }

    /// From the text of `/proc/self/stat`, `/proc/stat` and `/proc/self/limits` (proc(5)).
    init(stat: String, system: String, limits: String, ticksPerSecond: Double, pageSize: Double) {
        // The second field is the program's name between parentheses, which may hold anything; the third follows it.
        let fields = stat.lastIndex(of: ")").map { stat[$0...].dropFirst().split(separator: " ") } ?? []
        func field(_ number: Int) -> Double? { fields.indices.contains(number - 3) ? Double(fields[number - 3]) : nil }
        if let user = field(14), let kernel = field(15) { cpuSeconds = (user + kernel) / ticksPerSecond }
        threads = field(20)
        virtualBytes = field(23)
        residentBytes = field(24).map { $0 * pageSize }
        let boot = system.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
        if let boot, let start = field(22) { startTime = boot + start / ticksPerSecond }
        let files = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        mostDescriptors = files.flatMap { Double($0.dropFirst("Max open files".count).split(separator: " ").first ?? "") }
    }
}
