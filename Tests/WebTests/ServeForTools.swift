import Foundation
import Testing

@testable import Web

/// Serves the fake service for tools/check/api, tools/check/prometheus and tools/check/hostile-http, until standard input ends.
/// With BURNISH_WEB_PORT it is the only test that matters: swift test --filter ServeForTools.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BURNISH_WEB_PORT"] != nil)) struct ServeForTools {
    @Test func untilStandardInputEnds() async throws {
        let environment = ProcessInfo.processInfo.environment
        func configure(_ configuration: inout WebConfiguration) {
            configuration.port = environment["BURNISH_WEB_PORT"].flatMap { Int($0) } ?? 0
            if environment["BURNISH_WEB_OPEN"] != nil { configuration.token = nil }
        }
        try await serving(FakeService(), configure: configure) { client async throws in
            print("serving on 127.0.0.1:\(client.port), token \(testToken)")
            fflush(nil)
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    while FileHandle.standardInput.availableData.count > 0 {}
                    continuation.resume()
                }
            }
        }
    }
}
