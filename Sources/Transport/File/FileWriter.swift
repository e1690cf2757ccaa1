import Glibc
import Media
import Synchronization

/// A file that a thread of its own writes, from a queue of bytes, so that a slow disk holds up nobody. One thread at a time
/// offers; everything else may be called from any.
@safe final class FileWriter: Sendable {
    /// Which part of the bytes is filled. It may go round the end.
    private struct Filled {
        var head = 0
        var count = 0
        var isClosing = false
    }

    /// More than 3 s at 10 Mb/s.
    private static let capacity = 4 << 20
    /// The most that is written at once, so that room comes back in steps.
    private static let longestWrite = 128 << 10
    private static let idleInterval = Nanoseconds.seconds(1)
    private static let retryInterval = Nanoseconds.milliseconds(2)

    /// Safe to share: the thread that offers writes to what is not filled, and the writing thread reads what is.
    nonisolated(unsafe) private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 4096)
    private let filled = Lock(Filled())
    private let wake = WakeUp()
    private let isOver = Atomic<Bool>(false)
    private let thread = Lock<StageThread?>(nil)

    /// Starts the thread. ``close()`` has to be called.
    /// - Parameters:
    ///   - descriptor: stays open until ``close()`` has returned.
    ///   - failed: called once, on the thread, when nothing more can be written.
    init(_ descriptor: Int32, failed: @escaping @Sendable (_ reason: String) -> Void) {
        thread.withLock { $0 = StageThread(name: "file-out") { [self] in run(descriptor, failed) } }
    }

    deinit { unsafe bytes.deallocate() }

    /// Queues a copy of a message.
    /// - Returns: false when there is no room for all of it.
    func offer(_ message: UnsafeRawBufferPointer) -> Bool {
        let (head, count) = filled.withLock { ($0.head, $0.count) }
        guard count + message.count <= Self.capacity else { return false }
        let tail = (head + count) % Self.capacity
        let part = min(message.count, Self.capacity - tail)
        unsafe (bytes.baseAddress! + tail).copyMemory(from: message.baseAddress!, byteCount: part)
        if part < message.count {
            unsafe bytes.baseAddress!.copyMemory(from: message.baseAddress! + part, byteCount: message.count - part)
        }
        let length = message.count
        let wasEmpty = filled.withLock { filled in
            filled.count += length
            return filled.count == length
        }
        if wasEmpty { wake.raise() }
        return true
    }

    /// Whether everything has been written, or nothing more can be.
    var isFlushed: Bool { isOver.load(ordering: .acquiring) || filled.withLock { $0.count == 0 } }

    /// How many bytes wait.
    var byteCount: Int { filled.withLock { $0.count } }

    /// Writes what waits, and ends the thread.
    func close() {
        filled.withLock { $0.isClosing = true }
        wake.raise()
        thread.withLock { $0.take() }?.join()
    }

    private func run(_ descriptor: Int32, _ failed: (String) -> Void) {
        while true {
            let (head, filledCount, isClosing) = filled.withLock { ($0.head, $0.count, $0.isClosing) }
            if filledCount == 0 {
                if isClosing { return isOver.store(true, ordering: .releasing) }
                wake.wait(until: .now() + Self.idleInterval)
                continue
            }
            let part = min(filledCount, Self.capacity - head, Self.longestWrite)
            let count = unsafe write(descriptor, bytes.baseAddress! + head, part)
            if count < 0, errno == EINTR { continue }
            // Another program may have made a lent descriptor non-blocking.
            if count < 0, errno == EAGAIN {
                (MonotonicTime.now() + Self.retryInterval).sleep()
                continue
            }
            guard count > 0 else {
                failed(count < 0 ? Descriptor.lastError : "nothing more can be written")
                return isOver.store(true, ordering: .releasing)
            }
            filled.withLock { filled in
                filled.head = (filled.head + count) % Self.capacity
                filled.count -= count
            }
        }
    }
}
