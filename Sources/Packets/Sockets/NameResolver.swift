import Endpoint
import Media

/// Looks up the addresses of hosts. Thread-safe.
///
/// The process has one (``NameResolution``). A worker that may not open sockets of its own has its supervisor do the work.
public protocol NameResolver: Sendable {
    /// Begins a look-up and returns at once.
    /// - Parameters:
    ///   - host: a name; hosts that are written as addresses are never asked for.
    ///   - answer: to be called once, on any thread, with addresses as text (`192.0.2.1`, `2001:db8::1`), the best one first, or
    ///     with what is wrong. An answer that comes after ``NameResolution/timeout`` is ignored.
    func lookUp(_ host: String, answer: @escaping @Sendable (Result<[String], NameFault>) -> Void)
}

/// Why a host has no address: one sentence without the host's name.
public struct NameFault: Error, Hashable, Sendable {
    public var text: String
    public init(_ text: String) { self.text = text }
}

/// The process's resolver.
public enum NameResolution {
    /// After so long an attempt counts as failed. A leg that calls tries again, with a new question.
    public static let timeout = Nanoseconds.seconds(20)

    private static let present = Lock<any NameResolver>(SystemResolver())

    /// Look-ups that begin from now on go to this resolver.
    public static func use(_ resolver: any NameResolver) { present.withLock { $0 = resolver } }

    package static var resolver: any NameResolver { present.withLock { $0 } }
}

/// The system's resolver. Each look-up has a thread of its own, because the resolver cannot be interrupted and may keep a thread
/// for half a minute. The thread ends when the resolver returns.
struct SystemResolver: NameResolver {
    /// So many threads may wait for the resolver. More than that means that it hangs.
    private static let mostAtOnce = 32
    private static let underWay = Lock(0)

    func lookUp(_ host: String, answer: @escaping @Sendable (Result<[String], NameFault>) -> Void) {
        let mayBegin = Self.underWay.withLock { count in
            guard count < Self.mostAtOnce else { return false }
            count += 1
            return true
        }
        guard mayBegin else {
            answer(.failure(NameFault("\(Self.mostAtOnce) look-ups wait for the system's resolver already")))
            return
        }
        StageThread(name: "resolve") {
            let result = SocketAddress.lookUp(host)
            Self.underWay.withLock { $0 -= 1 }
            answer(result)
        }.detach()
    }
}
