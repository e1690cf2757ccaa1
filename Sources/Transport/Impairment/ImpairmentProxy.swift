import CSRT  // Some of the kernel's names are filed under whichever module includes them first.
import Glibc
import Media
import Synchronization

/// A UDP proxy that treats datagrams as a bad network does, both ways. Every client gets a socket of its own towards
/// the target. Runs on a thread of its own until it is let go of. Thread-safe.
public final class ImpairmentProxy: Sendable {
    /// What has passed so far.
    public struct Counts: Hashable, Sendable {
        public var forwarded: Int64 = 0
        public var lost: Int64 = 0
    }

    /// The port that clients send to.
    public let localPort: UInt16
    private let shared: Shared
    private let thread: StageThread

    private final class Shared: Sendable {
        let stopping = Atomic<Bool>(false)
        let dark = Atomic<Bool>(false)
        let forwarded = Atomic<Int64>(0)
        let lost = Atomic<Int64>(0)
        let bell = Bell()
    }

    /// Starts forwarding.
    /// - Parameters:
    ///   - host: the local address to listen on.
    ///   - port: the port to listen on; 0 for any free one.
    ///   - target: where to send what comes.
    public convenience init(
        host: String = "127.0.0.1", port: UInt16 = 0, to target: UDPEndpoint, settings: ImpairmentSettings
    ) throws(TransportError) {
        try self.init(host: host, port: port, to: target, settings: settings, rewrite: nil)
    }

    /// - Parameter rewrite: changes what clients send on its way. For tests: what no honest sender says.
    init(
        host: String = "127.0.0.1", port: UInt16 = 0, to target: UDPEndpoint, settings: ImpairmentSettings,
        rewrite: (@Sendable (inout [UInt8]) -> Void)?
    ) throws(TransportError) {
        let place = "udp://\(bracketed(host)):\(port)"
        let local = try SocketAddress.resolve(host: host, port: port, place: place)
        let remote = try SocketAddress.resolve(host: target.host, port: target.port, place: target.description)
        let entrance = try openUDP(local, place: place)
        guard unsafe local.withSockaddr({ unsafe bind(entrance.number, $0, $1) }) == 0 else {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(Descriptor.lastError)")
        }
        localPort = unsafe SocketAddress.filled { unsafe getsockname(entrance.number, $0, $1) }?.port ?? 0
        let shared = Shared()
        self.shared = shared
        let path = ImpairedPath(entrance: entrance, target: remote, settings: settings, rewrite: rewrite)
        thread = StageThread(name: "impair") {
            while !shared.stopping.load(ordering: .acquiring) {
                path.step(bell: shared.bell) { shared.dark.load(ordering: .relaxed) }
                shared.forwarded.store(path.forwarded, ordering: .relaxed)
                shared.lost.store(path.lost, ordering: .relaxed)
            }
        }
    }

    deinit {
        shared.stopping.store(true, ordering: .releasing)
        shared.bell.ring()
        thread.join()
    }

    /// While true, nothing passes in either direction.
    public var isDark: Bool {
        get { shared.dark.load(ordering: .relaxed) }
        set { shared.dark.store(newValue, ordering: .relaxed) }
    }

    public var counts: Counts {
        Counts(
            forwarded: shared.forwarded.load(ordering: .relaxed), lost: shared.lost.load(ordering: .relaxed))
    }
}

/// The proxy's insides, used by its one thread.
private final class ImpairedPath: @unchecked Sendable {
    private struct Client {
        var address: SocketAddress
        var socket: Int32
        var lastHeard: Nanoseconds
    }

    private struct Datagram {
        var due: Nanoseconds
        var order: Int
        /// Index of the client, and which way it goes.
        var client: Int
        var upstream: Bool
        var bytes: [UInt8]
    }

    /// More clients at a time than this push out the one that has been silent longest.
    private static let mostClients = 16
    /// What IPv4 and UDP add to a datagram on the wire.
    private static let headers = 28

    private let entrance: Int32
    private let target: SocketAddress
    private let start = MonotonicTime.now()
    private let rewrite: (@Sendable (inout [UInt8]) -> Void)?
    private var up: Impairment
    private var down: Impairment
    private var clients: [Client] = []
    /// Ordered by due time, then by arrival.
    private var queue: [Datagram] = []
    private var order = 0
    private var buffer: [UInt8] = Array(repeating: 0, count: 65_536)
    private var descriptors: [pollfd] = []
    private(set) var forwarded: Int64 = 0
    private(set) var lost: Int64 = 0

