import Endpoint
import Media

/// Looks up a host's address on a thread of its own, because the system's resolver cannot be interrupted and may keep a
/// thread for half a minute. The caller can leave; the thread uses nothing but this object and ends when the resolver
/// returns. Thread-safe.
final class NameLookup: Sendable {
    /// The system's resolver; tests have one that does not answer.
    typealias Resolver = @Sendable (_ host: String, _ port: UInt16, _ place: String) throws(TransportError) -> SocketAddress

    private let found = Lock<Result<SocketAddress, TransportError>?>(nil)

    private init() {}

    /// Begins the look-up.
    static func begin(host: String, port: UInt16, place: String, resolver: @escaping Resolver) -> NameLookup {
        let lookup = NameLookup()
        StageThread(name: "resolve") {
            let result: Result<SocketAddress, TransportError>
            do throws(TransportError) {
                result = .success(try resolver(host, port, place))
            } catch {
                result = .failure(error)
            }
            lookup.found.withLock { $0 = result }
        }.detach()
        return lookup
    }

    /// The outcome; nil until there is one.
    var result: Result<SocketAddress, TransportError>? { found.withLock { $0 } }
}
