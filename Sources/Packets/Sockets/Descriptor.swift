import Glibc
import Media

/// A file descriptor, closed in `deinit` unless it was lent.
package struct Descriptor: ~Copyable {
    package let number: Int32
    private let owned: Bool

    package init(owning number: Int32) {
        self.number = number
        owned = true
    }

    /// A descriptor that this value does not own, such as standard input.
    package init(lending number: Int32) {
        self.number = number
        owned = false
    }

    deinit { if owned { close(number) } }

    /// The kernel's text for the calling thread's last error.
    package static var lastError: String { unsafe String(cString: strerror(errno)) }

    /// The ways in which a wait may end.
    package enum Readiness { case ready, interrupted, timedOut }

    /// Waits until the descriptor is ready for `events`, or `bell` is rung, or the time comes.
    package func wait(for events: Int32, or bell: Bell, until limit: MonotonicTime) -> Readiness {
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
package final class SharedDescriptor: Sendable {
    package let descriptor: Descriptor

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}
