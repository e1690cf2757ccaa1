import Glibc
import Media
import Synchronization

/// Reads a file or pipe in pieces of whole TS packets' size. `receive` belongs to one thread.
final class FileSource: @unchecked Sendable {
    private let file: Descriptor
    private let bell = Bell()
    private let bytes = Atomic<Int64>(0)
    private var sequence: Int64 = 0
    private let place: String
    private var ended = false
    /// Why nothing more can be read.
    private var failure: TransportError?
    /// A piece: seven TS packets, as in a datagram.
    private static let piece = 1316

    /// - Parameter path: nil for standard input.
    init(path: String?) throws(TransportError) {
        place = path.map(oneLine) ?? "standard input"
        if let path {
            let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard number >= 0 else {
                throw TransportError(.inaccessible, place: place, "cannot be opened: \(Descriptor.lastError)")
            }
            file = Descriptor(owning: number)
        } else {
            file = Descriptor(lending: STDIN_FILENO)
        }
        var status = stat()
        if unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw TransportError(.inaccessible, place: place, "is a directory; give a file, a pipe or -")
        }
    }

    func interrupt() { bell.ring() }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = true
        figures.connections = 1
        figures.bytesReceived = bytes.load(ordering: .relaxed)
        return figures
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        if let failure { return .failed(failure) }
        guard !ended else { return .end }
        // A pipe's reader must not sleep in read(): nobody could interrupt it. Files are always ready.
        guard file.wait(for: POLLIN, or: bell, until: limit) == .ready else { return .idle }
        var filled = 0
        repeat {
            let count = unsafe readOnce(into: buffer.baseAddress! + filled, Self.piece - filled)
            // Somebody else may have made a lent descriptor non-blocking.
            if count < 0 && errno == EAGAIN { break }
            if count < 0 {
                failure = TransportError(.inaccessible, place: place, "cannot be read on: \(Descriptor.lastError)")
                break
            }
            if count == 0 {
                ended = true
                break
            }
            filled += count
            // A pipe may give less: what is there is handed on, the reader finds packet borders itself.
        } while filled < Self.piece && filled % 188 != 0 && file.wait(for: POLLIN, or: bell, until: .now()) == .ready
        if filled == 0 { return failure.map { .failed($0) } ?? (ended ? .end : .idle) }
        bytes.add(Int64(filled), ordering: .relaxed)
        sequence += 1
        return .message(Message(byteCount: filled, arrival: .now(), sourceTime: nil, sequence: sequence))
    }

    /// `read`, again when a signal comes in between.
    private func readOnce(into bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
        while true {
            let got = unsafe read(file.number, bytes, count)
            if got >= 0 || errno != EINTR { return got }
        }
    }
}

/// Writes a file or pipe. A file's writes wait for the kernel; a full pipe says so instead. `send` belongs to one
/// thread.
final class FileSink: @unchecked Sendable {
    private let file: Descriptor
    private let bell = Bell()
    private let isPipe: Bool
    private let packets = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private let broken = Atomic<Bool>(false)
    private let events = EventBox()
    /// What a pipe is asked to hold: with its usual 64 KiB a reader's short pause would cost messages.
    private static let pipeCapacity: Int32 = 1 << 20
    /// Linux's F_SETPIPE_SZ, which Glibc's module leaves out.
    private static let setPipeCapacity: Int32 = 1031

    /// - Parameter path: nil for standard output.
    init(path: String?) throws(TransportError) {
        // A reader that has gone is an answer from write(), not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        if let path {
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
        // Denied where the user's pipes hold too much already; then it stays as it is.
        if isPipe { _ = fcntl(file.number, Self.setPipeCapacity, Self.pipeCapacity) }
    }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = !isBroken
        figures.connections = 1
        figures.packetsSent = packets.load(ordering: .relaxed)
        figures.bytesSent = bytes.load(ordering: .relaxed)
        return figures
    }

    /// A write failed: what follows would have a hole, so nothing is written any more.
    var isBroken: Bool { broken.load(ordering: .acquiring) }
    func nextEvent() -> LegEvent? { events.take() }

    func send(_ message: UnsafeRawBufferPointer) -> Sent {
        guard !isBroken else { return .notConnected }
        // Ready means that PIPE_BUF bytes fit, more than a message: the write below will not wait.
        if isPipe && file.wait(for: POLLOUT, or: bell, until: .now()) != .ready { return .wouldBlock }
        var written = 0
        while written < message.count {
            let count = unsafe write(file.number, message.baseAddress! + written, message.count - written)
            if count < 0 && errno == EINTR { continue }
            // Somebody else may have made a lent descriptor non-blocking.
            if count < 0 && errno == EAGAIN && written == 0 { return .wouldBlock }
            if count <= 0 {
                // Who sees that it is broken finds the event.
                events.put(.disconnected(reason: count < 0 ? Descriptor.lastError : "nothing more can be written"))
                broken.store(true, ordering: .releasing)
                return .notConnected
            }
            written += count
        }
        packets.add(1, ordering: .relaxed)
        bytes.add(Int64(message.count), ordering: .relaxed)
        return .sent
    }
}
