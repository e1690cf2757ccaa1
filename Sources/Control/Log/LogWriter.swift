import Glibc
import Logging
import Media

/// Writes lines to a descriptor on a thread of its own. So whoever logs never waits for a reader that is slow, such as a
/// terminal or a full pipe. When too many lines wait, further ones are lost, and a line says how many.
///
/// Thread-safe.
public final class LogWriter: Sendable {
    /// Lines that may wait.
    static let mostWaiting = 1000

    private struct State {
        var waiting: [String] = []
        var lost = 0
        var isWriting = false
    }

    private let descriptor: Int32
    private let lostLine: @Sendable (Int) -> String
    private let state = Lock(State())

    /// - Parameters:
    ///   - descriptor: stays the caller's.
    ///   - lostLine: a line that says how many were lost, with a line feed.
    public init(_ descriptor: Int32, lostLine: @escaping @Sendable (Int) -> String) {
        self.descriptor = descriptor
        self.lostLine = lostLine
    }

    /// - Parameter line: with a line feed.
    public func write(_ line: String) {
        let isFirst = state.withLock { state in
            if state.waiting.count >= Self.mostWaiting {
                state.lost += 1
                return false
            }
            state.waiting.append(line)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if isFirst { StageThread(name: "log") { [self] in work() }.detach() }
    }

    /// Waits until everything is written, but no longer than this. For the end of the program.
    public func flush(timeout: Nanoseconds) {
        let limit = MonotonicTime.now() + timeout
        while state.withLock({ $0.isWriting }), MonotonicTime.now() < limit { (MonotonicTime.now() + .milliseconds(2)).sleep() }
    }

    /// The thread ends when nothing waits.
    private func work() {
        while true {
            let (lines, lost) = state.withLock { state -> ([String], Int) in
                defer { (state.waiting, state.lost) = ([], 0) }
                if state.waiting.isEmpty, state.lost == 0 { state.isWriting = false }
                return (state.waiting, state.lost)
            }
            if lines.isEmpty, lost == 0 { return }
            for line in lines { writeAll(line) }
            if lost > 0 { writeAll(lostLine(lost)) }
        }
    }

    /// One system call for each line, where the system takes it whole, so that lines of several processes do not mix.
    private func writeAll(_ line: String) {
        let bytes = Array(line.utf8)
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&wait, 1, -1)
                continue
            }
            // Nobody reads any more.
            guard count > 0 else { return }
            done += count
        }
    }
}

/// The level from which messages are logged. It may change while the program runs. Thread-safe.
public final class LogThreshold: Sendable {
    private let state: Lock<Logger.Level>

    public init(_ level: Logger.Level) { state = Lock(level) }

    public var level: Logger.Level {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
