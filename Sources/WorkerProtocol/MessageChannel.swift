import Glibc
import Media
import Synchronization

/// The supervisor's end.
public typealias SupervisorChannel = MessageChannel<SupervisorMessage, WorkerMessage>
/// The worker's end.
public typealias WorkerChannel = MessageChannel<WorkerMessage, SupervisorMessage>

/// One end of the socket pair between supervisor and worker (`SOCK_SEQPACKET`: one packet, one message).
///
/// Any thread may send: ``send(_:descriptors:)`` never waits. What the socket has no room for waits in a bounded queue. One
/// thread receives (``receive(until:)``) and sends what waits; without such a thread, poll ``descriptor`` and call
/// ``receive()`` and ``flush()``.
public final class MessageChannel<Outgoing: ChannelMessage, Incoming: ChannelMessage>: Sendable {
    /// What became of a message that was sent.
    public enum Sent: Hashable, Sendable {
        /// The kernel has it, or it waits in the queue.
        case sent
        /// It was dropped and counted: the queue is full, or the message is too large.
        case lost
        /// The other end is gone, or does not read (``ChannelMessage/isExpendable``).
        case closed
    }

    /// What has come.
    public enum Arrival: Sendable {
        /// The descriptors are closed when nobody claims them.
        case message(Incoming, [PassedDescriptor])
        /// A packet that is no message. The next one may be.
        case malformed(MessageFault)
        /// The other end is gone, or ``MessageChannel/close()`` was called. Nothing more will come.
        case closed
    }

    private struct Packet {
        var bytes: [UInt8]
        /// Duplicates, because the sender may close its own before this packet leaves.
        var descriptors: [PassedDescriptor]
    }

    private struct Backlog {
        var packets: [Packet] = []
        var byteCount = 0
        var isClosed = false
    }

    /// How much waits at most while the other end does not read.
    private static var mostPackets: Int { 128 }
    private static var mostBytes: Int { 1 << 20 }

    private let socket: PacketSocket
    /// Ends the wait of ``receive(until:)``: something waits to be sent, or the channel is closed.
    private let bell: Bell
    private let isWoken = Atomic<Bool>(false)
    private let backlog = Lock(Backlog())
    private let lost = Atomic<UInt64>(0)

