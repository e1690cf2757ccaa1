import Foundation
import Media

/// Keeps what workers leave when they end although they should not: for each stream a folder with `report.json` (how it
/// ended, the last events, the last lines of standard error) and `telemetry.map` (counters and the last frame records, for
/// `burnish records` and `burnish top`). The oldest folders make room for new ones.
///
/// Thread-safe. Files are written on a thread of its own, because a disk may be slow.
final class CrashReports: Sendable {
    struct Report: Codable, Hashable, Sendable {
        struct Event: Codable, Hashable, Sendable {
            var number: UInt64
            var time: Double
            var kind: String
            var text: String
        }

        var stream: String
        /// Seconds since 1970.
        var time: Double
        /// Why the worker ended, with its exit code or signal.
        var reason: String
        var process: Int32
        /// Seconds that the worker ran.
        var uptime: Double
        /// The last events of the stream, oldest first.
        var events: [Event]
        /// The last lines that the worker wrote to standard error.
        var standardError: [String]
    }

    static let most = 32
    /// How many may wait for the disk. Further ones are lost, which the log shows.
    static let mostWaiting = 8

    private struct State {
        var waiting: [(Report, map: [UInt8])] = []
        var isWriting = false
        var last = ""
    }

    let folder: String
    private let state = Lock(State())
    private let failed: @Sendable (String) -> Void

    /// - Parameter folder: made when the first report is written.
    /// - Parameter failed: is told in one line why a report was not written; on any thread.
    init(folder: String, failed: @escaping @Sendable (String) -> Void) {
        self.folder = folder
        self.failed = failed
    }

    /// - Parameter map: the bytes of the stream's telemetry map.
    func keep(_ report: Report, map: [UInt8]) {
        enum Outcome { case queued, thread, lost }
        let outcome = state.withLock { state -> Outcome in
            guard state.waiting.count < Self.mostWaiting else { return .lost }
            state.waiting.append((report, map))
            if state.isWriting { return .queued }
            state.isWriting = true
            return .thread
        }
        switch outcome {
        case .queued: break
        case .lost: failed("the crash report of \(report.stream) was not written: \(Self.mostWaiting) others wait for the disk")
        case .thread: StageThread(name: "crash-reports") { [self] in work() }.detach()
        }
    }

    /// Waits until all reports that were given are written. For the end of the service.
    func finish() {
        while state.withLock({ $0.isWriting }) { (MonotonicTime.now() + .milliseconds(5)).sleep() }
    }

    private func work() {
        while true {
            let next = state.withLock { state -> (Report, map: [UInt8])? in
                if state.waiting.isEmpty {
                    state.isWriting = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            do {
                try write(next.0, next.map)
            } catch {
                failed("the crash report of \(next.0.stream) cannot be written to \(folder): \(error.localizedDescription)")
            }
        }
    }

    private func write(_ report: Report, _ map: [UInt8]) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let name = Self.name(report.time, report.stream)
        // Under another name until it is whole.
        let partial = folder + "/.partial"
        try? files.removeItem(atPath: partial)
        try files.createDirectory(atPath: partial, withIntermediateDirectories: false)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(report).write(to: URL(filePath: partial + "/report.json"))
        if !map.isEmpty { try Data(map).write(to: URL(filePath: partial + "/telemetry.map")) }
        try files.moveItem(atPath: partial, toPath: free(name))
        for old in names().dropLast(Self.most) { try files.removeItem(atPath: folder + "/" + old) }
    }

    /// The reports, oldest first: names begin with the time.
    func names() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }

    private func free(_ name: String) -> String {
        var path = folder + "/" + name
        var number = 1
        while FileManager.default.fileExists(atPath: path) {
            number += 1
            path = folder + "/\(name)-\(number)"
        }
        return path
    }

    /// `20261123T012233.250Z-studio`.
    static func name(_ time: Double, _ stream: String) -> String {
        var seconds = time_t(time)
        var parts = unsafe tm()
        _ = unsafe gmtime_r(&seconds, &parts)
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let date =
            unsafe digits(Int(parts.tm_year) + 1900, 4) + digits(Int(parts.tm_mon) + 1, 2) + digits(Int(parts.tm_mday), 2)
        let clock = unsafe digits(Int(parts.tm_hour), 2) + digits(Int(parts.tm_min), 2) + digits(Int(parts.tm_sec), 2)
        let fraction = digits(Int((time - time.rounded(.down)) * 1000), 3)
        return "\(date)T\(clock).\(fraction)Z-"
            + String(stream.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? $0 : "_" })
    }
}
