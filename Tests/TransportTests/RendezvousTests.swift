import Endpoint
import Glibc
import Media
import Packets
import Testing
@testable import Transport

/// Two ends that call each other, neither of which listens.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RendezvousTests {
    /// Ports that are free just now.
    private func freePorts() throws -> (UInt16, UInt16) {
        let first = try Source(StreamURL("udp://127.0.0.1:0"))
        let second = try Source(StreamURL("udp://127.0.0.1:0"))
        return (first.localPort, second.localPort)
    }

    private func endpoint(from: UInt16, to: UInt16, _ keys: String = "", latency: Int = 60) throws -> StreamURL {
        let url = try StreamURL("srt://127.0.0.1:\(to)?mode=rendezvous&latency=\(latency)\(keys)")
        guard case .srt(var endpoint) = url else {
            throw TransportError(.badURL, place: "test", "not SRT")
        }
        endpoint.localPort = from
        return .srt(endpoint)
    }

    private func exchange(_ reader: Reader, _ sink: Sink) {
        for i in 0..<50 {
            #expect(sink.send(numbered(i)) == .sent)
            guard let (message, bytes) = reader.next() else {
                Issue.record("message \(i) did not come: \(reader.events)")
                return
            }
            #expect(bytes == numbered(i) && message.sourceTime != nil)
        }
    }

    /// Whoever is there first.
    @Test(arguments: ["early", "tsbpd"], [true, false])
    func twoEndsMeet(ingest: String, readerIsFirst: Bool) throws {
        let (a, b) = try freePorts()
        let input = try endpoint(from: a, to: b, "&ingest=\(ingest)")
        let output = try endpoint(from: b, to: a)
        let early = readerIsFirst ? try Reader(input) : nil
        let sink = try Sink(output)
        let reader = try early ?? Reader(input)
        let connection = try #require(reader.awaitConnection())
        #expect(connection.window == .milliseconds(60))
        #expect(sink.awaitPeer())
        exchange(reader, sink)
    }

    @Test func withAPassphrase() throws {
        let (a, b) = try freePorts()
        let reader = try Reader(try endpoint(from: a, to: b, "&passphrase=correct%20horse"))
        let sink = try Sink(try endpoint(from: b, to: a, "&passphrase=correct%20horse"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink)
    }

    /// As with listeners and callers, whichever end turns out to answer.
    @Test(arguments: ["early", "tsbpd"], [(20, 300), (300, 20)])
    func theLargerWindowCounts(ingest: String, latencies: (Int, Int)) throws {
        for _ in 0..<3 {
            let (a, b) = try freePorts()
            let reader = try Reader(try endpoint(from: a, to: b, "&ingest=\(ingest)", latency: latencies.0))
            let sink = try Sink(try endpoint(from: b, to: a, latency: latencies.1))
            #expect(reader.awaitConnection()?.window == .milliseconds(300))
            #expect(sink.awaitPeer())
        }
    }

    @Test func aPeerThatReturnsIsMetAgain() throws {
        let (a, b) = try freePorts()
        let reader = try Reader(try endpoint(from: a, to: b))
        for _ in 0..<2 {
            reader.forget()
            let sink = try Sink(try endpoint(from: b, to: a))
            #expect(reader.awaitConnection() != nil)
            #expect(sink.awaitPeer())
            exchange(reader, sink)
        }
    }

    /// Being early is no refusal.
    @Test func whoIsThereFirstWaits() throws {
        let (a, b) = try freePorts()
        let sink = try Sink(try endpoint(from: a, to: b))
        try sink.awaitConnection(until: .now())
        #expect(!sink.isConnected)
    }
}
