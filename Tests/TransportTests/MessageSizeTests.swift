import Endpoint
import Measure
import Media
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// Senders may spread a message over several packets, whose joint size only they bound.
@Suite(.serialized) struct MessageSizeTests {
    /// Changes the headers of data packets on their way (draft-sharabayko-srt, section 3.1), so that three messages become
    /// one, whose first packet is `first` after the connection's first.
    private final class Joiner: Sendable {
        private let start = Lock<UInt32?>(nil)
        private let first: UInt32
        /// Whether the packet before the large message must be sent again.
        private let losesOneBefore: Bool

        init(first: UInt32, losesOneBefore: Bool = false) {
            self.first = first
            self.losesOneBefore = losesOneBefore
        }

        func rewrite(_ datagram: inout [UInt8]) {
            guard datagram.count > 16, datagram[0] & 0x80 == 0 else { return }
            let number = word(0, of: datagram)
            let start = start.withLock { start in
                start = start ?? number
                return start!
            }
            let place = (number &- start) & 0x7fff_ffff
            var second = word(4, of: datagram)
            let isRepeat = second & 1 << 26 != 0
            if losesOneBefore && place == first - 1 && !isRepeat {
                datagram = []
                return
            }
            guard (first..<first + 3).contains(place) else { return }
            // First, middle or last of a message; all of them have the first one's message number.
            let boundary: UInt32 = [0b10, 0b00, 0b01][Int(place - first)]
            second = (second & 0x3fff_ffff | boundary << 30) - (place - first)
            for i in 0..<4 { datagram[4 + i] = UInt8(truncatingIfNeeded: second >> UInt32(24 - 8 * i)) }
        }

        private func word(_ offset: Int, of datagram: [UInt8]) -> UInt32 {
            datagram[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    @Test(arguments: [SRTEndpoint.Ingest.early, .tsbpd], [false, true])
    func tooLargeMessagesAreLossesAndNoMore(ingest: SRTEndpoint.Ingest, losesOneBefore: Bool) throws {
        // A reader with more room than it needs, as the relay is.
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=300&ingest=\(ingest.rawValue)", room: 1 << 16)
        let joiner = Joiner(first: 10, losesOneBefore: losesOneBefore)
        let proxy = try ImpairmentProxy(
            to: UDPEndpoint(host: "127.0.0.1", port: reader.source.localPort), settings: ImpairmentSettings(),
            rewrite: joiner.rewrite)
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(proxy.localPort)?latency=300"))
        #expect(reader.awaitConnection()?.ingest == ingest)
        #expect(sink.awaitPeer())
        for i in 0..<40 {
            #expect(sink.send(numbered(i)) == .sent)
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
        for i in Array(0..<10) + Array(13..<40) {
            let (message, bytes) = try #require(reader.next(), "message \(i)")
            #expect(message.byteCount == 1316)
            try #require(bytes == numbered(i), "message \(i)")
        }
        let lost: Int64 = reader.events.reduce(0) { if case .gap(let messages) = $1 { $0 + messages } else { $0 } }
        #expect(lost == 3)
        #expect(reader.events.allSatisfy { if case .disconnected = $0 { false } else { true } })
    }

    @Test(
        .enabled(if: SRTLibrary.spreadsMessages, "this libsrt sends no message in several packets"),
        arguments: [SRTEndpoint.Ingest.early, .tsbpd], [false, true])
    func aMessageMayComeInSmallPackets(ingest: SRTEndpoint.Ingest, inOrder: Bool) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=300&ingest=\(ingest.rawValue)")
        var endpoint = SRTEndpoint(
            mode: .caller, host: "127.0.0.1", port: reader.source.localPort, latency: .milliseconds(300))
        endpoint.packetSize = 500
        let sink = try Sink(.srt(endpoint), marksOrder: inOrder)
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        for i in 0..<50 {
            #expect(sink.send(numbered(i)) == .sent)
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
        var last: Message?
        for i in 0..<50 {
            let (message, bytes) = try #require(reader.next(), "message \(i)")
            try #require(bytes == numbered(i))
            // Three packets of 456 bytes.
            if let last { #expect(message.sequence == last.sequence + 3) }
            last = message
        }
        #expect(reader.events.allSatisfy { if case .gap = $0 { false } else { true } })
    }
}
