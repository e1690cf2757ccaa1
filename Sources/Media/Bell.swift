import Glibc

/// Ends another thread's wait on a descriptor: a pipe that is readable while the bell rings. ``WakeUp`` is for threads that wait
/// for no descriptor. Thread-safe.
package final class Bell: Sendable {
    /// The end that is waited on.
    package let number: Int32
    private let writeEnd: Int32

    /// Ends the program where it has no descriptor left.
    package convenience init() {
        guard let ends = Self.pipe() else { preconditionFailure("the process has no file descriptor left") }
        self.init(ends)
    }

    /// - Returns: nil where the process has no descriptor left.
    package static func made() -> Bell? { pipe().map { Bell($0) } }

    private init(_ ends: (Int32, Int32)) { (number, writeEnd) = ends }

    private static func pipe() -> (Int32, Int32)? {
        var ends: (Int32, Int32) = (-1, -1)
        let code = unsafe withUnsafeMutableBytes(of: &ends) {
            unsafe Glibc.pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self))
        }
        guard code == 0 else { return nil }
        for end in [ends.0, ends.1] {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return ends
    }

    deinit {
        close(number)
        close(writeEnd)
    }

    package func ring() {
        // A full pipe rings already.
        var byte: UInt8 = 1
        _ = unsafe write(writeEnd, &byte, 1)
    }

    package func silence() {
        var bytes: UInt64 = 0
        while unsafe read(number, &bytes, 8) > 0 {}
    }
}
