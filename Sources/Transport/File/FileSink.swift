import Endpoint
import Glibc
import Media
import Packets
import Synchronization

/// Writes a file or pipe. A file's writes wait for the kernel, unless a thread of its own does that; a full pipe says so instead.
/// A named pipe that nobody reads is not connected until somebody does. `send` belongs to one thread.
final class FileSink: Sendable {
    private let file: SharedDescriptor
    private let bell = Bell()
    private let isPipe: Bool
    private let packets = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private let state = State()
    /// Nil where `send` writes itself.
    private let writer: FileWriter?

    private final class State: Sendable {
        let broken = Atomic<Bool>(false)
        /// A named pipe that nobody has read yet.
        let awaitsReader = Atomic<Bool>(false)
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
    /// How long the end waits for a disk.
    private static let closeTimeout = Nanoseconds.seconds(5)

    /// - Parameters:
    ///   - path: nil for standard output.
    ///   - descriptor: the open file, which is closed with the sink; nil to open the path.
    ///   - waits: whether `send` may wait for the disk. Otherwise a thread does, and `send` refuses what its queue has no room for.
    init(path: String?, adopting descriptor: Int32? = nil, waits: Bool = true) throws(TransportError) {
        // When the reader has gone, write() fails and the process goes on.
        signal(SIGPIPE, SIG_IGN)
        if let descriptor {
            file = SharedDescriptor(Descriptor(owning: descriptor))
        } else if let path {
            file = SharedDescriptor(try Self.open(path))
        } else {
            file = SharedDescriptor(Descriptor(lending: STDOUT_FILENO))
        }
        let number = file.descriptor.number
        var status = stat()
        isPipe = unsafe fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        // The kernel refuses where the user's pipes hold too much already.
        if isPipe { _ = fcntl(number, Self.setPipeCapacity, Self.pipeCapacity) }
        writer = waits || isPipe ? nil : FileWriter(file) { [state] in state.fail($0) }
        // Nobody else can open a pipe without a name.
        state.awaitsReader.store(isPipe && path != nil && !Self.hasReader(number), ordering: .relaxed)
    }

    /// Opens a file to be written. Does not wait for a pipe's reader.
    private static func open(_ path: String) throws(TransportError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK
        var number = unsafe Glibc.open(path, flags, 0o666)
        if number < 0, errno == ENXIO {
            // The kernel refuses a pipe that nobody reads. This process reads it until it is open.
            let reader = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            number = unsafe Glibc.open(path, flags, 0o666)
            let reason = errno
            if reader >= 0 { Glibc.close(reader) }
            errno = reason
        }
        guard number >= 0 else {
            throw TransportError(.inaccessible, place: oneLine(path), "cannot be written: \(Descriptor.lastError)")
        }
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) & ~O_NONBLOCK)
        return Descriptor(owning: number)
    }

    /// Whether anybody has the reading end of a pipe open.
    private static func hasReader(_ number: Int32) -> Bool {
        var pipe = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&pipe, 1, 0) < 0 || Int32(pipe.revents) & POLLERR == 0
    }

    deinit { writer?.close(until: .now() + Self.closeTimeout) }

    /// Whether this is a named pipe that nobody has read yet. Costs an atomic load for all others.
    var awaitsReader: Bool {
        guard state.awaitsReader.load(ordering: .acquiring) else { return false }
        guard Self.hasReader(file.descriptor.number) else { return true }
        if state.awaitsReader.exchange(false, ordering: .acquiringAndReleasing) {
            state.events.append(.connected(Connection(peer: "a reader of the pipe")))
        }
        return false
    }

    /// Whether the kernel has everything.
    var isFlushed: Bool { writer?.isFlushed ?? true }

    func statistics() -> LegFigures {
        var figures = LegFigures()
        figures.isConnected = !isBroken && !awaitsReader
        figures.connections = awaitsReader ? 0 : 1
        (figures.packetsSent, figures.bytesSent) =
            writer?.written ?? (packets.load(ordering: .relaxed), bytes.load(ordering: .relaxed))
        return figures
    }

    /// A write failed. What follows would have a gap, so nothing is written any more.
    var isBroken: Bool { state.broken.load(ordering: .acquiring) }
    func nextEvent() -> LegEvent? { state.events.pop() }

    func send(_ message: UnsafeRawBufferPointer) -> Sent {
        guard !isBroken, !awaitsReader else { return .notConnected }
        // Ready means that PIPE_BUF bytes fit, more than a message: the write below will not wait.
        if isPipe && file.descriptor.wait(for: POLLOUT, or: bell, until: .now()) != .ready { return .wouldBlock }
        if let writer { return unsafe writer.offer(message) ? .sent : .wouldBlock }
        var written = 0
        while written < message.count {
            let count = unsafe write(file.descriptor.number, message.baseAddress! + written, message.count - written)
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
