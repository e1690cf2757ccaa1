import Endpoint
import Glibc
import Media
import Packets
import Synchronization

/// A UDP proxy that treats datagrams as a bad network does, both ways. Every client gets a socket of its own towards
/// the target. Runs on a thread of its own until it is released. Thread-safe.
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
    ///   - rewrite: changes what clients send on its way; an empty datagram is not one any more. Called on the proxy's
    ///     thread. For tests that need what no honest sender says.
    /// - Throws: `unresolvable` or `cannotBind`.
    public init(
        host: String = "127.0.0.1", port: UInt16 = 0, to target: UDPEndpoint, settings: ImpairmentSettings,
        rewrite: (@Sendable (inout [UInt8]) -> Void)? = nil
    ) throws(TransportError) {
        let place = UDPEndpoint(host: host, port: port).description
        let local = try SocketAddress.resolve(host: host, port: port, place: place)
        let remote = try SocketAddress.resolve(host: target.host, port: target.port, place: target.description)
        let socket = try openUDP(local, place: place)
        guard unsafe local.withSockaddr({ unsafe bind(socket.number, $0, $1) }) == 0 else {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(Descriptor.lastError)")
        }
        localPort = unsafe SocketAddress.filled { unsafe getsockname(socket.number, $0, $1) }?.port ?? 0
        // The thread's path closes it.
        let entrance = dup(socket.number)
        _ = fcntl(entrance, F_SETFD, FD_CLOEXEC)
        let shared = Shared()
        self.shared = shared
        thread = StageThread(name: "impair") {
            let path = ImpairedPath(entrance: entrance, target: remote, settings: settings, rewrite: rewrite)
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
