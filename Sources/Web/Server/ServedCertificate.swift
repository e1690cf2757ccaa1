import HummingbirdCore
import Logging
import Media
import NIOCore
import NIOSSL

/// The certificate that new connections get. It can be read again while the service runs; connections that are open keep
/// theirs.
///
/// Thread-safe.
public final class ServedCertificate: Sendable {
    private struct Served {
        var context: NIOSSLContext
        /// Seconds since 1970.
        var expires: Double
    }

    private let files: CertificateFiles
    private let served: Lock<Served>

    /// Reads the files. Throws when they cannot be read or do not fit.
    public init(_ files: CertificateFiles) throws(WebFault) {
        self.files = files
        served = Lock(try Self.read(files))
    }

    /// Reads the files again. When they cannot be used, it throws and keeps the old ones.
    public func reload() throws(WebFault) {
        let new = try Self.read(files)
        served.withLock { $0 = new }
    }

    /// When the certificate expires, in seconds since 1970.
    public var expires: Double { served.withLock { $0.expires } }

    var context: NIOSSLContext { served.withLock { $0.context } }

    private static func read(_ files: CertificateFiles) throws(WebFault) -> Served {
        func attempt<Value>(_ file: String, _ body: () throws -> Value) throws(WebFault) -> Value {
            do { return try body() } catch {
                throw WebFault("\(file): cannot be used for TLS (\(error)): give a PEM file that this user may read")
            }
        }
        let chain = try attempt(files.chain) { try NIOSSLCertificate.fromPEMFile(files.chain) }
        guard let first = chain.first else {
            throw WebFault("\(files.chain): has no certificate in it: give a PEM file")
        }
        let key = try attempt(files.key) { try NIOSSLPrivateKey(file: files.key, format: .pem) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        let context = try attempt("\(files.chain) with \(files.key)") { try NIOSSLContext(configuration: configuration) }
        return Served(context: context, expires: Double(first.notValidAfter))
    }
}

/// A connection over TLS, with the certificate that is served when it begins.
struct TLSConnection<Plain: ServerChildChannel>: ServerChildChannel {
    let plain: Plain
    let certificate: ServedCertificate

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Plain.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: certificate.context))
        }.flatMap {
            plain.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Plain.Value, logger: Logger) async { await plain.handle(value: value, logger: logger) }
}
