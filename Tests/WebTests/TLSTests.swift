import Foundation
import NIOSSL
import TestSupport
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(10))) struct TLSTests {
    /// A certificate for localhost and its key.
    private static func makeCertificate(_ folder: TemporaryFolder, _ name: String, days: Int = 30) throws -> CertificateFiles {
        let files = CertificateFiles(chain: folder.file("\(name).crt").path, key: folder.file("\(name).key").path)
        let made = try runTool([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "\(days)",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", files.key, "-out", files.chain,
        ])
        try #require(made.status == 0, "\(made.errors)")
        return files
    }

    private static func trust(_ files: CertificateFiles) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(files.chain)
        return try NIOSSLContext(configuration: configuration)
    }

    @Test func theInterfaceIsServedOverTLS() async throws {
        let folder = try TemporaryFolder()
        let files = try Self.makeCertificate(folder, "a")
        try await serving(trust: try Self.trust(files), configure: { $0.certificate = files }) { client async throws in
            #expect(try await client.get("/livez").text == "ok\n")
            let cookie =
                try await client.send("POST", "/login", body: #"{"token":"\#(testToken)"}"#).headers["set-cookie"] ?? ""
            #expect(cookie.hasPrefix("__Host-") && cookie.contains("; Secure"))
            let expiry = try await client.get("/metrics").text.split(separator: "\n")
                .first { $0.hasPrefix("burnish_tls_certificate_expiry_timestamp_seconds ") }?.split(separator: " ").last
            let seconds = try #require(expiry.flatMap { Double($0) }) - Date().timeIntervalSince1970
            #expect(abs(seconds - 30 * 86400) < 86400)
            // Plain HTTP gets nothing, and harms nobody.
            let plain = try await WebClient(port: client.port).connect { connection async throws in
                try await connection.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try? await connection.rest()
            }
            #expect(plain?.contains("ok") != true)
            #expect(try await client.get("/livez").status == 200)
        }
    }

    /// New connections get the new certificate; a bad file keeps the old one.
    @Test func theCertificateIsReadAgain() async throws {
        let folder = try TemporaryFolder()
        let (first, second) = (try Self.makeCertificate(folder, "a"), try Self.makeCertificate(folder, "b", days: 60))
        let served = try ServedCertificate(first)
        let expires = served.expires
        try FileManager.default.removeItem(atPath: first.chain)
        #expect(throws: WebFault.self) { try served.reload() }
        #expect(served.expires == expires)
        try FileManager.default.copyItem(atPath: second.chain, toPath: first.chain)
        // The key does not fit the certificate.
        #expect(throws: WebFault.self) { try served.reload() }
        #expect(served.expires == expires)
        try FileManager.default.removeItem(atPath: first.key)
        try FileManager.default.copyItem(atPath: second.key, toPath: first.key)
        try served.reload()
        #expect(served.expires > expires + 20 * 86400)
    }

    @Test func filesThatAreNoCertificatesAreNamed() throws {
        let folder = try TemporaryFolder()
        let files = try Self.makeCertificate(folder, "a")
        for (chain, key, named) in [
            ("/nothing", files.key, "/nothing"), (files.chain, "/nothing", "/nothing"), (files.key, files.key, files.key),
            (files.chain, files.chain, files.chain),
        ] {
            do {
                _ = try ServedCertificate(CertificateFiles(chain: chain, key: key))
                Issue.record("\(chain) and \(key) were accepted")
            } catch {
                #expect(error.text.contains(named))
            }
        }
    }
}
