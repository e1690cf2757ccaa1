import Control
import Endpoint
import HTTPTypes
import Logging
import Media
import ServiceConfiguration
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(10))) struct AccessTests {
    /// Every route that changes something wants the token; on loopback the others do not.
    @Test func changesNeedTheToken() async throws {
        let service = FakeService()
        try await serving(service) { client async throws in
            for route in Routes.all where route.id != "followEvents" {
                let path = route.path.replacing("{name}", with: "cam1").replacing("{side}", with: "after").replacing(
                    "{id}", with: "7"
                ).replacing("{room}", with: "team").replacing("{seat}", with: "1")
                let status = try await client.send(route.method.rawValue, path, body: route.body == nil ? nil : "{}").status
                let changes =
                    [.changes, .guests].contains(route.access) || (route.access == .calls && route.path.hasPrefix("/whip"))
                #expect((status == 401) == changes, "\(route.id): \(status)")
            }
            for wrong in [
                "Bearer \(testToken)0", "Bearer \(testToken.dropLast())", "Bearer", "Bearer ", "Basic \(testToken)", testToken,
                "Bearer \(testToken) \(testToken)", "Bearer \(String(repeating: "0", count: 32))",
            ] {
                let answer = try await client.send("POST", "/api/v1/reload", headers: ["Authorization": wrong])
                #expect(answer.status == 401, "\(wrong)")
                #expect(answer.headers["www-authenticate"] == "Bearer realm=\"burnish\"")
            }
            #expect(service.state.withLock { $0.reloads } == 0)
            #expect(
                try await client.send("POST", "/api/v1/reload", headers: ["Authorization": "bearer \(testToken)"]).status == 204
            )
            #expect(service.state.withLock { $0.reloads } == 1)
        }
    }

    /// Where others than this machine may reach the service, streams, pictures and records want the token, too.
    @Test func beyondLoopbackViewsNeedTheToken() async throws {
        try await serving(configure: {
            $0.names = ["relay.example"]; $0.certificate = nil
        }) { client async throws in
            for route in Routes.all where route.id != "followEvents" && route.access != .changes {
                let path = route.path.replacing("{name}", with: "cam1").replacing("{side}", with: "after").replacing(
                    "{room}", with: "team"
                ).replacing("{seat}", with: "1")
                let status = try await client.send(route.method.rawValue, path, body: route.body == nil ? nil : "{}").status
                #expect((status == 401) == [.views, .calls, .guests].contains(route.access), "\(route.id): \(status)")
            }
            #expect(try await client.get("/readyz").status == 200)
            #expect(try await client.get("/readyz?verbose").status == 401)
            #expect(try await client.get("/api/v1/events").status == 401)
            #expect(try await client.get("/api/v1/streams", headers: bearer).status == 200)
        }
    }

    /// On loopback a token is not needed; the checks of host and origin hold all the same.
    @Test func withoutATokenThisMachineMayChange() async throws {
        try await serving(configure: { $0.token = nil }) { client async throws in
            #expect(try await client.send("POST", "/api/v1/reload").status == 204)
            #expect(try await client.send("POST", "/api/v1/reload", headers: ["Origin": "https://evil.example"]).status == 403)
            #expect(try await client.send("POST", "/api/v1/reload", headers: ["Host": "evil.example"]).status == 421)
            #expect(try await client.send("POST", "/login", body: #"{"token":""}"#).status == 401)
            #expect(try await client.get("/api/v1/session").json["needsToken"] as? Bool == false)
        }
    }

    @Test func aSessionStandsForTheToken() async throws {
        try await serving { client async throws in
            let login = try await client.send("POST", "/login", body: #"{"token":"\#(testToken)"}"#)
            let cookie = try #require(login.headers["set-cookie"])
            for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(cookie.contains(flag)) }
            #expect(!cookie.contains(testToken) && !cookie.contains("Secure"))
            // Behind a proxy that has the TLS.
            let origin = ["Origin": "https://127.0.0.1:\(client.port)"]
            let proxied = try await client.send("POST", "/login", headers: origin, body: #"{"token":"\#(testToken)"}"#)
            #expect(proxied.headers["set-cookie"]?.contains("; Secure") == true)
            let pair = String(cookie.prefix { $0 != ";" })
            let headers = ["Cookie": "theme=dark; \(pair)"]
            #expect(try await client.send("POST", "/api/v1/reload", headers: headers).status == 204)
            let session = try await client.get("/api/v1/session", headers: headers)
            #expect(session.json["isAuthorised"] as? Bool == true)
            #expect(try await client.send("POST", "/api/v1/reload", headers: ["Cookie": pair + "0"]).status == 401)
            _ = try await client.send("POST", "/logout", headers: headers)
            #expect(try await client.send("POST", "/api/v1/reload", headers: headers).status == 401)
        }
    }

    @Test func sessionsEndAndAreBounded() {
        let sessions = Sessions()
        let secrets = (0..<Int64(Sessions.most + 1)).map { sessions.open(at: .init(nanoseconds: $0)) }
        #expect(Set(secrets).count == secrets.count)
        #expect(secrets.allSatisfy { $0.utf8.count == 64 })
        #expect(!sessions.isOpen(secrets[0], at: .init(nanoseconds: 100)))
        #expect(sessions.isOpen(secrets[1], at: .init(nanoseconds: 100)))
        #expect(!sessions.isOpen(secrets[1], at: .init(nanoseconds: 1) + Sessions.length))
    }

    /// A page that has its name point here, and pages of other sites.
    @Test func otherNamesAndOriginsAreRefused() async throws {
        try await serving { client async throws in
            for host in [
                "evil.example", "evil.example:\(client.port)", "127.0.0.1.evil.example", "localhost.evil.example", "evil",
                // That of a proxy which is not configured.
                "192.0.2.1", "[2001:db8::1]:80",
            ] {
                #expect(try await client.get("/livez", headers: ["Host": host]).status == 421, "\(host)")
            }
            for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8440"] {
                #expect(try await client.get("/livez", headers: ["Host": host]).status == 200, "\(host)")
            }
            for host in ["", "localhost:x", "[::1", ":80"] {
                #expect(try await client.get("/livez", headers: ["Host": host]).status == 400, "\(host)")
            }
            let own = "http://127.0.0.1:\(client.port)"
            let change = ["Authorization": "Bearer \(testToken)"]
            for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", own + ".evil.example", ""]
            {
                let headers = change.merging(["Origin": origin]) { $1 }
                #expect(try await client.send("POST", "/api/v1/reload", headers: headers).status == 403, "\(origin)")
                #expect(try await client.get("/api/v1/streams", headers: ["Origin": origin]).status == 403, "\(origin)")
            }
            #expect(
                try await client.send("POST", "/api/v1/reload", headers: change.merging(["Origin": own]) { $1 }).status == 204)
            for site in ["cross-site", "same-site"] {
                #expect(try await client.get("/api/v1/streams", headers: ["Sec-Fetch-Site": site]).status == 403)
                let link = ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"]
                #expect(try await client.get("/api/v1/streams", headers: link).status == 200)
            }
            for site in ["same-origin", "none"] {
                #expect(try await client.get("/api/v1/streams", headers: ["Sec-Fetch-Site": site]).status == 200)
            }
        }
    }

    @Test func namesThatAreConfiguredAreAnswered() async throws {
        try await serving(configure: { $0.names = ["Relay.example", "192.0.2.1", "2001:DB8::1"] }) { client async throws in
            for host in ["relay.example:443", "192.0.2.1", "[2001:db8::1]:443"] {
                #expect(try await client.get("/livez", headers: ["Host": host]).status == 200, "\(host)")
            }
            #expect(try await client.get("/livez", headers: ["Host": "other.example"]).status == 421)
        }
    }

    @Test func originsThatAreConfiguredMayUseTheAPI() async throws {
        try await serving(configure: { $0.origins = ["https://status.example"] }) { client async throws in
            let own = ["Origin": "https://status.example", "Sec-Fetch-Site": "cross-site"]
            let answer = try await client.get("/api/v1/streams", headers: own)
            #expect(answer.status == 200)
            #expect(answer.headers["access-control-allow-origin"] == "https://status.example")
            #expect(answer.headers["vary"] == "Origin")
            let preflight = try await client.send("OPTIONS", "/api/v1/streams/cam1", headers: own)
            #expect(preflight.status == 204)
            #expect(preflight.headers["access-control-allow-methods"] == "DELETE, GET, HEAD, PATCH")
            #expect(try await client.send("POST", "/api/v1/reload", headers: own).status == 401)
            let other = try await client.get("/api/v1/streams", headers: ["Origin": "https://evil.example"])
            #expect(other.status == 403 && other.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test func everyAnswerForbidsWhatPagesMayNotDo() async throws {
        try await serving { client async throws in
            for path in ["/", "/livez", "/api/v1/streams", "/nothing", "/metrics"] {
                let headers = try await client.get(path).headers
                #expect(headers["x-content-type-options"] == "nosniff")
                #expect(headers["referrer-policy"] == "no-referrer")
                #expect(headers["cross-origin-resource-policy"] == "same-origin")
                #expect(headers["access-control-allow-origin"] == nil)
                let policy = headers["content-security-policy"] ?? ""
                #expect(policy.hasPrefix("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "\(path)")
                #expect(!policy.contains("http") && !policy.contains("unsafe"), "\(path)")
            }
        }
    }

    @Test func whatIsNotSafeIsRefused() {
        func fault(_ change: (inout WebConfiguration) -> Void) -> String? {
            var configuration = WebConfiguration()
            change(&configuration)
            do { try configuration.check() } catch { return error.text }
            return nil
        }
        let files = CertificateFiles(chain: "a", key: "b")
        #expect(fault { _ in } == nil)
        #expect(fault { $0.host = "::1" } == nil)
        #expect(fault { $0.token = testToken } == nil)
        #expect(fault { $0.token = "short" } != nil)
        #expect(fault { $0.token = "a token of several words" } != nil)
        #expect(fault { $0.port = 65536 } != nil)
        for host in ["0.0.0.0", "::", "192.0.2.1", "relay.example"] {
            #expect(fault { $0.host = host }?.contains("token") == true)
            #expect(
                fault {
                    $0.host = host; $0.token = testToken
                }?.contains("TLS") == true)
            #expect(
                fault {
                    $0.host = host; $0.certificate = files
                }?.contains("token") == true)
            #expect(
                fault {
                    $0.host = host; $0.token = testToken; $0.certificate = files
                } == nil)
            #expect(
                fault {
                    $0.host = host; $0.token = testToken; $0.allowsPlainHTTPBeyondLoopback = true
                } == nil)
            #expect(
                fault {
                    $0.host = host; $0.allowsNoToken = true; $0.certificate = files
                } == nil)
        }
        // A proxy on this machine that is reached by a name: it has the TLS.
        #expect(fault { $0.names = ["relay.example"] }?.contains("relay.example") == true)
        #expect(
            fault {
                $0.names = ["relay.example"]; $0.token = testToken
            } == nil)
    }

    @Test func theConfigurationFileSetsAll() {
        var service = ServiceConfiguration()
        #expect(WebConfiguration(service).isLoopbackOnly)
        service.http.address = "192.0.2.1"
        service.http.port = 8443
        service.http.token = .init(testToken)
        service.http.certificateFile = "/a"
        service.http.keyFile = "/b"
        service.http.allowedHosts = ["relay.example"]
        service.http.allowedOrigins = ["https://status.example"]
        service.limits.httpConnections = 9
        let web = WebConfiguration(service)
        #expect(web.host == "192.0.2.1" && web.port == 8443 && web.token == testToken && web.mostConnections == 9)
        #expect(web.certificate == CertificateFiles(chain: "/a", key: "/b"))
        #expect(web.names == ["relay.example"] && web.origins == ["https://status.example"])
        #expect(!web.isLoopbackOnly && !web.allowsNoToken && !web.allowsPlainHTTPBeyondLoopback)
    }

    @Test func refusalsDoNotFillTheLog() {
        let log = RequestLog()
        let lines = (0..<10_000).compactMap { _ in log.admit(at: .init(nanoseconds: 5)) }
        #expect(lines.count == Int(RequestLog.burst) && lines.allSatisfy { $0 == 0 })
        #expect(log.admit(at: .init(nanoseconds: 1_000_000_000)) == 10_000 - Int(RequestLog.burst))
        #expect(log.admit(at: .init(nanoseconds: 1_000_000_000)) == 0)
    }

    @Test func tokensAreCompared() {
        let token = Token("abcdef")
        #expect(token.matches("abcdef"))
        for other in ["", "a", "abcde", "abcdeg", "bbcdef", "abcdefg", "ABCDEF"] { #expect(!token.matches(other), "\(other)") }
        #expect(!Token("a").matches(""))
    }

    @Test func loopbackIsRecognised() {
        for host in ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "LocalHost"] {
            #expect(IPAddress.isLoopback(host))
        }
        for host in ["0.0.0.0", "128.0.0.1", "::", "::2", "localhost.example", "127.0.0.1.example", "127.1", ""] {
            #expect(!IPAddress.isLoopback(host), "\(host)")
        }
    }
}

/// What a reload of the configuration changes while the interface serves.
@Suite(.timeLimit(.minutes(10))) struct ReloadTests {
    @Test func tokenNamesAndOriginsChangeWhileServing() throws {
        var configuration = WebConfiguration()
        configuration.token = testToken
        let web = try Web.service(configuration, service: FakeService(), logger: .init(label: "test"))
        let secret = web.present.value.sessions.open(at: .now())
        var new = configuration
        new.names = ["relay.example"]
        new.port = 1
        try web.apply(new)
        #expect(web.present.value.configuration.names == ["relay.example"])
        #expect(web.present.value.configuration.port == configuration.port)
        #expect(web.present.value.sessions.isOpen(secret, at: .now()))
        new.token = String(testToken.reversed())
        try web.apply(new)
        #expect(!web.present.value.sessions.isOpen(secret, at: .now()))
        // A name that others reach needs a token: all stays as it was.
        var bad = new
        bad.token = nil
        #expect(throws: WebFault.self) { try web.apply(bad) }
        #expect(web.present.value.matches(String(testToken.reversed())))
    }
}
