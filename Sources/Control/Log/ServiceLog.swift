import Foundation
import Glibc
import Logging
import Media

/// Writes the log to standard error, a line for each message: as text, with the journal's levels where the journal reads it
/// (sd-daemon(3)), or as JSON.
public struct ServiceLog: LogHandler {
    public enum Format: String, Sendable, CaseIterable {
        /// For people: time, level, message, metadata.
        case text
        /// For the journal, which has the time already: `<6>message`.
        case journal
        /// An object in each line.
        case json
    }

    /// A logger's own level, or else the program's.
    public var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let format: Format
    private let write: @Sendable (String) -> Void
    private let clock: @Sendable () -> Double

    /// - Parameters:
    ///   - threshold: the program's level, which may change.
    ///   - clock: seconds since 1970.
    ///   - write: writes one line, which ends with a line feed.
    public init(
        _ format: Format, threshold: LogThreshold = LogThreshold(.info),
        clock: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 },
        write: @escaping @Sendable (String) -> Void = ServiceLog.writeToStandardError
    ) {
        self.format = format
        self.write = write
        self.clock = clock
        self.threshold = threshold
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var all = metadata
        if let metadataProvider { all.merge(metadataProvider.get()) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        write(Self.line(format, event.level, "\(event.message)", all, at: clock()) + "\n")
    }

    static func line(
        _ format: Format, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at time: Double
    ) -> String {
        if format == .json { return json(level, message, metadata, at: time) }
        // The stream stands before the message, since everybody searches for it.
        var metadata = metadata
        let stream = metadata.removeValue(forKey: "stream").map { "\($0): " } ?? ""
        let rest = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let text = oneLine(stream + message + rest)
        return format == .journal ? "<\(level.journal)>" + text : "\(stamp(time)) \(level.rawValue) \(text)"
    }

    private static func json(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at time: Double) -> String {
        var fields = metadata.map { (key: $0.key, value: "\($0.value)") }.sorted { $0.key < $1.key }
        fields.insert(("time", stamp(time)), at: 0)
        fields.insert(("level", level.rawValue), at: 1)
        fields.insert(("message", message), at: 2)
        return "{" + fields.map { "\(quoted($0.key)):\(quoted($0.value))" }.joined(separator: ",") + "}"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.value < 32 || scalar.value == 127:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Control characters could forge lines, or command a terminal.
    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    /// `2026-11-23T01:22:33.250Z`.
    static func stamp(_ time: Double) -> String {
        var seconds = time_t(time.rounded(.down))
        var parts = unsafe tm()
        _ = unsafe gmtime_r(&seconds, &parts)
        func digits(_ number: Int32, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let date = unsafe "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
        let clock = unsafe "\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))"
        return "\(date)T\(clock).\(digits(Int32((time - time.rounded(.down)) * 1000), 3))Z"
    }

    /// What a ``LogWriter`` says of lines that were lost.
    public static func lostLine(_ format: Format) -> @Sendable (Int) -> String {
        { count in
            let text = "\(count) lines of the log were lost: whatever reads them was too slow"
            return line(format, .warning, text, [:], at: Date().timeIntervalSince1970) + "\n"
        }
    }

    /// One system call for each line, so that lines of several threads do not mix. May block: a ``LogWriter`` does not.
    @Sendable public static func writeToStandardError(_ line: String) {
        let bytes = Array(line.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Whether standard error is the journal's: `JOURNAL_STREAM` names its device and inode (systemd.exec(5)).
    public static func isJournal(_ environment: [String: String], descriptor: Int32 = STDERR_FILENO) -> Bool {
        let numbers = (environment["JOURNAL_STREAM"] ?? "").split(separator: ":").map { UInt64($0) }
        var status = stat()
        guard numbers.count == 2, let device = numbers[0], let inode = numbers[1], unsafe fstat(descriptor, &status) == 0
        else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}

extension Logger.Level {
    /// The levels of syslog(3).
    var journal: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
