import Endpoint
import Media

/// One look-up of a host's addresses. Whoever asked can leave: a late answer finds nobody. Thread-safe.
package final class NameLookup: Sendable {
    package typealias Answer = Result<[SocketAddress], TransportError>

    private let found = Lock<Answer?>(nil)
    private let began = MonotonicTime.now()
    private let host: String
    private let place: String

    private init(host: String, place: String) {
        self.host = host
        self.place = place
    }

    /// Begins the look-up. A host that is written as an address has its result at once.
    package static func begin(host: String, port: UInt16, place: String, resolver: any NameResolver) -> NameLookup {
        let lookup = NameLookup(host: host, place: place)
        if let address = SocketAddress.numeric(host: host, port: port) {
            lookup.found.withLock { $0 = .success([address]) }
            return lookup
        }
        resolver.lookUp(host) { lookup.record($0, port: port) }
        return lookup
    }

    private func record(_ answer: Result<[String], NameFault>, port: UInt16) {
        let result: Answer
        switch answer {
        case .failure(let fault): result = .failure(self.fault(fault.text))
        case .success(let texts):
            let addresses = texts.compactMap { SocketAddress.numeric(host: $0, port: port) }
            result = addresses.isEmpty ? .failure(fault("the resolver gave none")) : .success(addresses)
        }
        found.withLock { $0 = $0 ?? result }
    }

    private func fault(_ text: String) -> TransportError {
        TransportError(.unresolvable, place: place, "no address for host \(quoted(host)): \(oneLine(text))")
    }

    /// The outcome; nil until there is one.
    package var result: Answer? {
        if let result = found.withLock({ $0 }) { return result }
        guard MonotonicTime.now() - began > NameResolution.timeout else { return nil }
        return .failure(fault("the resolver did not answer for \(NameResolution.timeout.count / 1_000_000_000) s"))
    }

    /// A host's first address, for whoever opens an endpoint: waits for the process's resolver, so not for a thread that carries
    /// frames or that brings the resolver's answers.
    package static func find(host: String, port: UInt16, place: String) throws(TransportError) -> SocketAddress {
        try findAll(host: host, port: port, place: place, NameResolution.resolver)[0]
    }

    /// Opens something at the first of a host's addresses where that is possible; waits likewise.
    /// - Throws: why it is not possible at the first one, where it is at none.
    static func open<Opened: ~Copyable>(
        host: String, port: UInt16, place: String, resolver: any NameResolver = NameResolution.resolver,
        _ open: (SocketAddress) throws(TransportError) -> Opened
    ) throws(TransportError) -> Opened {
        var first: TransportError?
        for address in try findAll(host: host, port: port, place: place, resolver) {
            do throws(TransportError) { return try open(address) } catch { first = first ?? error }
        }
        throw first!
    }

    private static func findAll(
        host: String, port: UInt16, place: String, _ resolver: any NameResolver
    ) throws(TransportError) -> [SocketAddress] {
        let lookup = begin(host: host, port: port, place: place, resolver: resolver)
        while true {
            if let result = lookup.result { return try result.get() }
            (MonotonicTime.now() + pollInterval).sleep()
        }
    }

    private static let pollInterval = Nanoseconds.milliseconds(1)
}
