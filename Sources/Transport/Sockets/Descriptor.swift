import CSRT  // Some of the kernel's names are filed under whichever module includes them first.
import Glibc
import Media

/// A file descriptor, closed in `deinit` unless it was lent.
package struct Descriptor: ~Copyable {
    package let number: Int32
    private let owned: Bool

    init(owning number: Int32) {
        self.number = number
        owned = true
    }

    /// A descriptor that this value does not own, such as standard input.
    init(lending number: Int32) {
        self.number = number
        owned = false
    }

    deinit { if owned { close(number) } }

    /// The kernel's text for the calling thread's last error.
    package static var lastError: String { unsafe String(cString: strerror(errno)) }

    /// The ways in which a wait may end.
    enum Readiness { case ready, interrupted, timedOut }

    /// Waits until the descriptor is ready for `events`, or `bell` is rung, or the time comes.
    func wait(for events: Int32, or bell: Bell, until limit: MonotonicTime) -> Readiness {
        var descriptors = (
            pollfd(fd: number, events: Int16(events), revents: 0),
            pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0)
        )
        while true {
            let left = max((limit - .now()).count, 0)
            let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
            let count = unsafe withUnsafeMutablePointer(to: &descriptors) {
                unsafe $0.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, milliseconds) }
            }
            if count < 0 && errno == EINTR && MonotonicTime.now() < limit { continue }
            if descriptors.1.revents != 0 {
                bell.silence()
                return .interrupted
            }
            return descriptors.0.revents != 0 ? .ready : .timedOut
        }
    }
}

/// A descriptor that several objects use. The last one closes it.
final class SharedDescriptor: Sendable {
    let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// Ends another thread's wait on a descriptor: a pipe that is readable while the bell rings. Thread-safe.
package final class Bell: Sendable {
    /// The end that is waited on.
    package let number: Int32
    private let writeEnd: Int32

    package init() {
        var ends: (Int32, Int32) = (-1, -1)
        let code = unsafe withUnsafeMutableBytes(of: &ends) {
            unsafe pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self))
        }
        precondition(code == 0, "the process has no file descriptor left")
        (number, writeEnd) = ends
        for end in [ends.0, ends.1] {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(number)
        close(writeEnd)
    }

    package func ring() {
        var byte: UInt8 = 1
        _ = unsafe write(writeEnd, &byte, 1)
    }

    package func silence() {
        var bytes: UInt64 = 0
        while unsafe read(number, &bytes, 8) > 0 {}
    }
}