    /// - Parameter number: one end of a `SOCK_SEQPACKET` pair; owned from now on, and closed when this throws.
    /// - Throws: when the process has no descriptor left.
    public init(owning number: Int32) throws(MessageFault) {
        let end = PassedDescriptor(owning: number)
        guard let bell = Bell.made() else {
            throw MessageFault("no pipe for a worker's channel: \(unsafe String(cString: strerror(errno)))")
        }
        self.bell = bell
        socket = PacketSocket(owning: end.claim())
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    /// For `poll`: readable when something has come, writable when ``flush()`` may send. Owned by the channel.
    public var descriptor: Int32 { socket.number }

    /// How many messages were lost.
    public var messagesLost: UInt64 { lost.load(ordering: .relaxed) }

    /// Whether messages wait because the socket was full.
    public var hasBacklog: Bool { backlog.withLock { !$0.packets.isEmpty } }

    public var isClosed: Bool { backlog.withLock { $0.isClosed } }

    /// Sends a message. Never waits.
    /// - Parameter descriptors: stay the caller's, who may close them when this call has returned. At most
    ///   ``MessageCoding/mostDescriptors``.
    @discardableResult public func send(_ message: Outgoing, descriptors: [Int32] = []) -> Sent {
        guard let bytes = try? MessageCoding.encode(message), descriptors.count <= MessageCoding.mostDescriptors else {
            lost.add(1, ordering: .relaxed)
            return .lost
        }
        let (sent, mustWake) = backlog.withLock { backlog in post(bytes, descriptors, message.isExpendable, &backlog) }
        if sent == .lost { lost.add(1, ordering: .relaxed) }
        if mustWake { bell.ring() }
        return sent
    }

    private func post(
        _ bytes: [UInt8], _ descriptors: [Int32], _ isExpendable: Bool, _ backlog: inout Backlog
    ) -> (Sent, mustWake: Bool) {
        if backlog.isClosed { return (.closed, false) }
        if backlog.packets.isEmpty {
            switch socket.send(bytes, descriptors) {
            case .sent: return (.sent, false)
            case .closed: return (.closed, end(&backlog))
            case .full: break
            }
        }
        let hasRoom = backlog.packets.count < Self.mostPackets && backlog.byteCount + bytes.count <= Self.mostBytes
        guard hasRoom else { return isExpendable ? (.lost, false) : (.closed, end(&backlog)) }
        let copies = descriptors.map { PassedDescriptor(owning: fcntl($0, F_DUPFD_CLOEXEC, 0)) }
        guard copies.allSatisfy({ $0.number >= 0 }) else { return isExpendable ? (.lost, false) : (.closed, end(&backlog)) }
        backlog.packets.append(Packet(bytes: bytes, descriptors: copies))
        backlog.byteCount += bytes.count
        return (.sent, true)
    }

    /// - Returns: true, since the receiving thread has to see it.
    private func end(_ backlog: inout Backlog) -> Bool {
        backlog.isClosed = true
        backlog.packets = []
        backlog.byteCount = 0
        shutdown(socket.number, Int32(SHUT_RDWR))
        return true
    }

    /// Sends what waits, as far as there is room.
    public func flush() {
        backlog.withLock { backlog in
            var gone = 0
            sending: for packet in backlog.packets {
                switch socket.send(packet.bytes, packet.descriptors.map(\.number)) {
                case .sent:
                    gone += 1
                    backlog.byteCount -= packet.bytes.count
                case .full: break sending
                case .closed:
                    _ = end(&backlog)
                    return
                }
            }
            backlog.packets.removeFirst(gone)
        }
    }

    /// What has come; nil while there is nothing. Call it from one thread at a time.
    public func receive() -> Arrival? {
        switch socket.receive() {
        case nil: return nil
        case .closed:
            backlog.withLock { _ = end(&$0) }
            return .closed
        case .oversized:
            return .malformed(
                MessageFault(
                    "a message is larger than \(MessageCoding.largestMessage) bytes or \(MessageCoding.mostDescriptors) descriptors"
                ))
        case .packet(let bytes, let descriptors):
            do throws(MessageFault) {
                return .message(try MessageCoding.decode(Incoming.self, from: bytes), descriptors)
            } catch {
                return .malformed(error)
            }
        }
    }

    /// Waits for the next arrival, and sends what waits meanwhile. Call it from one thread at a time.
    /// - Parameter limit: when to return without one; nil waits for ever.
    /// - Returns: nil when the time came first, or ``wake()`` was called.
    public func receive(until limit: MonotonicTime?) -> Arrival? {
        while true {
            if let arrival = receive() { return arrival }
            let hasBacklog = hasBacklog
            var descriptors = [
                pollfd(fd: socket.number, events: Int16(POLLIN | (hasBacklog ? POLLOUT : 0)), revents: 0),
                pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0),
            ]
            let left = limit.map { Int32(clamping: (max(($0 - .now()).count, 0) + 999_999) / 1_000_000) } ?? -1
            let count = unsafe poll(&descriptors, 2, left)
            if count > 0, descriptors[0].revents & Int16(POLLOUT) != 0 { flush() }
            if count > 0, descriptors[1].revents != 0 {
                bell.silence()
                if isWoken.exchange(false, ordering: .acquiring) { return receive() }
            }
            if count == 0, let limit, MonotonicTime.now() >= limit { return nil }
        }
    }

    /// Ends the wait of the thread that receives, or its next one. Thread-safe.
    public func wake() {
        isWoken.store(true, ordering: .releasing)
        bell.ring()
    }

    /// Ends the channel for both sides. Thread-safe; the descriptor lives until this value is gone.
    public func close() {
        backlog.withLock { _ = end(&$0) }
        bell.ring()
    }
}

extension MessageChannel where Outgoing == SupervisorMessage, Incoming == WorkerMessage {
    /// A channel to a worker, and the worker's end of it: pass `child` to the new process (it is closed by `exec` unless it is
    /// duplicated), then let go of it.
    public static func pair() throws(MessageFault) -> (parent: SupervisorChannel, child: PassedDescriptor) {
        let (parent, other) = try PacketSocket.pair()
        let child = PassedDescriptor(owning: other)
        return (try SupervisorChannel(owning: parent), child)
    }
}
