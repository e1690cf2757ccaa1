import Endpoint
import Media
import Settings
import TestStreams
import Testing
import Transport
@testable import Relay

/// Relays a stream from a file to a file, as fast as it goes and with time for everything; the books must balance.
/// - Parameter message: gets what the relay says.
func relay(
    _ stream: [UInt8], _ scratch: Scratch, adjust: (inout RelayConfiguration) -> Void = { _ in },
    message: (String) -> Void = { _ in }
) throws -> RelayReport {
    var configuration = RelayConfiguration(
        input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
    configuration.settings.budget = .seconds(60)
    // Other programs on the machine must not make the relay shed frames.
    configuration.watchesMachine = false
    configuration.pacesFiles = false
    adjust(&configuration)
    let report = try Relay(configuration).run { if case .event(.message(let text)) = $0 { message(text) } }
    #expect(report.frames.balance && report.frames.inFlight == 0)
    return report
}
