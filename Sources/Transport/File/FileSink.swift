import Endpoint
import Glibc
import Media
import Synchronization

/// Writes a file or pipe. A file's writes wait for the kernel, unless a thread of its own does that; a full pipe says so instead.
/// `send` belongs to one thread.
final class FileSink: Sendable {
    private let file: Descriptor
    private let bell = Bell()
    private let isPipe: Bool
    private let packets = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private let state = State()
    /// Nil where `send` writes itself.
    private let writer: FileWriter?

    private final class State: Sendable {
        let broken = Atomic<Bool>(false)
        let events = EventQueue()

        func fail(_ reason: String) {
            // In this order: a caller that sees that the sink is broken finds the event.
            events.append(.disconnected(reason: reason))
            broken.store(true, ordering: .releasing)
        }
    }

    /// With a pipe's usual 64 KiB, a short pause of the reader would cost messages.
    private static let pipeCapacity: Int32 = 1 << 20
    /// Linux's F_SETPIPE_SZ, which Glibc's module leaves out.
    private static let setPipeCapacity: Int32 = 1031

    /// - Parameters:
    ///   - path: nil for standard output.
    ///   - descriptor: the open file, which is closed with the sink; nil to open the path.
    ///   - waits: whether `send` may wait for the disk. Otherwise a thread does, and `send` refuses what its queue has no room for.
    init(path: String?, adopting descriptor: Int32? = nil, waits: Bool = true) throws(TransportError) {
        // When the reader has gone, write() fails and the process goes on.
        signal(SIGPIPE, SIG_IGN)
        if let descriptor {
            file = Descriptor(owning: descriptor)
        } else if let path {
            let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard number >= 0 else {
                throw TransportError(.inaccessible, place: oneLine(path), "cannot be written: \(Descriptor.lastError)")
            }
            file = Descriptor(owning: number)
        } else {
            file = Descriptor(lending: STDOUT_FILENO)
        }
        var status = stat()
        isPipe = unsafe fstat(file.number, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        // The kernel refuses where the user's pipes hold too much already.
        if isPipe { _ = fcntl(file.number, Self.setPipeCapacity, Self.pipeCapacity) }
        writer = waits || isPipe ? nil : FileWriter(file.number) { [state] in state.fail($0) }
    }

    deinit { writer?.close() }

    /// Whether the kernel has everything.
    var isFlushed: Bool { writer?.isFlushed ?? true }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = !isBroken
        figures.connections = 1
        figures.packetsSent = packets.load(ordering: .relaxed)
        figures.bytesSent = bytes.load(ordering: .relaxed)
        return figures
    }

    /// A write failed. What follows would have a gap, so nothing is written any more.
    var isBroken: Bool { state.broken.load(ordering: .acquiring) }
    func nextEvent() -> LegEvent? { state.events.pop() }

    func send(_ message: UnsafeRawBufferPointer) -> Sent {
        guard !isBroken else { return .notConnected }
        // Ready means that PIPE_BUF bytes fit, more than a message: the write below will not wait.
        if isPipe && file.wait(for: POLLOUT, or: bell, until: .now()) != .ready { return .wouldBlock }
        if let writer, unsafe !writer.offer(message) { return .wouldBlock }
        var written = writer == nil ? 0 : message.count
        while written < message.count {
            let count = unsafe write(file.number, message.baseAddress! + written, message.count - written)
            if count < 0 && errno == EINTR { continue }
            // Another program may have made a lent descriptor non-blocking.
            if count < 0 && errno == EAGAIN && written == 0 { return .wouldBlock }
            if count <= 0 {
                state.fail(count < 0 ? Descriptor.lastError : "nothing more can be written")
                return .notConnected
            }
            written += count
        }
        packets.add(1, ordering: .relaxed)
        bytes.add(Int64(message.count), ordering: .relaxed)
        return .sent
    }
}
