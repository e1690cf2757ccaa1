import CAffinity
import Foundation

/// How many cores this process may use: its processor affinity, and what the control groups of a container, of a systemd
/// unit or of a batch system allow it.
public struct ProcessorLimit: Equatable, Sendable {
    /// Processors that its threads may run on.
    public var processors: Int
    /// Their numbers, in ascending order; nil where they are not known.
    public var numbers: [Int]?
    /// Processor time that its control groups allow, in seconds a second; nil where they set no limit.
    public var quota: Double?

    public init(processors: Int, quota: Double? = nil) {
        self.processors = processors
        self.quota = quota
    }

    init(numbers: [Int]?, quota: Double?) {
        self.init(processors: numbers?.count ?? ProcessInfo.processInfo.activeProcessorCount, quota: quota)
        self.numbers = numbers
    }

    /// The whole cores to plan for. The quota is rounded up, because more threads can run at the same time until the quota is
    /// used up.
    public var cores: Int { max(1, min(processors, Int(min(quota ?? .infinity, 65_536).rounded(.up)))) }

    /// The part of those cores that may be used on average.
    public var share: Double { min(Double(cores), quota ?? .infinity) }

    /// The limit of this process, read once. A later change is not seen.
    public static let current = ProcessorLimit(
        numbers: allowedProcessors(),
        quota: ControlGroups(
            groups: text(of: "/proc/self/cgroup") ?? "", mounts: text(of: "/proc/self/mountinfo") ?? ""
        )
        .quota(reading: text(of:)))

    /// The processors that the calling thread may run on: what `taskset`, a container's `cpuset` or a unit's `CPUAffinity=` leave it
    /// of those that are there. `ProcessInfo` counts all that the machine has, and /proc/self/status also lists those that may be
    /// added to it.
    /// - Returns: nil where the system does not say.
    static func allowedProcessors() -> [Int]? {
        // The kernel refuses a set that is smaller than its own.
        for count in [1024, 8192, 65_536] {
            var words = [UInt](repeating: 0, count: count / UInt.bitWidth)
            guard unsafe burnish_allowed_processors(&words, words.count) == 0 else { continue }
            let numbers = (0..<count).filter { words[$0 / UInt.bitWidth] >> ($0 % UInt.bitWidth) & 1 == 1 }
            return numbers.isEmpty ? nil : numbers
        }
        return nil
    }

    private static func text(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}

/// The folders of the control groups that limit a process's processor time, in version 1, version 2, or both.
struct ControlGroups {
    /// From the process's own group up to the highest visible one.
    private(set) var unified: [String] = []
    private(set) var legacy: [String] = []

    /// - Parameters:
    ///   - groups: `/proc/self/cgroup`, with lines such as `0::/system.slice/burnish.service` (version 2) and
    ///     `4:cpu,cpuacct:/docker/1f2e` (version 1).
    ///   - mounts: `/proc/self/mountinfo`, with lines such as
    ///     `31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw`.
    init(groups: String, mounts: String) {
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[1].isEmpty {
                unified = Self.folders(of: fields[2], in: mounts) { type, _ in type == "cgroup2" }
            } else if fields[1].split(separator: ",").contains("cpu") {
                legacy = Self.folders(of: fields[2], in: mounts) { type, options in
                    type == "cgroup" && options.split(separator: ",").contains("cpu")
                }
            }
        }
    }

    /// The lowest limit of all the groups, in seconds of processor time a second; nil where none is set. A group's limit holds
    /// for all groups below it, so a higher group may have the lower limit.
    /// - Parameter read: returns a file's text, or nil where there is none.
    func quota(reading read: (String) -> String?) -> Double? {
        let limits =
            unified.compactMap { read($0 + "/cpu.max").flatMap(Self.quota(max:)) }
            + legacy.compactMap { folder in
                guard let quota = read(folder + "/cpu.cfs_quota_us") else { return nil }
                return read(folder + "/cpu.cfs_period_us").flatMap { Self.quota(time: quota, period: $0) }
            }
        return limits.min()
    }

    /// Reads version 2's `cpu.max`: `150000 100000`, in microseconds, or `max 100000`.
    static func quota(max text: String) -> Double? {
        let words = text.split(whereSeparator: \.isWhitespace)
        return words.count == 2 ? quota(time: words[0], period: words[1]) : nil
    }

    /// Divides version 1's `cpu.cfs_quota_us` (-1 for no limit) by `cpu.cfs_period_us`.
    static func quota(time: some StringProtocol, period: some StringProtocol) -> Double? {
        guard let time = Int(time.trimmingCharacters(in: .whitespacesAndNewlines)), time > 0,
            let period = Int(period.trimmingCharacters(in: .whitespacesAndNewlines)), period > 0
        else { return nil }
        return Double(time) / Double(period)
    }

    private static func folders(
        of group: Substring, in mounts: String, where isWanted: (_ type: Substring, _ options: Substring) -> Bool
    ) -> [String] {
        for line in mounts.split(separator: "\n") {
            // The number of optional fields before the single hyphen varies. Only the fields after it have fixed positions.
            let fields = line.split(separator: " ")
            guard fields.count > 4, let hyphen = fields.dropFirst(5).firstIndex(of: "-"), hyphen + 3 < fields.count,
                isWanted(fields[hyphen + 1], fields[hyphen + 3])
            else { continue }
            let (root, point) = (unescaped(fields[3]), unescaped(fields[4]))
            // In a container without a control group namespace, the group's path is the host's, and the mount shows the part
            // below `root`. A group outside of the mount is not visible; then only the mount itself is read.
            var parts: [Substring] = []
            if root == "/" {
                parts = group.split(separator: "/")
            } else if group.hasPrefix(root + "/") {
                parts = group.dropFirst(root.count).split(separator: "/")
            }
            if parts.contains("..") { parts = [] }
            return (0...parts.count).reversed().map { count in
                ([point == "/" ? "" : point] + parts.prefix(count).map(String.init)).joined(separator: "/")
            }
        }
        return []
    }

    /// Decodes a field: `mountinfo` writes spaces, tabs, line feeds and backslashes as a backslash and three octal digits.
    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