    init(
        entrance: consuming Descriptor, target: SocketAddress, settings: ImpairmentSettings,
        rewrite: (@Sendable (inout [UInt8]) -> Void)?
    ) {
        self.entrance = dup(entrance.number)
        _ = fcntl(self.entrance, F_SETFD, FD_CLOEXEC)
        self.target = target
        self.rewrite = rewrite
        up = Impairment(settings, direction: 0)
        down = Impairment(settings, direction: 1)
    }

    deinit {
        close(entrance)
        for client in clients { close(client.socket) }
    }

    /// Waits for datagrams, the next due time or the bell; then moves everything that can move.
    func step(bell: borrowing Bell, isDark: () -> Bool) {
        sleepUntilWork(bell)
        receive(dark: isDark())
        let now = MonotonicTime.now() - start
        let due = queue.prefix { $0.due <= now }.count
        for datagram in queue.prefix(due) { deliver(datagram) }
        queue.removeFirst(due)
    }

    private func sleepUntilWork(_ bell: borrowing Bell) {
        let wait = (queue.first?.due).map { $0 - (MonotonicTime.now() - start) } ?? .milliseconds(100)
        guard wait > .zero else { return }
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0))
        descriptors.append(pollfd(fd: entrance, events: Int16(POLLIN), revents: 0))
        for client in clients { descriptors.append(pollfd(fd: client.socket, events: Int16(POLLIN), revents: 0)) }
        // poll counts in milliseconds: the rest of the way is slept in short naps.
        let milliseconds = Int32(clamping: wait.count / 1_000_000)
        let ready = unsafe poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        if ready == 0 && milliseconds == 0 { (MonotonicTime.now() + min(wait, .microseconds(200))).sleep() }
        if descriptors[0].revents != 0 { bell.quieten() }
    }

    private func receive(dark: Bool) {
        var from: SocketAddress?
        while let count = take(entrance, &from), let address = from {
            enqueue(count, client: client(at: address), upstream: true, dark: dark)
        }
        for index in clients.indices {
            while let count = take(clients[index].socket, &from) {
                enqueue(count, client: index, upstream: false, dark: dark)
            }
        }
    }

    private func take(_ socket: Int32, _ from: inout SocketAddress?) -> Int? {
        var count = -1
        from = unsafe SocketAddress.filled { address, length in
            count = unsafe recvfrom(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT), address, length)
            return 0
        }
        return count >= 0 ? count : nil
    }

    private func enqueue(_ count: Int, client: Int, upstream: Bool, dark: Bool) {
        let now = MonotonicTime.now() - start
        let verdict =
            upstream
            ? up.judge(at: now, byteCount: count + Self.headers) : down.judge(at: now, byteCount: count + Self.headers)
        guard case .deliver(let due) = verdict, !dark else {
            lost += 1
            return
        }
        order += 1
        var datagram = Datagram(
            due: due, order: order, client: client, upstream: upstream, bytes: Array(buffer[..<count]))
        if upstream, let rewrite { rewrite(&datagram.bytes) }
        // Mostly at the end: jitter and the two directions move it forward by a few places.
        var index = queue.endIndex
        while index > 0, queue[index - 1].due > due { index -= 1 }
        queue.insert(datagram, at: index)
    }

    private func deliver(_ datagram: Datagram) {
        let client = clients[datagram.client]
        let bytes = datagram.bytes
        if datagram.upstream {
            _ = unsafe send(client.socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        } else {
            _ = unsafe client.address.withSockaddr { unsafe sendto(entrance, bytes, bytes.count, 0, $0, $1) }
        }
        forwarded += 1
    }

    /// The client at an address, a new one if need be.
    private func client(at address: SocketAddress) -> Int {
        let now = MonotonicTime.now() - start
        if let index = clients.firstIndex(where: { $0.address == address }) {
            clients[index].lastHeard = now
            return index
        }
        let number = socket(
            target.family, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        _ = unsafe target.withSockaddr { unsafe connect(number, $0, $1) }
        let client = Client(address: address, socket: number, lastHeard: now)
        guard clients.count == Self.mostClients else {
            clients.append(client)
            return clients.count - 1
        }
        let oldest = clients.indices.min { clients[$0].lastHeard < clients[$1].lastHeard } ?? 0
        close(clients[oldest].socket)
        queue.removeAll { $0.client == oldest }
        clients[oldest] = client
        return oldest
    }
}
