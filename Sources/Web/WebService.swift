import Control
import Glibc
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The HTTP interface of the service.
public enum Web {
    /// - Parameters:
    ///   - service: What the interface shows and changes.
    ///   - onListening: Called once with the port on which it listens.
    /// - Throws: When the configuration is not safe or a certificate cannot be used. ``WebService/run()`` throws when the
    ///   address cannot be bound.
    public static func service(
        _ configuration: WebConfiguration, service: any StreamService, logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws(WebFault) -> WebService {
        try configuration.check()
        var certificate: ServedCertificate?
        if let files = configuration.certificate { certificate = try ServedCertificate(files) }
        return WebService(
            configuration: configuration, service: service, present: PresentGuard(configuration), certificate: certificate,
            logger: logger, onListening: onListening)
    }
}

/// Serves until it is shut down gracefully or cancelled. One thread serves all connections.
public struct WebService: Service {
    let configuration: WebConfiguration
    let service: any StreamService
    let present: PresentGuard
    /// Nil without TLS.
    public let certificate: ServedCertificate?
    let logger: Logger
    let onListening: @Sendable (Int) async -> Void

    /// Applies what may change while the interface serves: token, names and origins; and reads the certificate again.
    /// - Throws: When that is not safe, or the certificate cannot be used. Then all stays as it was.
    public func apply(_ new: WebConfiguration) throws(WebFault) {
        var applied = configuration
        applied.token = new.token
        applied.allowsNoToken = new.allowsNoToken
        applied.names = new.names
        applied.origins = new.origins
        applied.iceServers = new.iceServers
        applied.turnSecret = new.turnSecret
        try applied.check()
        try certificate?.reload()
        present.apply(applied)
    }

    public func run() async throws {
        let counters = WebCounters()
        let site = Site(
            service: service, present: present, counters: counters, logger: logger, certificate: certificate, routes: Routes.all
        )
        let connections = Connections(most: configuration.mostConnections, counters: counters)
        let timeouts = configuration.timeouts
        let limits = HTTP1Channel.Configuration(
            additionalChannelHandlers: [ConnectionHandler(timeouts: timeouts, connections: connections)],
            httpDecoderConfiguration: .init(maxHeaderFieldSize: 8 * 1024, maxHeaderListSize: 16 * 1024, maxHeaderFieldCount: 64)
        )
        let certificate = certificate
        let server = HTTPServerBuilder { responder in
            let plain = HTTP1Channel(responder: responder, configuration: limits)
            return certificate.map { TLSConnection(plain: plain, certificate: $0) } ?? plain
        }
        // Hummingbird and swift-nio report each connection; that is for their developers.
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let (logger, onListening, scheme) = (logger, onListening, certificate == nil ? "http" : "https")
        let application = Application(
            responder: WebResponder(site: site), server: server,
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port)),
            onServerRunning: { channel in
                let address = channel.localAddress
                logger.info("listening on \(scheme)://\(address.map(Self.text) ?? "?")")
                await onListening(address?.port ?? 0)
            },
            eventLoopGroupProvider: .shared(Self.loop), logger: quiet)
        do {
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: {
                // A response that is under way may end. A client that is slow has no say in when the service ends.
                _ = Self.loop.next().scheduleTask(in: TimeAmount(timeouts.ending)) { connections.closeAll() }
            }
        } catch let error as IOError {
            let (reason, remedy) =
                switch error.errnoCode {
                case EADDRINUSE: ("another program listens there", "end it, or configure another port")
                case EADDRNOTAVAIL: ("this machine has no such address", "configure one that it has")
                case EACCES: ("this user may not", "configure a port from 1024 on")
                default: ("\(error)", "configure another address or port")
                }
            throw WebFault("cannot listen on \(configuration.host):\(configuration.port): \(reason): \(remedy)")
        }
    }

    /// One thread serves all connections. It lives as long as the process: a connection may end a moment after its server.
    private static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private static func text(_ address: SocketAddress) -> String {
        let host = address.ipAddress ?? "?"
        return (host.contains(":") ? "[\(host)]" : host) + ":\(address.port ?? 0)"
    }
}
