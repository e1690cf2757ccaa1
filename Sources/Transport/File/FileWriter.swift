import Glibc
import Media
import Packets
import Synchronization

/// A file that a thread of its own writes, from a queue of messages, so that a slow disk holds up nobody. One thread at a time
/// offers; everything else may be called from any.
@safe final class FileWriter: Sendable {
    /// Which part of the bytes is filled, and by which messages. Either may go round the end.
    private struct Filled {
        var head = 0
        var count = 0
        var firstMessage = 0
        var messages = 0
        /// Bytes of the first message that are written.
        var writtenOfFirst = 0
        var bytesWritten: Int64 = 0
        var messagesWritten: Int64 = 0
        var isClosing = false
        /// Nobody waits for the thread any more.
        var isAbandoned = false
    }

    /// More than 3 s at 10 Mb/s.
    private static let capacity = 4 << 20
    private static let mostMessages = 1 << 15
    /// The most that is written at once, so that room comes back in steps.
    private static let longestWrite = 128 << 10
    private static let idleInterval = Nanoseconds.seconds(1)
    private static let retryInterval = Nanoseconds.milliseconds(2)

    private let file: SharedDescriptor
    /// Safe to share: the thread that offers writes to what is not filled, and the writing thread reads what is.
    nonisolated(unsafe) private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 4096)
    /// The messages' lengths. Safe to share for the same reason.
    nonisolated(unsafe) private let lengths = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: mostMessages)
    private let filled = Lock(Filled())
    private let wake = WakeUp()
    private let ended = WakeUp()
    private let isOver = Atomic<Bool>(false)
    private let thread = Lock<StageThread?>(nil)

    /// Starts the thread. ``close(until:)`` has to be called.
    /// - Parameters:
    ///   - file: stays open until the thread has ended.
    ///   - failed: called once, on the thread, when nothing more can be written.
    init(_ file: SharedDescriptor, failed: @escaping @Sendable (_ reason: String) -> Void) {
        self.file = file
        thread.withLock { $0 = StageThread(name: "file-out") { [self] in run(failed) } }
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe lengths.deallocate()
    }

    /// Queues a copy of a message.
    /// - Returns: false when there is no room for all of it.
    func offer(_ message: UnsafeRawBufferPointer) -> Bool {
        let (head, count, first, messages) = filled.withLock { ($0.head, $0.count, $0.firstMessage, $0.messages) }
        guard count + message.count <= Self.capacity, messages < Self.mostMessages else { return false }
        let tail = (head + count) % Self.capacity
        let part = min(message.count, Self.capacity - tail)
        unsafe (bytes.baseAddress! + tail).copyMemory(from: message.baseAddress!, byteCount: part)
        if part < message.count {
            unsafe bytes.baseAddress!.copyMemory(from: message.baseAddress! + part, byteCount: message.count - part)
        }
        // The thread removes messages from the front, which moves no place behind them.
        unsafe lengths[(first + messages) % Self.mostMessages] = UInt16(message.count)
        let length = message.count
        let wasEmpty = filled.withLock { filled in
            filled.count += length
            filled.messages += 1
            return filled.count == length
        }
        if wasEmpty { wake.raise() }
        return true
    }

    /// Whether everything has been written, or nothing more can be.
    var isFlushed: Bool { isOver.load(ordering: .acquiring) || filled.withLock { $0.count == 0 } }

    /// What the kernel has: whole messages, and bytes.
    var written: (messages: Int64, bytes: Int64) { filled.withLock { ($0.messagesWritten, $0.bytesWritten) } }

    /// Writes what waits, and ends the thread. A thread that has not ended when the time comes ends by itself when the disk lets go
    /// of it; what it has not written then is lost.
    /// - Returns: whether the thread has ended.
    @discardableResult func close(until limit: MonotonicTime) -> Bool {
        filled.withLock { $0.isClosing = true }
        wake.raise()
        guard let thread = thread.withLock({ $0.take() }) else { return true }
        ended.wait(until: limit)
        guard isOver.load(ordering: .acquiring) else {
            filled.withLock { $0.isAbandoned = true }
            thread.detach()
            return false
        }
        thread.join()
        return true
    }

    private func run(_ failed: (String) -> Void) {
        defer {
            isOver.store(true, ordering: .releasing)
            ended.raise()
        }
        while true {
            let (head, filledCount, isClosing, isAbandoned) = filled.withLock {
                ($0.head, $0.count, $0.isClosing, $0.isAbandoned)
            }
            if isAbandoned { return }
            if filledCount == 0 {
                if isClosing { return }
                wake.wait(until: .now() + Self.idleInterval)
                continue
            }
            let part = min(filledCount, Self.capacity - head, Self.longestWrite)
            let count = unsafe write(file.descriptor.number, bytes.baseAddress! + head, part)
            if count < 0, errno == EINTR { continue }
            // Another program may have made a lent descriptor non-blocking.
            if count < 0, errno == EAGAIN {
                (MonotonicTime.now() + Self.retryInterval).sleep()
                continue
            }
            guard count > 0 else { return failed(count < 0 ? Descriptor.lastError : "nothing more can be written") }
            filled.withLock { removeWritten(count, &$0) }
        }
    }

    private func removeWritten(_ count: Int, _ filled: inout Filled) {
        filled.head = (filled.head + count) % Self.capacity
        filled.count -= count
        filled.bytesWritten += Int64(count)
        filled.writtenOfFirst += count
        while filled.messages > 0, case let length = unsafe Int(lengths[filled.firstMessage]), filled.writtenOfFirst >= length {
            filled.writtenOfFirst -= length
            filled.firstMessage = (filled.firstMessage + 1) % Self.mostMessages
            filled.messages -= 1
            filled.messagesWritten += 1
        }
    }
}
