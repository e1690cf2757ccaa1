import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Relays a transport stream whose source waits wherever the test wants to change something.
/// - Parameters:
///   - changes: before each picture in the order of the stream, by its number.
///   - whenBypassed: a change waits until all pictures have left that lie before the last one.
func relayPictureByPicture(
    _ stream: [UInt8], _ scratch: Scratch, changes: [Int: @Sendable (inout StreamSettings) -> Void] = [:],
    whenBypassed: Bool = false,
    adjust: (inout RelayConfiguration) -> Void = { _ in }
) throws -> (report: RelayReport, notes: [String], output: [UInt8]) {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    var configuration = RelayConfiguration(
        input: .file(path: scratch.path("pipe")), output: .file(path: scratch.path("out.ts")))
    configuration.inputDescriptor = ends[0]
    configuration.settings.budget = .seconds(60)
    configuration.settings.tier = .base
    configuration.watchesMachine = false
    configuration.pacesFiles = false
    configuration.readsFramesOneByOne = true
    configuration.weights.keep = 1e9
    adjust(&configuration)
    let relay = try Relay(configuration)
    // One picture, and what lies before the next, at a time.
    let pid = TransportStreamLayout().videoPID
    let starts = stride(from: 0, to: stream.count, by: 188).filter { (at: Int) -> Bool in
        let packet = UInt16(stream[at + 1]) << 8 | UInt16(stream[at + 2])
        return packet & 0x1FFF == pid && packet & 0x4000 != 0
    }
    let feed = StageThread(name: "feed") { [writing = ends[1]] in
        defer { close(writing) }
        var at = 0
        for (number, end) in (starts.dropFirst() + [stream.count]).enumerated() {
            if let change = changes[number] {
                // The picture before this one is known to be complete when this one begins, at the latest.
                let books = relay.channels.books.ledger
                while (whenBypassed ? books.books.bypassed : books.books.originals) + 1 < number {
                    MonotonicTime.now().sleepBriefly()
                }
                var settings = relay.settings
                change(&settings)
                relay.change(settings)
            }
            while at < end {
                let n = stream.withUnsafeBytes { write(writing, $0.baseAddress! + at, end - at) }
                if n <= 0 { return }
                at += n
            }
        }
    }
    var notes: [String] = []
    let report = try relay.run { if case .event(.message(let text)) = $0 { notes.append(text) } }
    feed.join()
    #expect(report.frames.balance && report.frames.inFlight == 0, "\(report.frames)")
    return (report, notes, try scratch.read("out.ts"))
}

extension MonotonicTime {
    /// Lets other threads work.
    fileprivate func sleepBriefly() { (self + .milliseconds(0.2)).sleep() }
}
