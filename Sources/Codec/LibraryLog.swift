import CFFmpeg
import Glibc
import Media

/// Where libav's own log goes: nowhere, except that the last error line of a thread is kept (in a fixed buffer) to be
/// put into the ``CodecError`` that follows it. libav would otherwise write to standard error, many lines for every
/// damaged picture.
enum LibraryLog {
    private struct LastError {
        var thread: pthread_t = 0
        var text = InlineArray<256, CChar>(repeating: 0)
    }
    private static let lastError = Lock(LastError())

    /// Takes over libav's log, once per process. Every type of this module that calls libav does it first.
    static func takeOver() { _ = installed }

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

    /// This thread's last error line, which is forgotten then; empty when there was none.
    static func takeLastError() -> String {
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
