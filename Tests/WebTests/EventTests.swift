import Foundation
import Media
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(10))) struct EventTests {
    private static func follow(_ connection: inout WebClient.Connection, after last: Int? = nil) async throws {
        let header = last.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        try await connection.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n")
        let (status, headers) = try await connection.head()
        #expect(status == 200)
        #expect(headers["content-type"] == "text/event-stream")
    }

    @Test func eventsComeAsTheyHappen() async throws {
        let service = FakeService()
        try await serving(service) { client async throws in
            try await client.connect { connection async throws in
                try await Self.follow(&connection)
                #expect(try await connection.read(to: "\n\n").contains("retry: 2000"))
                #expect(try await connection.read(to: "\n\n").contains("id: 1\ndata: {"))
                service.report("rung", "cam1", "from \"a\"\nto b")
                let event = try await connection.read(to: "\n\n")
                let data = try #require(event.split(separator: "\n").first { $0.hasPrefix("data: ") }).dropFirst(6)
                let json = try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
                #expect(json?["stream"] as? String == "cam1")
                #expect(json?["number"] as? Int == 2)
                #expect(json?["text"] as? String == "from \"a\"\nto b")
            }
        }
    }

    @Test func aClientThatReturnsGetsWhatItMissed() async throws {
        let service = FakeService()
        for number in 2...5 { service.report("message", nil, "\(number)") }
        try await serving(service) { client async throws in
            try await client.connect { connection async throws in
                try await Self.follow(&connection, after: 3)
                let text = try await connection.read(to: "retry") + connection.read(to: "\"5\"")
                #expect(!text.contains("id: 3\n") && text.contains("id: 4\n") && text.contains("id: 5\n"))
            }
            let wrong = try await client.get("/api/v1/events", headers: ["Last-Event-ID": "x"])
            #expect(wrong.status == 400)
        }
    }

    @Test func silenceIsFilledWithComments() async throws {
        try await serving(configure: { $0.timeouts.keepAliveInterval = .milliseconds(50) }) { client async throws in
            try await client.connect { connection async throws in
                try await Self.follow(&connection, after: 1)
                _ = try await connection.read(to: "\n:\n\n")
                _ = try await connection.read(to: "\n:\n\n")
            }
        }
    }

    /// The end of a client ends its stream, and the number of streams is bounded.
    @Test func streamsAreBoundedAndEndWithTheirClients() async throws {
        try await serving(configure: { $0.mostEventStreams = 1 }) { client async throws in
            try await client.connect { connection async throws in
                try await Self.follow(&connection)
                _ = try await connection.read(to: "retry")
                let refused = try await client.get("/api/v1/events")
                #expect(refused.status == 503)
                #expect(refused.headers["retry-after"] != nil)
            }
            while try await HostileTests.figure("burnish_http_event_streams", client) > 0 {}
        }
    }

    /// What happens after a browser has logged out is not for it.
    @Test func theStreamEndsWithTheSession() async throws {
        let service = FakeService()
        try await serving(service, configure: { $0.names = ["relay.example"] }) { client async throws in
            let login = try await client.send("POST", "/login", body: #"{"token":"\#(testToken)"}"#)
            let cookie = String(try #require(login.headers["set-cookie"]).prefix { $0 != ";" })
            try await client.connect { connection async throws in
                try await connection.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: \(cookie)\r\n\r\n")
                #expect(try await connection.head().status == 200)
                _ = try await connection.read(to: "id: 1\n")
                _ = try await client.send("POST", "/logout", headers: ["Cookie": cookie])
                service.report("message", nil, "secret")
                // The last chunk.
                #expect(try await !connection.read(to: "\r\n0\r\n\r\n").contains("secret"))
            }
            #expect(try await client.get("/api/v1/events", headers: ["Cookie": cookie]).status == 401)
        }
    }

    /// The service ends although a client follows the events.
    @Test func theEndOfTheServiceEndsTheStream() async throws {
        let service = FakeService()
        let task = try await serving(service) { client async throws in
            let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await client.connect { connection async throws in
                    try await Self.follow(&connection)
                    // Only an event says that the client follows them: before it the stream could end with none.
                    _ = try await connection.read(to: "id: 1\n")
                    isReady.finish()
                    return try await connection.rest()
                }
            }
            for await _ in ready {}
            return task
        }
        // The last chunk: an end, not a connection that was cut.
        #expect(try await task.value.hasSuffix("\r\n0\r\n\r\n"))
    }
}
