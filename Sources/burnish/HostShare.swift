import Foundation

/// The share of a virtual machine's time that its host has given to others since this value was made: "steal" in
/// Linux's /proc/stat.
struct HostShare {
    private let start = Self.ticks

    /// 0 to 1. Nil where the system does not report it, or no time has passed.
    var stolen: Double? {
        guard let start, let end = Self.ticks, end.all > start.all else { return nil }
        return Double(end.stolen - start.stolen) / Double(end.all - start.all)
    }

    /// The first eight numbers of the first line (user, nice, system, idle, iowait, irq, softirq, steal), and the last
    /// of them.
    private static var ticks: (all: Int, stolen: Int)? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let line = text.split(separator: "\n").first
        else { return nil }
        let values = line.split(separator: " ").dropFirst().prefix(8).compactMap { Int($0) }
        return values.count == 8 ? (values.reduce(0, +), values[7]) : nil
    }
}
