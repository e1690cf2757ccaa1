import Glibc
import Media

/// Tells systemd how the service is, by datagrams to its notify socket (sd_notify(3)). Does nothing where there is none.
///
/// Thread-safe. A datagram that the socket has no room for is lost: the next one says it again.
public final class ServiceManager: Sendable {
    private let address: [UInt8]
    private let socket: Int32
    /// How often ``isAlive()`` should be said; nil where systemd does not watch.
    public let watchdogInterval: Nanoseconds?

    /// - Parameter environment: `NOTIFY_SOCKET` is a path, or an abstract name behind `@`. `WATCHDOG_USEC` and `WATCHDOG_PID`
    ///   as sd_watchdog_enabled(3) has them.
    public init(environment: [String: String], process: pid_t = getpid()) {
        let name = Array((environment["NOTIFY_SOCKET"] ?? "").utf8)
        // 108 bytes hold a path with the NUL behind it (unix(7)).
        let isUsable = (name.first == UInt8(ascii: "/") || name.first == UInt8(ascii: "@")) && (2..<108).contains(name.count)
        address = isUsable ? name : []
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        socket = isUsable ? Glibc.socket(AF_UNIX, type, 0) : -1
        let isForUs = environment["WATCHDOG_PID"].map { pid_t($0) == process } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
        // Twice within the limit, as sd_watchdog_enabled(3) asks for.
        watchdogInterval = microseconds.flatMap { isForUs && isUsable && $0 > 0 ? .microseconds(min($0, 1 << 50) / 2) : nil }
    }

    deinit { if socket >= 0 { close(socket) } }

    public func isReady(status: String) { send("READY=1\nSTATUS=\(Self.line(status))") }
    /// Before the configuration is read again. ``isReady(status:)`` ends it.
    public func isReloading() { send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicTime.now().nanoseconds / 1000)") }
    public func isStopping() { send("STOPPING=1") }
    public func isAlive() { send("WATCHDOG=1") }
    /// One line for `systemctl status`.
    public func status(_ text: String) { send("STATUS=\(Self.line(text))") }

    private static func line(_ text: String) -> String { text.split(whereSeparator: \.isNewline).joined(separator: " ") }

    private func send(_ text: String) {
        guard socket >= 0 else { return }
        var to = sockaddr_un()
        to.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &to.sun_path) { path in
            unsafe path.copyBytes(from: address)
            if address[0] == UInt8(ascii: "@") { unsafe path[0] = 0 }
        }
        // The length tells where an abstract name ends. Behind a path is a NUL.
        let isPath = address[0] != UInt8(ascii: "@")
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count + (isPath ? 1 : 0))
        let bytes = Array(text.utf8)
        unsafe withUnsafePointer(to: &to) { to in
            unsafe to.withMemoryRebound(to: sockaddr.self, capacity: 1) { to in
                _ = unsafe sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), to, length)
            }
        }
    }
}
