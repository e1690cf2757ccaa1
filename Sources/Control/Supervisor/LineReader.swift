/// Cuts what a worker writes to standard error into lines, with bounds: a worker cannot fill the log.
struct LineReader: Sendable {
    /// Longer lines are cut.
    static let longestLine = 1000
    /// Lines that may come at once, and lines a second after that.
    static let burst = 200.0
    static let linesPerSecond = 20.0
    /// Lines kept for a crash report.
    static let mostKept = 60

    private var line: [UInt8] = []
    private var isTooLong = false
    private var tokens = burst
    private var last: Double?
    /// Lines left out since the last one that was let through.
    private var leftOut = 0
    /// The last lines, also those that were left out.
    private(set) var kept: [String] = []

    /// - Parameter seconds: on any clock that does not go back.
    /// - Returns: the lines for the log.
    mutating func read(_ bytes: some Sequence<UInt8>, at seconds: Double) -> [String] {
        tokens = min(tokens + max(seconds - (last ?? seconds), 0) * Self.linesPerSecond, Self.burst)
        last = seconds
        var lines: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                finishLine(&lines)
            } else if line.count < Self.longestLine {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
        return lines
    }

    /// What stands after the last line's end.
    mutating func finish() -> [String] {
        var lines: [String] = []
        finishLine(&lines)
        return lines
    }

    private mutating func finishLine(_ lines: inout [String]) {
        guard !line.isEmpty else { return }
        // Control characters could forge lines of the log, or command a terminal.
        let text =
            String(decoding: line.map { $0 < 32 || $0 == 127 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
            + (isTooLong ? " …" : "")
        line = []
        isTooLong = false
        kept.append(text)
        if kept.count > Self.mostKept { kept.removeFirst() }
        guard tokens >= 1 else {
            leftOut += 1
            return
        }
        tokens -= 1
        if leftOut > 0 { lines.append("(\(leftOut) lines were left out)") }
        leftOut = 0
        lines.append(text)
    }
}
