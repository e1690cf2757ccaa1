import CFFmpeg
import Glibc
import Media

/// Captures libav's own log. libav would otherwise write to standard error, many lines for every damaged picture.
///
/// A thread's last error line is kept in a fixed buffer, for the ``CodecError`` that follows it. All else is dropped.
enum LibraryLog {
    private struct LastError {
        var thread: pthread_t = 0
        var text = InlineArray<256, CChar>(repeating: 0)
    }
    private static let lastError = Lock(LastError())

    /// Captures the log, once per process. Every type of this module that calls libav does it first.
    static func capture() { _ = installed }

    private static let installed: Void = {
        unsafe av_log_set_callback { _, level, format, arguments in
            guard level <= AV_LOG_ERROR, let format = unsafe format, let arguments = unsafe arguments else { return }
            unsafe LibraryLog.keep(format, arguments)
        }
    }()

    private static func keep(_ format: UnsafePointer<CChar>, _ arguments: CVaListPointer) {
        lastError.withLock { last in
            last.thread = pthread_self()
            var span = last.text.mutableSpan
            unsafe span.withUnsafeMutableBufferPointer { buffer in
                _ = unsafe vsnprintf(buffer.baseAddress!, buffer.count, format, arguments)
            }
        }
    }

    /// Returns this thread's last error line and forgets it; empty when there was none.
    static func popLastError() -> String {
        lastError.withLock { last in
            guard last.thread == pthread_self(), last.text[0] != 0 else { return "" }
            let line = unsafe last.text.span.withUnsafeBufferPointer { unsafe String(cString: $0.baseAddress!) }
            last.text[0] = 0
            return line.trimmingNewlines()
        }
    }
}

extension String {
    fileprivate func trimmingNewlines() -> String {
        var line = self[...]
        while let last = line.last, last.isWhitespace { line.removeLast() }
        return String(line)
    }
}
