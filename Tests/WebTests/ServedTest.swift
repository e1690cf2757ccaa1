import Logging
import NIOSSL
import ServiceLifecycle

@testable import Web

/// Serves a fake service on a port of the system's choice for as long as `body` runs.
func serving<Value: Sendable>(
    _ service: FakeService = FakeService(), trust: NIOSSLContext? = nil,
    configure: (inout WebConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (WebClient) async throws -> Value
) async throws -> Value {
    var configuration = WebConfiguration()
    configuration.port = 0
    configuration.token = testToken
    // Where many tests run side by side, a client may wait long for its turn. Tests of these limits set their own.
    configuration.timeouts.header = .seconds(600)
    configuration.timeouts.body = .seconds(600)
    configuration.timeouts.idle = .seconds(600)
    configuration.timeouts.write = .seconds(600)
    configure(&configuration)
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let web = try Web.service(configuration, service: service, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    {
        listening.yield($0)
    }
    let group = ServiceGroup(configuration: .init(services: [web], logger: web.logger))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { listening.finish() }
            try await group.run()
        }
        guard let port = await ports.first(where: { _ in true }) else {
            try await tasks.next()
            throw CancellationError()
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body(WebClient(port: port, trust: trust))) } catch { result = .failure(error) }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return try result.get()
    }
}

let testToken = "0123456789abcdef0123456789abcdef"
let bearer = ["Authorization": "Bearer \(testToken)"]
