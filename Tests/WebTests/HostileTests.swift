import Foundation
import Media
import NIOCore
import Testing

@testable import Web

/// Clients that are slow, many, or do not speak HTTP. Each test fails when the interface stops answering others.
@Suite(.timeLimit(.minutes(10))) struct HostileTests {
    static func figure(_ name: String, _ client: WebClient) async throws -> Int {
        let text = try await client.get("/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? -1
    }

    private static func closed(_ reason: WebCounters.ClosedConnection) -> String {
        "burnish_http_connections_closed_total{reason=\"\(reason.rawValue)\"}"
    }

    @Test(arguments: [
        "", "GET /livez HTTP/1.1\r\nHost: loc",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{",
        "POST /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ])
    func aSlowRequestIsClosed(start: String) async throws {
        try await serving(configure: {
            $0.timeouts.header = .seconds(1)
            $0.timeouts.body = .seconds(1)
        }) { client async throws in
            _ = try await client.connect { connection async throws in
                try await connection.write(start)
                return try await connection.rest()
            }
            // On a busy machine the question itself may come too slowly.
            while (try? await Self.figure(Self.closed(.request), client)) ?? 0 < 1 {}
        }
    }

    /// Whatever a client is about to send or to read, the service ends.
    @Test(arguments: [
        "", "GET /livez HTTP/1.1\r\nHost: loc",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{",
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ])
    func aSlowClientDoesNotHoldUpTheEnd(start: String) async throws {
        let client = try await serving(configure: { $0.timeouts.ending = .milliseconds(10) }) { client async throws in
            let task = Task {
                try await client.connect { connection async throws in
                    try await connection.write(start)
                    return try await connection.rest()
                }
            }
            // That of this question is the other.
            while try await Self.figure("burnish_http_connections", client) < 2 {}
            return task
        }
        _ = try await client.value
    }

    @Test func anIdleConnectionIsClosed() async throws {
        try await serving(configure: { $0.timeouts.idle = .milliseconds(100) }) { client async throws in
            let after = try await client.connect { connection async throws in
                // Both at once: the time counts from the last answer on, however slow the machine is.
                let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
                try await connection.write(request + request)
                for _ in 0..<2 { #expect(try await connection.answer().text == "ok\n") }
                return try await connection.rest()
            }
            #expect(after == "")
            #expect(try await Self.figure(Self.closed(.idle), client) == 1)
        }
    }

    /// A client that asks for much and reads nothing.
    @Test func aClientThatDoesNotReadIsClosed() async throws {
        try await serving(configure: { $0.timeouts.write = .milliseconds(300) }) { client async throws in
            let request = "GET /api/v1/streams/cam1/records?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try await client.connect { connection async throws in
                try await connection.write(String(repeating: request, count: 40))
                while try await Self.figure(Self.closed(.response), client) == 0 {}
            }
        }
    }

    @Test func bodiesAndHeadersAreBounded() async throws {
        try await serving { client async throws in
            let large = String(repeating: " ", count: WebResponder.largestBody)
            let answer = try await client.send("POST", "/login", body: large + "{}")
            #expect(answer.status == 413)
            let chunked = try await client.connect { connection async throws in
                try await connection.write(
                    "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                for _ in 0..<17 { try await connection.write("1000\r\n" + String(repeating: " ", count: 4096) + "\r\n") }
                return try await connection.answer()
            }
            #expect(chunked.status == 413)
            #expect(chunked.headers["connection"] == "close")
            #expect(try await client.send("POST", "/login", body: large.dropLast(2) + "{}").status == 422)

            let headers = ["X-Long": String(repeating: "x", count: 20_000)]
            #expect(try await client.get("/livez", headers: headers).status == 400)
            let many = Dictionary(uniqueKeysWithValues: (0..<100).map { ("X-\($0)", "x") })
            #expect(try await client.get("/livez", headers: many).status == 400)
            #expect(try await client.get("/" + String(repeating: "x", count: 20_000)).status == 400)
        }
    }

    /// What a proxy in front could read otherwise than the service does.
    @Test(arguments: [
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "GET /livez HTTP/1.1\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\r\n\r\n",
        "GET\r\n\r\n", "GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n", "GET /livez HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ])
    func whatIsNoRequestIsRefused(request: String) async throws {
        try await serving { client async throws in
            let answer = try await client.connect { connection async throws in
                try await connection.write(request)
                return try? await connection.answer()
            }
            #expect(answer.map { $0.status == 400 } ?? true, "\(answer?.status ?? 0)")
            #expect(try await client.get("/livez").status == 200)
        }
    }

    @Test func requestsInOneGoAreAnsweredInOrder() async throws {
        try await serving { client async throws in
            try await client.connect { connection async throws in
                try await connection.write(
                    ["/livez", "/nothing", "/readyz"].map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
                #expect(try await connection.answer().text == "ok\n")
                #expect(try await connection.answer().status == 404)
                #expect(try await connection.answer().text == "ready\n")
            }
        }
    }

    /// Connections that wait for their clients take every place; a client with a request still gets one.
    @Test(arguments: [
        "", "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{",
    ])
    func waitingConnectionsMakeRoom(sent: String) async throws {
        try await serving(configure: { $0.mostConnections = 4 }) { client async throws in
            var idle: [any Channel] = []
            for _ in 0..<40 {
                let channel = try await client.open()
                try await channel.writeAndFlush(ByteBuffer(string: sent))
                idle.append(channel)
            }
            // 40 idle ones and this one are 37 more than there is room for.
            #expect(try await Self.figure(Self.closed(.room), client) == 37)
            #expect(try await Self.figure("burnish_http_connections", client) <= 4)
            for channel in idle { channel.close(promise: nil) }
        }
    }

    @Test func connectionsThatEndLeaveNothing() async throws {
        try await serving { client async throws in
            for round in 0..<200 {
                try await client.connect { connection async throws in
                    try await connection.write(String("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".prefix(round % 50)))
                }
            }
            while try await Self.figure("burnish_http_connections", client) > 1 {}
            #expect(try await Self.figure("burnish_http_connections_total", client) > 200)
        }
    }

    /// Requests with bytes changed, taken out and doubled.
    @Test(arguments: 0..<8) func damagedRequestsHarmNothing(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        // A damaged request may still be the one that it was.
        let bodies = RouteTests.requests.filter { $0.status < 500 }.map { request in
            let body = request.body ?? ""
            return Array(
                """
                \(request.method) \(request.path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(testToken)\r\n\
                Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
                """.utf8)
        }
        let requests = (0..<60).map { _ in
            var bytes = bodies[Int(random.next() % UInt64(bodies.count))]
            for _ in 0..<(1 + random.next() % 4) where !bytes.isEmpty {
                let at = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.removeSubrange(at..<min(bytes.count, at + Int(random.next() % 9)))
                default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 9)], at: at)
                }
            }
            return bytes
        }
        try await serving { client async throws in
            for request in requests {
                let answer = try await client.connect { connection async throws in
                    // The service may have closed already, at the first bytes.
                    try? await connection.write(bytes: request)
                    connection.finish()
                    return try await connection.rest()
                }
                #expect(!answer.contains("HTTP/1.1 5"), "\(String(decoding: request, as: UTF8.self)): \(answer)")
            }
            #expect(try await client.get("/livez").status == 200)
        }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await serving { client async throws in
            let fault = await #expect(throws: WebFault.self) {
                try await serving(configure: { $0.port = client.port }) { _ in }
            }
            let text =
                "cannot listen on 127.0.0.1:\(client.port): another program listens there: end it, or configure another port"
            #expect(fault?.text == text)
        }
    }
}
