import Glibc
import Media
import Packets

/// Both directions between the clients of an ``ImpairmentProxy`` and its target. Owned by the proxy's thread.
final class ImpairedPath {
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

    /// One client more replaces the one that has been silent longest.
    private static let mostClients = 16
    /// What IPv4 and UDP add to a datagram on the wire.
    private static let headers = 28
    /// How long the thread sleeps at most without a datagram; nothing depends on it.
    private static let longestSleep = Nanoseconds.milliseconds(100)
    /// `poll` counts in milliseconds. The rest of the way to a due time is slept in naps of this length, between which
    /// datagrams may come.
    private static let nap = Nanoseconds.microseconds(200)

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

    /// - Parameter entrance: the socket that clients send to, which the path closes.
    init(
        entrance: Int32, target: SocketAddress, settings: ImpairmentSettings,
        rewrite: (@Sendable (inout [UInt8]) -> Void)?
    ) {
        self.entrance = entrance
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
    func step(bell: Bell, isDark: () -> Bool) {
        sleepUntilWork(bell)
        receiveAll(dark: isDark())
        let now = MonotonicTime.now() - start
        let due = queue.prefix { $0.due <= now }.count
        for datagram in queue.prefix(due) { deliver(datagram) }
        queue.removeFirst(due)
    }

    private func sleepUntilWork(_ bell: Bell) {
        let wait = (queue.first?.due).map { $0 - (MonotonicTime.now() - start) } ?? Self.longestSleep
        guard wait > .zero else { return }
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0))
        descriptors.append(pollfd(fd: entrance, events: Int16(POLLIN), revents: 0))
        for client in clients { descriptors.append(pollfd(fd: client.socket, events: Int16(POLLIN), revents: 0)) }
        let milliseconds = Int32(clamping: wait.count / 1_000_000)
        let ready = unsafe poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        if ready == 0 && milliseconds == 0 { (MonotonicTime.now() + min(wait, Self.nap)).sleep() }
        if descriptors[0].revents != 0 { bell.silence() }
    }

    private func receiveAll(dark: Bool) {
        var from: SocketAddress?
        while let count = receive(on: entrance, &from), let address = from {
            enqueue(count, client: client(at: address), upstream: true, dark: dark)
        }
        for index in clients.indices {
            while let count = receive(on: clients[index].socket, &from) {
                enqueue(count, client: index, upstream: false, dark: dark)
            }
        }
    }

    private func receive(on socket: Int32, _ from: inout SocketAddress?) -> Int? {
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
        // Searched from the end, because jitter and the two directions move it by a few places only.
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

    /// The client at an address; a new one if there is none.
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
