import Endpoint
import Glibc
import Media
import Packets
import Synchronization

/// Reads a file or pipe in pieces of whole TS packets' size. `receive` belongs to one thread.
final class FileSource: Sendable {
    private let bell: Bell
    private let figures: Figures
    private let reader: ThreadConfined<Reader>

    /// Counted by the thread that reads, read by any.
    private final class Figures: Sendable {
        let bytes = Atomic<Int64>(0)
    }

    /// - Parameters:
    ///   - path: nil for standard input.
    ///   - descriptor: the open file, which is closed with the source; nil to open the path.
    init(path: String?, adopting descriptor: Int32? = nil) throws(TransportError) {
        let place = path.map(oneLine) ?? "standard input"
        let file: Descriptor
        if let descriptor {
            file = Descriptor(owning: descriptor)
        } else if let path {
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
        bell = Bell()
        figures = Figures()
        reader = ThreadConfined(Reader(file, place: place, bell, figures))
    }

    func interrupt() { bell.ring() }

    func statistics() -> LegFigures {
        var statistics = LegFigures()
        statistics.isConnected = true
        statistics.connections = 1
        statistics.bytesReceived = figures.bytes.load(ordering: .relaxed)
        return statistics
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        reader.use { unsafe $0.receive(into: buffer, until: limit) }
    }

    private struct Reader: ~Copyable {
        private let file: Descriptor
        private let place: String
        private let bell: Bell
        private let figures: Figures
        private var sequence: Int64 = 0
        private var hasEnded = false
        /// Why nothing more can be read.
        private var failure: TransportError?
        /// A piece: seven TS packets, as in a datagram.
        private static let piece = 1316

        init(_ file: consuming Descriptor, place: String, _ bell: Bell, _ figures: Figures) {
            self.file = file
            self.place = place
            self.bell = bell
            self.figures = figures
        }

        mutating func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
            if let failure { return .failed(failure) }
            guard !hasEnded else { return .end }
            // A pipe's reader must not sleep in read(), where nobody could interrupt it. Files are always ready.
            guard file.wait(for: POLLIN, or: bell, until: limit) == .ready else { return .idle }
            var filled = 0
            repeat {
                let count = unsafe readOnce(into: buffer.baseAddress! + filled, Self.piece - filled)
                // Another program may have made a lent descriptor non-blocking.
                if count < 0 && errno == EAGAIN { break }
                if count < 0 {
                    failure = TransportError(.inaccessible, place: place, "cannot be read on: \(Descriptor.lastError)")
                    break
                }
                if count == 0 {
                    hasEnded = true
                    break
                }
                filled += count
                // A pipe may give less. The demuxer finds packet borders itself.
            } while filled < Self.piece && filled % 188 != 0 && file.wait(for: POLLIN, or: bell, until: .now()) == .ready
            if filled == 0 { return failure.map { .failed($0) } ?? (hasEnded ? .end : .idle) }
            figures.bytes.add(Int64(filled), ordering: .relaxed)
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
}
